"""What a report tells of: the findings of a finished run, with its verdict and its tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from ...knowledge.errors import VgoError
from ...layers.schema import Column
from ...tools.candidates import ORDER
from ...tools.claim import Claim
from ...tools.findings import Batch, Findings
from ...tools.ledger.split import SplitRuns, split_runs
from ...tools.mpi.of_record import compared_ranks, ranked_runs
from ...tools.mpi.rank_summary import RankRows, Ranks
from ...tools.nodes.of_record import HostComparison, seen
from ...tools.profiled import Profiled, profiled
from ...tools.ranking import RankedFactor
from ...tools.record import Finished
from ...tools.row import RUNS
from ...tools.verdict import factors_found, helpful
from ..record import FinishedRun


@dataclass(frozen=True)
class Evidence(Findings):
    """Findings of a run that has its verdict."""

    run: FinishedRun

    @cached_property
    def columns(self) -> Mapping[str, Column]:
        """Every column that was read, as its layer described it then."""
        return {column.name: column for call in self.measuring for column in self.record.runs(call).columns}

    @cached_property
    def seen(self) -> HostComparison | str | None:
        """The hosts compared, or why that cannot be done; None where all runs were made on one."""
        run = self.run
        if not run.subject.on or len(run.machine.hosts) < 2:
            return None
        return seen(self, run.subject, run.limits)

    @cached_property
    def runs_explained(self) -> Profiled | None:
        """Runs with layers that stand, which were told slow from fast; None without a profile."""
        return profiled(self) if self.profiles else None

    @cached_property
    def split(self) -> SplitRuns | None:
        """Those runs by state; None where no layer told."""
        runs, ledger = self.runs_explained, self.ledger
        if runs is None or ledger is None:
            return None
        return split_runs(runs.table, ledger.layer, self.run.subject, told=self.slow_runs)

    @cached_property
    def ranked_runs(self) -> RankRows | None:
        """The ranks of the runs that explain; None where none told of itself, or rows are samples of a run."""
        return ranked_runs(self.runs_explained) if self.runs_explained else None

    @cached_property
    def ranks(self) -> Ranks | str | None:
        """The ranks of the program compared, or why that cannot be done; None where it is not known to have any."""
        runs, run = self.runs_explained, self.run
        return compared_ranks(runs, self.ranked_runs, run.subject, run.limits) if runs else None

    @property
    def confirming(self) -> Batch | None:
        """The batch whose numbers the verdict reports."""
        proof = helpful(self.verdict)
        return next((batch for batch in self.batches if proof and batch.comparing == proof.comparison), None)

    @property
    def telling(self) -> Batch | None:
        """The batch to picture: the confirming one, else of the last of each mitigation that with least spread left.

        Of a mitigation with two batches the first was taken further for what it showed, by luck in part.
        """
        last = {batch.applied.mitigation: batch for batch in self.batches if batch.compared}
        return self.confirming or min(last.values(), key=_spread_left, default=None)

    @property
    def factor(self) -> RankedFactor | None:
        """The factor of the verdict, else the first visible one."""
        first = {part.column for part in factors_found(self.verdict)[:1]}
        named = tuple(factor for factor in self.suspects if factor.column in first)
        return next(iter(named or self.suspects), None)

    @property
    def slight(self) -> RankedFactor | None:
        """What goes with slow runs by more than luck, where none that does matters."""
        if self.ranking is None or self.ranking.visible:
            return None
        first = self.ranking.factors[0]
        return first if first.p_value <= self.run.limits.alpha else None

    @property
    def recorded_runs(self) -> int:
        """Runs of the program in all tables."""
        return sum(map(self.rows, self.measuring))

    def rows(self, call: Finished) -> int:
        """Runs in the table of one call; those of the warm-up and failed ones are among them."""
        return max(self.run.record.store.get(call.artefacts[RUNS]).count(b"\n") - 1, 0)


def gather(run: FinishedRun) -> Evidence:
    """Take a run that has its verdict."""
    evidence = Evidence(run.record, run)
    if not evidence.calls("conclude"):
        raise VgoError(f"{run.run_dir} has no verdict yet; go on with `vgo-agent resume {run.run_dir}`.")
    return evidence


def meaning(column: str, columns: Mapping[str, Column]) -> str:
    """Say what a column is."""
    if column == ORDER:
        return "Position of the run in its series."
    return columns[column].description if column in columns else ""


def unit(column: str, columns: Mapping[str, Column]) -> str:
    """Unit of a column."""
    return columns[column].unit if column in columns else "count"


def _spread_left(batch: Batch) -> tuple[bool, float]:
    spread = batch.compared.comparison.spread if batch.compared else None
    if not isinstance(spread, Claim):
        return True, float("inf")
    return not spread.fell, float("inf") if spread.ratio is None else spread.ratio
