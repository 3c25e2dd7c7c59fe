"""The record of a finished run, read once into the results that a report tells of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from ...knowledge.errors import VgoError
from ...layers.schema import Column
from ...tools.apply_mitigation import ApplyResult
from ...tools.base import Result
from ...tools.candidates import ORDER
from ...tools.case import Finished, Record
from ...tools.claim import Claim
from ...tools.compare import CompareResult
from ...tools.conclude import ConcludeResult
from ...tools.fit_tree import FitTreeResult
from ...tools.hosts import Hosts
from ...tools.label import LabelResult
from ...tools.look_up import Candidate, LookUpResult
from ...tools.measure import MeasureResult
from ...tools.nodes.of_record import HostComparison, seen
from ...tools.predict_surface import PredictResult
from ...tools.profile import ProfileResult
from ...tools.profiled import Profiled, profiled
from ...tools.rank_factors import RankedFactor, RankResult
from ...tools.run_table import RunTable
from ...tools.screen_levels import ScreenResult
from ..finished import FinishedRun

R = TypeVar("R", bound=Result)
RUNS = "runs.csv"


@dataclass(frozen=True)
class Batch:
    """Pairs of one mitigation, and what comparing them showed."""

    call: Finished
    applied: ApplyResult
    compared: CompareResult | None


@dataclass(frozen=True)
class Refusal:
    """A mitigation that was chosen and not applied."""

    mitigation: str
    error: str


@dataclass(frozen=True)
class Evidence:
    """Results by what they say; None where the diagnosis did not come so far."""

    run: FinishedRun
    measured: MeasureResult | None
    profiles: tuple[ProfileResult, ...]
    """One, and another where heavy layers had a second look."""
    labelled: LabelResult | None
    tree: FitTreeResult | None
    rankings: tuple[RankResult, ...]
    looked_up: tuple[LookUpResult, ...]
    batches: tuple[Batch, ...]
    refusals: tuple[Refusal, ...]
    conclusion: ConcludeResult
    screened: ScreenResult | None = None
    """Levels of a parameter, where one was searched."""
    predicted: PredictResult | None = None
    """What a surface of the user's says."""

    @cached_property
    def columns(self) -> Mapping[str, Column]:
        """Every column that was read, as its layer described it then."""
        tables = [self.table(call) for call in self.run.record.calls if RUNS in call.artefacts]
        return {column.name: column for table in tables for column in table.columns}

    @cached_property
    def baseline(self) -> RunTable | None:
        """Runs of the last measuring without layers."""
        return self._table("measure")

    @property
    def profiled(self) -> ProfileResult | None:
        """The last profile."""
        return self.profiles[-1] if self.profiles else None

    @property
    def ranking(self) -> RankResult | None:
        """The last ranking."""
        return self.rankings[-1] if self.rankings else None

    @cached_property
    def seen(self) -> HostComparison | str | None:
        """The hosts compared, or why that cannot be done; None where all runs were made on one."""
        run = self.run
        return seen(run.record, run.subject, run.limits) if run.subject.on and len(run.machine.hosts) > 1 else None

    @property
    def hosts(self) -> Hosts | None:
        """What the last profile says of its hosts, which shows what is different there, else the baseline."""
        looked = [profile.hosts for profile in reversed(self.profiles) if profile.hosts]
        return looked[0] if looked else self.measured.hosts if self.measured else None

    @cached_property
    def runs_explained(self) -> Profiled | None:
        """Runs with layers that stand, which were told slow from fast; None without a profile."""
        return profiled(self.run.record) if self.profiles else None

    @property
    def confirming(self) -> Batch | None:
        """The batch whose numbers the verdict reports."""
        for batch in self.batches:
            if batch.compared and self._comparison_id(batch) == self.conclusion.confirming:
                return batch
        return None

    @property
    def telling(self) -> Batch | None:
        """The batch to picture: the confirming one, else the compared one with the least spread left."""
        compared = [batch for batch in self.batches if batch.compared]
        return self.confirming or min(compared, key=_spread_left, default=None)

    @property
    def factor(self) -> RankedFactor | None:
        """The factor of the verdict, else the first visible one."""
        visible = [factor for factor in self.ranking.factors if factor.suspect] if self.ranking else []
        named = [factor for factor in visible if factor.column == self.conclusion.column]
        return next(iter(named or visible), None)

    @property
    def slight(self) -> RankedFactor | None:
        """What goes with slow runs by more than luck, where none that does matters."""
        if self.ranking is None or self.ranking.visible:
            return None
        first = self.ranking.factors[0]
        return first if first.p_value <= self.run.limits.alpha else None

    @property
    def candidates(self) -> dict[str, Candidate]:
        """Mitigations of all look-ups, by key, in their order."""
        return {c.mitigation: c for result in self.looked_up for c in result.candidates}

    @property
    def recorded_runs(self) -> int:
        """Runs of the program in all tables."""
        store = self.run.record.store
        tables = (store.get(call.artefacts[RUNS]) for call in self.run.record.calls if RUNS in call.artefacts)
        return sum(max(table.count(b"\n") - 1, 0) for table in tables)

    def table(self, call: Finished) -> RunTable:
        """Read the runs of one call."""
        return self.run.record.runs(call)

    def _table(self, tool: str) -> RunTable | None:
        calls = [call for call in self.run.record.succeeded(tool) if RUNS in call.artefacts]
        return self.table(calls[-1]) if calls else None

    def _comparison_id(self, batch: Batch) -> str | None:
        compared = self.run.record.succeeded("compare")
        return next((c.call_id for c in compared if c.arguments.get("call") == batch.call.call_id), None)


