"""What the finished calls have found: their results by what they say, each read once; nothing else reads a result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from .claim import Claim, TooFew
from .comparison import below
from .execution.expected import Expected
from .failures import shown_in
from .hosts import Hosts
from .ledger.ledger import Ledger
from .ledger.split import SlowRuns
from .ranking import RankedFactor, RankResult
from .record import Finished, Record, Result, ToolError
from .results import (
    Candidate,
    ConcludeResult,
    FitTreeResult,
    LabelResult,
    LookUpResult,
    MeasureResult,
    PredictResult,
    ProfileResult,
)
from .row import BASELINE
from .run_table import RUNS, RunTable
from .statistics.values import FloatArray
from .subject import TrialPlan
from .trial_results import OUT_OF_TIME, ApplyResult, ByHandResult, CompareResult, ScreenResult
from .verdict import Verdict

R = TypeVar("R", bound=Result)

GIVEN_BY: Mapping[type[Result], str] = {
    MeasureResult: "measure",
    ProfileResult: "profile",
    LabelResult: "label",
    FitTreeResult: "fit_tree",
    RankResult: "rank_factors",
    LookUpResult: "look_up",
    ScreenResult: "screen_levels",
    ApplyResult: "apply_mitigation",
    ByHandResult: "apply_by_hand",
    CompareResult: "compare",
    PredictResult: "predict_surface",
    ConcludeResult: "conclude",
}
"""Result to the tool whose calls give it."""


class CallResult(NamedTuple, Generic[R]):
    """A call that gave a result."""

    call: Finished
    result: R


@dataclass(frozen=True)
class Batch:
    """Pairs of one mitigation, and what comparing them showed."""

    call: Finished
    applied: ApplyResult
    compared: CompareResult | None = None
    comparing: str = ""
    """Id of the call that compared them; empty where none did."""
    claim: Claim | TooFew | None = None
    """Of the spread: of a batch that confirms, in its family; None where none compared them."""


def _results(kind: type[R]) -> cached_property[tuple[R, ...]]:
    """All results of a kind, in order."""
    return cached_property(lambda findings: tuple(ended.result for ended in findings.ended(kind)))


def _last(kind: type[R]) -> cached_property[R | None]:
    """The last result of a kind."""
    return cached_property(lambda findings: next((ended.result for ended in findings.ended(kind)[-1:]), None))


@dataclass(frozen=True)
class Findings:
    """Results of a record; None or empty where the diagnosis did not come so far."""

    record: Record

    def ended(self, kind: type[R]) -> tuple[CallResult[R], ...]:
        """Calls that gave a result of a kind, with it."""
        calls = (call for call in self.called(GIVEN_BY[kind]) if call.result is not None)
        return tuple(CallResult(call, call.read(kind)) for call in calls)

    def last(self, kind: type[R]) -> CallResult[R]:
        """Return the last of them; raise ToolError where there is none."""
        if not (ended := self.ended(kind)):
            raise ToolError(f"{GIVEN_BY[kind]} has not been called yet.")
        return ended[-1]

    def calls(self, *tools: str) -> tuple[str, ...]:
        """Name the calls of some tools that gave a result."""
        return tuple(c.call_id for c in self.record.calls if c.tool in tools and c.result is not None)

    def called(self, tool: str) -> tuple[Finished, ...]:
        """Calls of a tool, whether or not they gave a result."""
        return tuple(call for call in self.record.calls if call.tool == tool)

    @property
    def hosts(self) -> Hosts | None:
        """What the last profile says of its hosts, which shows what is different there, else the baseline."""
        looked = [profile.hosts for profile in reversed(self.profiles) if profile.hosts]
        return looked[0] if looked else self.measured.hosts if self.measured else None

    @property
    def since_profile(self) -> tuple[Finished, ...]:
        """Calls after the last profile; all where there is none."""
        calls, last = self.record.calls, self.ended(ProfileResult)[-1:]
        return calls[calls.index(last[0].call) + 1 :] if last else calls

    @property
    def measuring(self) -> tuple[Finished, ...]:
        """Calls that left a table of runs."""
        return tuple(call for call in self.record.calls if RUNS in call.artefacts)

    measured = _last(MeasureResult)
    """What is said of the baseline."""

    @cached_property
    def baseline(self) -> RunTable | None:
        """Runs of the last measuring without layers."""
        last = self.ended(MeasureResult)[-1:]
        return self.record.runs(last[0].call) if last and RUNS in last[0].call.artefacts else None

    @property
    def steady_outcomes(self) -> FloatArray:
        """Their outcomes after the warm-up, shape (runs,)."""
        if self.measured is None or self.baseline is None:
            return np.empty(0)
        return self.baseline.outcome()[self.measured.warm_up :]

    @cached_property
    def expected(self) -> Expected:
        """What measuring and profiling have shown of the program as it is given, without layers."""
        found = Expected()
        for call in (*self.calls("measure"), *self.calls("profile")):
            frame = self.record.runs(self.record.call(call)).frame
            found = found.and_also(shown_in(frame.filter(condition=BASELINE, layers="")))
        return found

    profiles = _results(ProfileResult)
    """One, and another where heavy layers had a second look."""
    profiled = _last(ProfileResult)
    """The last profile."""

    @property
    def busy_cpus(self) -> float | None:
        """CPUs that the program usually keeps busy, when a profile has shown it."""
        return next((one.busy_cpus for one in reversed(self.profiles) if one.busy_cpus is not None), None)

    @property
    def peak_bytes(self) -> float | None:
        """The largest resident set that a profile has shown."""
        return max((one.peak_bytes for one in self.profiles if one.peak_bytes is not None), default=None)

    labelled = _last(LabelResult)
    """Slow and fast runs of the last profile that was labelled."""
    tree = _last(FitTreeResult)
    """The tree that explains them."""
    rankings = _results(RankResult)
    """One a look."""
    ranking = _last(RankResult)
    """The last ranking."""

    @property
    def factors(self) -> tuple[RankedFactor, ...]:
        """Factors of the last ranking, most important first."""
        return self.ranking.factors if self.ranking else ()

    @property
    def suspects(self) -> tuple[RankedFactor, ...]:
        """Those that may be what makes runs slow."""
        return self.ranking.suspects if self.ranking else ()

    @property
    def slow_runs(self) -> SlowRuns | None:
        """Which runs of the last profile are slow, if that was told."""
        classes = self.labelled.classes if self.labelled else None
        return SlowRuns(np.array(classes.slow, dtype=np.bool_), classes.how) if classes else None

    @property
    def ledger(self) -> Ledger | None:
        """Where the milliseconds of the profiled runs went, if a layer told."""
        return self.ranking.ledger if self.ranking else None

    looked_up = _results(LookUpResult)
    """What is known of the factors that were looked up."""

    @property
    def candidates(self) -> dict[str, Candidate]:
        """Mitigations of all look-ups, by key, in their order."""
        return {c.mitigation: c for result in self.looked_up for c in result.candidates}

    @property
    def offered(self) -> tuple[Candidate, ...]:
        """Those that the tool can try here; one may come twice."""
        return tuple(candidate for result in self.looked_up for candidate in result.offered)

    @cached_property
    def batches(self) -> tuple[Batch, ...]:
        """Pairs of all mitigations that were applied, in order."""
        compared = {ended.call.arguments.get("call"): ended for ended in self.ended(CompareResult)}
        return tuple(self._batch(*ended, compared.get(ended.call.call_id)) for ended in self.ended(ApplyResult))

    def _batch(self, call: Finished, applied: ApplyResult, compared: CallResult[CompareResult] | None) -> Batch:
        if compared is None:
            return Batch(call, applied)
        claim = self.confirmations.get(call.call_id, compared.result.comparison.spread)
        return Batch(call, applied, compared.result, compared.call.call_id, claim)

    def batch(self, call_id: str) -> Batch | None:
        """The one that a call measured."""
        return next((batch for batch in self.batches if batch.call.call_id == call_id), None)

    @property
    def applied(self) -> frozenset[str]:
        """Mitigations of these."""
        return frozenset(batch.applied.mitigation for batch in self.batches)

    @property
    def broken(self) -> dict[str, str]:
        """By mitigation, what it did to the program, which refutes it."""
        return {batch.applied.mitigation: batch.applied.broke for batch in self.batches if batch.applied.broke}

    comparisons = _results(CompareResult)
    """What every batch of pairs, and every series by hand, has shown."""

    @property
    def promising(self) -> tuple[str, ...]:
        """Mitigations whose first batch scattered less."""
        return tuple(r.mitigation for r in self.comparisons if r.batch == 1 and r.comparison.direction == "less")

    @property
    def uncompared(self) -> tuple[str, ...]:
        """Batches in force that the program bore, and series by hand, that no comparison has looked at, by call."""
        done = {str(call.arguments.get("call")) for call in self.called("compare")}
        sound = (batch.call for batch in self.batches if batch.applied.in_force and not batch.applied.broke)
        calls = (*sound, *(ended.call for ended in self.ended(ByHandResult)))
        return tuple(call.call_id for call in calls if call.call_id not in done)

    @property
    def confirmations(self) -> dict[str, Claim | TooFew]:
        """By call of apply_mitigation: what the batches that confirm say of the spread, as one family (Holm)."""
        return next((one.confirmations for one in reversed(self.comparisons) if one.confirmations), {})

    def reached(self, target: float) -> bool:
        """Tell whether a confirmed mitigation brings the spread below the target."""
        return any(below(claim, target) for claim in self.confirmations.values())

    @property
    def trials(self) -> tuple[Finished, ...]:
        """Calls that were to apply a mitigation, but for those that only time kept from it."""
        return tuple(call for call in self.called("apply_mitigation") if call.error != OUT_OF_TIME)

    @property
    def tried(self) -> frozenset[str]:
        """Mitigations of those calls."""
        return frozenset(call.mitigation for call in self.trials)

    @property
    def refusals(self) -> tuple[Finished, ...]:
        """Calls that were to apply a mitigation and did not."""
        return tuple(call for call in self.called("apply_mitigation") if call.result is None)

    screened = _last(ScreenResult)
    """Levels of a parameter, where one was searched."""

    def values_of(self, plan: TrialPlan) -> dict[str, str]:
        """Values of the parameters of the mitigation that the user chose, with the level that the screening left."""
        best = self.screened.best if self.screened else None
        return {**plan.values, **({plan.search.parameter: best} if plan.search and best is not None else {})}

    predicted = _last(PredictResult)
    """What a surface of the user's says."""

    @property
    def verdict(self) -> Verdict:
        """What was concluded; raise ToolError before that."""
        return self.last(ConcludeResult).result.verdict

    @property
    def plain(self) -> str:
        """The same in plain words."""
        return self.last(ConcludeResult).result.plain
