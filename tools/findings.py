"""What the finished calls have found: their results by what they say, each read once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from .base import Result
from .ranking import RankedFactor, RankResult
from .record import Finished, Record
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
from .trial_results import OUT_OF_TIME, ApplyResult, CompareResult, ScreenResult

R = TypeVar("R", bound=Result)


@dataclass(frozen=True)
class Batch:
    """Pairs of one mitigation, and what comparing them showed."""

    call: Finished
    applied: ApplyResult
    compared: CompareResult | None
    comparing: str = ""
    """Id of the call that compared them; empty where none did."""


@dataclass(frozen=True)
class Refusal:
    """A mitigation that was chosen and not applied."""

    mitigation: str
    error: str


def _results(tool: str, kind: type[R]) -> cached_property[tuple[R, ...]]:
    """All results of a tool, in order."""
    return cached_property(lambda findings: tuple(call.read(kind) for call in findings.record.succeeded(tool)))


def _last(tool: str, kind: type[R]) -> cached_property[R | None]:
    """The last result of a tool."""
    return cached_property(lambda findings: next((c.read(kind) for c in findings.record.succeeded(tool)[-1:]), None))


@dataclass(frozen=True)
class Findings:
    """Results of a record; None or empty where the diagnosis did not come so far."""

    record: Record

    def calls(self, tool: str) -> tuple[str, ...]:
        """Name the calls of a tool that gave a result."""
        return tuple(call.call_id for call in self.record.succeeded(tool))

    measured = _last("measure", MeasureResult)
    """The baseline."""
    profiles = _results("profile", ProfileResult)
    """One, and another where heavy layers had a second look."""

    @property
    def profiled(self) -> ProfileResult | None:
        """The last profile."""
        return self.profiles[-1] if self.profiles else None

    labelled = _last("label", LabelResult)
    """Slow and fast runs of the last profile that was labelled."""
    tree = _last("fit_tree", FitTreeResult)
    """The tree that explains them."""
    rankings = _results("rank_factors", RankResult)
    """One a look."""

    @property
    def ranking(self) -> RankResult | None:
        """The last ranking."""
        return self.rankings[-1] if self.rankings else None

    @property
    def suspects(self) -> tuple[RankedFactor, ...]:
        """Factors of the last ranking that may be what makes runs slow, most important first."""
        return tuple(factor for factor in self.ranking.factors if factor.suspect) if self.ranking else ()

    looked_up = _results("look_up", LookUpResult)
    """What is known of the factors that were looked up."""

    @property
    def candidates(self) -> dict[str, Candidate]:
        """Mitigations of all look-ups, by key, in their order."""
        return {c.mitigation: c for result in self.looked_up for c in result.candidates}

    @cached_property
    def batches(self) -> tuple[Batch, ...]:
        """Pairs of all mitigations that were applied, in order."""
        compared = {call.arguments.get("call"): call for call in self.record.succeeded("compare")}
        return tuple(_batch(call, compared) for call in self.record.succeeded("apply_mitigation"))

    comparisons = _results("compare", CompareResult)
    """What every batch of pairs, and every series by hand, has shown."""

    @property
    def trials(self) -> tuple[Finished, ...]:
        """Calls that were to apply a mitigation, but for those that only time kept from it."""
        return tuple(c for c in self.record.calls if c.tool == "apply_mitigation" and c.error != OUT_OF_TIME)

    @property
    def tried(self) -> frozenset[str]:
        """Mitigations of those calls."""
        return frozenset(str(call.arguments.get("mitigation")) for call in self.trials)

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        """Mitigations that were chosen and not applied."""
        calls = (call for call in self.record.calls if call.tool == "apply_mitigation" and call.result is None)
        return tuple(Refusal(str(call.arguments.get("mitigation")), call.error) for call in calls)

    screened = _last("screen_levels", ScreenResult)
    """Levels of a parameter, where one was searched."""
    predicted = _last("predict_surface", PredictResult)
    """What a surface of the user's says."""
    concluded = _last("conclude", ConcludeResult)
    """The verdict."""


def _batch(call: Finished, compared: Mapping[object, Finished]) -> Batch:
    comparing = compared.get(call.call_id)
    applied = call.read(ApplyResult)
    return (
        Batch(call, applied, comparing.read(CompareResult), comparing.call_id)
        if comparing
        else Batch(call, applied, None)
    )
