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
from ...tools.hosts import Hosts
from ...tools.ledger.split import SplitRuns, split_runs
from ...tools.mpi.analyse import of_ranks
from ...tools.mpi.rank_summary import Ranks
from ...tools.mpi.rows import RankRows, rank_rows
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

    @property
    def hosts(self) -> Hosts | None:
        """What the last profile says of its hosts, which shows what is different there, else the baseline."""
        looked = [profile.hosts for profile in reversed(self.profiles) if profile.hosts]
        return looked[0] if looked else self.measured.hosts if self.measured else None

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
        profiled = self.runs_explained
        if profiled is None or profiled.sampled:
            return None
        frame = profiled.table.frame
        try:
            found = rank_rows(profiled.table.names, lambda name: frame[name].to_list())
        except VgoError:
            return None
        return found if found.runs.size else None

    @cached_property
    def ranks(self) -> Ranks | str | None:
        """The ranks of the program compared, or why that cannot be done; None where it is not known to have any."""
        rows, profiled, subject, limits = self.ranked_runs, self.runs_explained, self.run.subject, self.run.limits
        if rows is None or profiled is None:
            return None
        try:
            return of_ranks(
                rows,
                profiled.outcome[rows.runs],
                subject.outcome,
                subject.unit,
                lower_is_better=subject.lower_is_better,
                alpha=limits.alpha,
                seed=limits.seed,
            )
        except VgoError as error:
            return str(error)

    @property
    def confirming(self) -> Batch | None:
        """The batch whose numbers the verdict reports."""
        proof = helpful(self.verdict)
        return next((batch for batch in self.batches if proof and batch.comparing == proof.comparison), None)

    @property
    def telling(self) -> Batch | None:
        """The batch to picture: the confirming one, else the compared one with the least spread left."""
        compared = [batch for batch in self.batches if batch.compared]
        return self.confirming or min(compared, key=_spread_left, default=None)

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