def gather(run: FinishedRun) -> Evidence:
    """Read the record."""
    record = run.record
    if (conclusion := _last(record, "conclude", ConcludeResult)) is None:
        raise VgoError(f"{run.run_dir} has no verdict yet; go on with `vgo-agent resume {run.run_dir}`.")
    return Evidence(
        run=run,
        measured=_last(record, "measure", MeasureResult),
        profiles=tuple(call.read(ProfileResult) for call in record.succeeded("profile")),
        labelled=_last(record, "label", LabelResult),
        tree=_last(record, "fit_tree", FitTreeResult),
        rankings=tuple(call.read(RankResult) for call in record.succeeded("rank_factors")),
        looked_up=tuple(call.read(LookUpResult) for call in record.succeeded("look_up")),
        batches=_batches(record),
        refusals=tuple(
            Refusal(str(call.arguments.get("mitigation")), call.error)
            for call in record.calls
            if call.tool == "apply_mitigation" and call.result is None
        ),
        conclusion=conclusion,
        screened=_last(record, "screen_levels", ScreenResult),
        predicted=_last(record, "predict_surface", PredictResult),
    )


def meaning(column: str, columns: Mapping[str, Column]) -> str:
    """Say what a column is."""
    if column == ORDER:
        return "Position of the run in its series."
    return columns[column].description if column in columns else ""


def unit(column: str, columns: Mapping[str, Column]) -> str:
    """Unit of a column."""
    return columns[column].unit if column in columns else "count"


def _last(record: Record, tool: str, kind: type[R]) -> R | None:
    calls = record.succeeded(tool)
    return calls[-1].read(kind) if calls else None


def _batches(record: Record) -> tuple[Batch, ...]:
    compared = {c.arguments.get("call"): c.read(CompareResult) for c in record.succeeded("compare")}
    applied = record.succeeded("apply_mitigation")
    return tuple(Batch(call, call.read(ApplyResult), compared.get(call.call_id)) for call in applied)


def _spread_left(batch: Batch) -> float:
    spread = batch.compared.comparison.spread if batch.compared else None
    return float("inf") if not isinstance(spread, Claim) or spread.ratio is None else spread.ratio
