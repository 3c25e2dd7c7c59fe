"""compare: baseline and mitigated runs of one batch, pair by pair."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from ..knowledge.absence import is_none
from .apply_by_hand import ByHandResult
from .apply_mitigation import ApplyResult
from .base import Arguments, Outcome, Result, Tool, ToolError
from .case import Case, Finished
from .execution.samples import RUN
from .failures import FailedArms, failed_arms, shown_in
from .measure import MeasureResult
from .moved import Moved, moved
from .recorded_comparison.samples import whole_runs
from .row import BASELINE
from .run_table import Floats, RunTable
from .statistics.comparison.compare import Comparison, compare
from .statistics.values import IntArray


class CompareArguments(Arguments):
    """Which batch."""

    call: str
    """Id of the call of apply_mitigation or apply_by_hand."""


class CompareResult(Result):
    """What one batch of pairs shows."""

    mitigation: str
    batch: int
    """0: no pairs, but two series one after the other, between which a person applied it."""
    comparison: Comparison
    p_paid: float
    """Of a difference in spread, with the price of the look at half of the pairs: to hold against alpha."""
    moved: tuple[Moved, ...]
    reaches_target: bool
    """Steadier, and the upper bound of the SD ratio is below the target."""
    failing: FailedArms | None = Field(default=None, exclude_if=is_none)


def run(arguments: CompareArguments, case: Case) -> Outcome:
    """Compare the complete pairs of one batch."""
    call = case.record.call(arguments.call)
    if call.tool == "apply_by_hand":
        return Outcome(_series(call, case))
    if call.tool != "apply_mitigation":
        raise ToolError(f"{arguments.call} is a call of {call.tool}; compare takes one of apply_mitigation.")
    applied = call.read(ApplyResult)
    table = case.record.runs(call)
    baseline, mitigated, whole, hosts = table.paired(applied.mitigation, block=applied.block)
    if len(baseline) // whole < 2:
        raise ToolError(f"{arguments.call} has fewer than 2 complete {'pairs' if applied.block == 1 else 'blocks'}.")
    comparison = compare(
        baseline,
        mitigated,
        lower_is_better=case.subject.lower_is_better,
        seed=case.limits.seed,
        alpha=case.limits.alpha if applied.alpha_left is None else applied.alpha_left,
        whole=whole,
        unit="run" if applied.block == 1 else "block",
        hosts=hosts,
    )
    sd, unit = comparison.ratio("sd"), "pairs" if applied.block == 1 else f"blocks of {applied.block} pairs"
    reaches = comparison.verdict == "steadier" and comparison.below(case.limits.target_ratio) is not None
    failing = _failing(table, table, applied.mitigation, case)
    result = CompareResult(
        mitigation=applied.mitigation,
        batch=applied.batch,
        comparison=comparison,
        p_paid=applied.paid(comparison.p_value, case.limits.alpha),
        moved=moved(table, applied, case),
        reaches_target=reaches,
        failing=failing,
        summary=f"{applied.mitigation}, batch {applied.batch}, {len(baseline) // whole} {unit}: {comparison.verdict}; "
        f"SD ratio {_interval(sd.value, sd.low, sd.high)}, p {comparison.p_value:.2g}{_told(failing)}.",
    )
    return Outcome(result)


def _series(call: Finished, case: Case) -> CompareResult:
    """Compare the runs after a change by hand with those of the baseline; unpaired, so drift is not told from it."""
    after, measured = call.read(ByHandResult), case.record.latest("measure")
    first = _arm(case.record.runs(measured), BASELINE, measured.read(MeasureResult).warm_up)
    second = _arm(case.record.runs(call), after.mitigation, after.warm_up)
    before, later, each, notes = whole_runs((first[0], second[0]), (first[1], second[1]), paired=False)
    if min(before.size, later.size) // each < 2:
        raise ToolError(f"{call.call_id} has fewer than 2 runs that count.")
    comparison = compare(
        before,
        later,
        paired=False,
        whole=each,
        lower_is_better=case.subject.lower_is_better,
        seed=case.limits.seed,
        alpha=case.limits.alpha,
    )
    sd, runs = comparison.ratio("sd"), (before.size // each, later.size // each)
    failing = _failing(case.record.runs(measured), case.record.runs(call), after.mitigation, case)
    return CompareResult(
        mitigation=after.mitigation,
        batch=0,
        comparison=comparison.model_copy(update={"notes": (*notes, *comparison.notes)}),
        p_paid=comparison.p_value,
        moved=(),
        reaches_target=False,
        failing=failing,
        summary=f"{after.mitigation}, applied by hand, {runs[0]} runs before and {runs[1]} after: "
        f"{comparison.verdict}; SD ratio {_interval(sd.value, sd.low, sd.high)}, p {comparison.p_value:.2g}"
        f"{_told(failing)}.",
    )


def _failing(first: RunTable, second: RunTable, mitigation: str, case: Case) -> FailedArms | None:
    """Compare how often the baseline of one table and the mitigated runs of another failed; tables may be the same."""
    arms = (table.frame[table.frame["condition"] == arm] for table, arm in ((first, BASELINE), (second, mitigation)))
    tried = 1 if case.plan.mitigation else max(1, case.limits.max_mitigations)
    baseline, other = map(shown_in, arms)
    return failed_arms(baseline, other, case.limits.alpha / tried)


def _told(failing: FailedArms | None) -> str:
    return f"; {failing.words}" if failing else ""


def _arm(table: RunTable, condition: str, warm_up: int) -> tuple[Floats, IntArray]:
    """Outcomes after the warm-up, and the run that each is of; a run that the warm-up ends in is left out whole."""
    outcomes = table.outcome(condition)
    if RUN not in table.names:
        return outcomes[warm_up:], np.arange(warm_up, outcomes.size)
    runs = table.column(RUN, condition).astype(np.int64)
    kept = ~np.isin(runs, runs[:warm_up])
    return outcomes[kept], runs[kept]


def _interval(value: float | None, low: float | None, high: float | None) -> str:
    if value is None:
        return "undefined"
    return f"{value:.3g}" if low is None or high is None else f"{value:.3g} [{low:.3g}, {high:.3g}]"


COMPARE = Tool("compare", "Compare the pairs of one batch.", CompareArguments, CompareResult, run)
