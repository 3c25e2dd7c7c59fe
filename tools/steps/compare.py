"""compare: baseline and mitigated runs of one batch, pair by pair."""

from __future__ import annotations

import math
import random
from fnmatch import fnmatchcase

import numpy as np
from scipy.special import ndtri

from ..case import Case, Choices, Situation, Slot
from ..claim import Arms, Claim, TooFew, claims, disagreement, in_a_word
from ..comparison import Comparison, arms_of, compared
from ..execution.outcomes import ITERATION, RUN
from ..experiment.race import MEASURE_OF
from ..failures import FailedArms, failed_arms, shown_in
from ..findings import Batch, Findings
from ..ledger.gain import LedgerGain, gain_of
from ..profiled import ledgers
from ..record import Arguments, Finished, JsonArguments, Outcome, Record, ToolError
from ..recorded_comparison.pairing import whole_runs
from ..results import MeasureResult
from ..row import BASELINE
from ..run_table import RunTable
from ..simulated import World, drawn_claim, summary_of
from ..statistics.comparison.bootstrap import BootstrapRatio
from ..statistics.comparison.description import Description
from ..statistics.comparison.resampling import Statistic
from ..statistics.ratio_test import Measure, holm_steps
from ..statistics.values import FloatArray, IntArray
from ..tool import Tool
from ..trial_results import ApplyResult, ByHandResult, CompareResult, Moved
from .look_up import meant_states, telling


def moved(table: RunTable, applied: ApplyResult, case: Case) -> tuple[Moved, ...]:
    """See what fell of what the mitigation should lower, and of the columns that were found to go with slow runs."""
    known = case.knowledge.mitigations
    if applied.mitigation not in known:
        raise ToolError(
            f"{applied.mitigation} is not known here; read the run with the knowledge that it was made with."
        )
    units, arms = {column.name: column.unit for column in table.columns}, {}
    for name in _numbers(table, telling(known[applied.mitigation], case)):
        pairs = table.paired(applied.mitigation, block=applied.block, values=name)
        if pairs.baseline.size:
            arms[name] = Arms(pairs.baseline, pairs.other, whole=pairs.whole)
    found = claims(arms, "mean", alpha=case.limits.alpha, seed=case.limits.seed)
    return tuple(
        Moved(
            column=name,
            unit=units[name],
            baseline=float(np.mean(arms[name].baseline)),
            mitigated=float(np.mean(arms[name].other)),
            claim=one,
        )
        for name, one in found.items()
    )


def _numbers(table: RunTable, patterns: tuple[str, ...]) -> list[str]:
    """Columns of numbers that a pattern stands for, each once, in the order of the patterns.

    The run of a sample and its place in that are the same in both arms of a pair, and nothing moves them.
    """
    names = sorted(
        column.name for column in table.columns if column.type == "number" and column.name not in (RUN, ITERATION)
    )
    return list(dict.fromkeys(name for pattern in patterns for name in names if fnmatchcase(name, pattern)))


class CompareArguments(Arguments):
    """Which batch."""

    call: str
    """Id of the call of apply_mitigation or apply_by_hand."""


def run(arguments: CompareArguments, case: Case) -> Outcome:
    """Compare the complete pairs of one batch."""
    call, batch = case.record.call(arguments.call), case.findings.batch(arguments.call)
    if by_hand := [ended for ended in case.findings.ended(ByHandResult) if ended.call is call]:
        return Outcome(_series(*by_hand[0], case))
    if batch is None:
        raise ToolError(f"{arguments.call} is a call of {call.tool}; compare takes one of apply_mitigation.")
    applied, table = batch.applied, case.record.runs(call)
    arms = arms_in(batch, case.record)
    if (count := len(arms.baseline) // arms.whole) < 2:
        raise ToolError(f"{arguments.call} has fewer than 2 complete {'pairs' if applied.block == 1 else 'blocks'}.")
    comparison = _compared(arms, case)
    unit = "pairs" if applied.block == 1 else f"blocks of {applied.block} pairs"
    failing = _failing(table, table, applied.mitigation, case)
    told = (
        f"{applied.mitigation}, batch {applied.batch}, {count} {unit}: {_words(comparison)}{_failing_words(failing)}."
    )
    result = CompareResult(
        mitigation=applied.mitigation,
        batch=applied.batch,
        comparison=comparison,
        confirmations=_confirming(batch, case) if applied.batch == 2 else {},
        moved=moved(table, applied, case),
        failing=failing,
        gain=_gain(table, applied, case),
        summary=told,
    )
    return Outcome(result.model_copy(update={"summary": f"{told} {result.by_state}".rstrip()}))


def _gain(table: RunTable, applied: ApplyResult, case: Case) -> LedgerGain | None:
    """Divide the gain among the states of the time; None where no profile had a ledger, or it acts on any state."""
    acts_on, kept = meant_states(applied.mitigation, case), ledgers(case.findings)
    if not acts_on or not kept:
        return None
    measure = MEASURE_OF[case.plan.search.minimise if case.plan.search else "sd"]
    if all(kept.values()):
        why = next(f"the layer {spec} was set aside since {aside}" for spec, aside in kept.items())
        return LedgerGain(measure=measure, acts_on=acts_on, untold=why)
    return gain_of(table, case.subject, applied.mitigation, acts_on, applied.block, measure, case.limits.seed)


def arms_in(batch: Batch, record: Record) -> Arms:
    """Give the complete pairs of a batch."""
    applied = batch.applied
    pairs = record.runs(batch.call).paired(applied.mitigation, block=applied.block)
    return arms_of(pairs, applied.left, "run" if applied.block == 1 else "block")


def _compared(arms: Arms, case: Case) -> Comparison:
    better, limits = case.subject.lower_is_better, case.limits
    return compared({"": arms}, lower_is_better=better, alpha=limits.alpha, seed=limits.seed)[""]


def _confirming(last: Batch, case: Case) -> dict[str, Claim | TooFew]:
    """Make one family of all batches that confirm; it grows with each."""
    batches = {batch.call.call_id: batch for batch in case.findings.batches}
    calls = (*case.findings.confirmations, last.call.call_id)
    arms = {call: arms_in(batches[call], case.record) for call in calls}
    return claims(arms, alpha=case.limits.alpha, seed=case.limits.seed)


def _words(found: Comparison) -> str:
    doubt = disagreement(found.spread, found.claims["sd"]).rstrip(".")
    numbers = f"spread ratio {found.shown('spread')}, SD ratio {found.shown('sd')}"
    return f"{in_a_word(found.spread)}; {numbers}{f'; {doubt}' if doubt else ''}"


def _series(call: Finished, after: ByHandResult, case: Case) -> CompareResult:
    """Compare the runs after a change by hand with those of the baseline; unpaired, so drift is not told from it."""
    measured, baseline = case.findings.last(MeasureResult)
    first = _arm(case.record.runs(measured), BASELINE, baseline.warm_up)
    second = _arm(case.record.runs(call), after.mitigation, after.warm_up)
    before, later, each, notes = whole_runs((first[0], second[0]), (first[1], second[1]), paired=False)
    if min(before.size, later.size) // each < 2:
        raise ToolError(f"{call.call_id} has fewer than 2 runs that count.")
    comparison = _compared(Arms(before, later, paired=False, whole=each, design="before and after"), case)
    described = comparison.described.model_copy(update={"notes": (*notes, *comparison.described.notes)})
    runs = before.size // each, later.size // each
    failing = _failing(case.record.runs(measured), case.record.runs(call), after.mitigation, case)
    return CompareResult(
        mitigation=after.mitigation,
        batch=0,
        comparison=comparison.model_copy(update={"described": described}),
        moved=(),
        failing=failing,
        summary=f"{after.mitigation}, applied by hand, {runs[0]} runs before and {runs[1]} after: "
        f"{_words(comparison)}{_failing_words(failing)}.",
    )


def _failing(first: RunTable, second: RunTable, mitigation: str, case: Case) -> FailedArms | None:
    """Compare how often the baseline of one table and the mitigated runs of another failed; tables may be the same."""
    arms = (table.frame.filter(condition=arm) for table, arm in ((first, BASELINE), (second, mitigation)))
    tried = 1 if case.plan.mitigation else max(1, case.limits.max_mitigations)
    baseline, other = map(shown_in, arms)
    return failed_arms(baseline, other, case.limits.alpha / tried)


def _failing_words(failing: FailedArms | None) -> str:
    return f"; {failing.words}" if failing else ""


def _arm(table: RunTable, condition: str, warm_up: int) -> tuple[FloatArray, IntArray]:
    """Outcomes after the warm-up, and the run that each is of; a run that the warm-up ends in is left out whole."""
    outcomes = table.outcome(condition)
    if RUN not in table.names:
        return outcomes[warm_up:], np.arange(warm_up, outcomes.size)
    runs = table.column(RUN, condition).astype(np.int64)
    kept = ~np.isin(runs, runs[:warm_up])
    return outcomes[kept], runs[kept]


def _comparison(world: World, truth: float, pairs: int, alpha: float, chance: random.Random) -> Comparison:
    error = world.noise / math.sqrt(pairs)
    estimate = truth + chance.gauss(0, error)
    mean = chance.gauss(0, 0.01) + (0.1 if chance.random() < 0.1 else 0.0)
    arm = summary_of(pairs, world.run_s, world.cv)
    logs: dict[Measure, float] = {"spread": estimate, "sd": estimate, "cv": estimate - mean, "mean": mean}
    described = Description(
        paired=True,
        lower_is_better=True,
        baseline_runs=pairs,
        other_runs=pairs,
        dropped=0,
        block=1,
        ratios=(
            _ratio("mean", arm.mean, mean),
            _ratio("sd", arm.sd or 0.0, estimate),
            _ratio("cv", world.cv, estimate - mean),
        ),
        shifts=(),
        distance=0.0,
        relative_distance=0.0,
        baseline_modes=1,
        other_modes=1,
        notes=(),
    )
    made = {name: drawn_claim(name, log, 0.01 if name == "mean" else error, pairs, alpha) for name, log in logs.items()}
    return Comparison(described=described, claims=made)


def _family(findings: Findings, call: str, last: Comparison, world: World) -> dict[str, Claim | TooFew]:
    """Widen the claims of all batches that confirm to the level of their step (Holm)."""
    second = {batch.call.call_id: batch for batch in findings.batches if batch.applied.batch == 2}
    alone = {key: one.compared.comparison.spread for key, one in second.items() if one.compared} | {call: last.spread}
    left = {name: second[name].applied.left for name in alone}
    made = {name: one for name, one in alone.items() if isinstance(one, Claim)}
    steps = holm_steps({name: one.p_value / left[name] for name, one in made.items()}, world.limits.alpha)
    return alone | {name: _widened(one, steps[name] * left[name]) for name, one in made.items()}


def _widened(claim: Claim, alpha: float) -> Claim | TooFew:
    assert claim.ratio and claim.high
    error = math.log(claim.high / claim.ratio) / -float(ndtri((1 - claim.level) / 2))
    return drawn_claim(claim.measure, math.log(claim.ratio), error, claim.units[0], alpha)


def _ratio(statistic: Statistic, baseline: float, log: float) -> BootstrapRatio:
    value = math.exp(log)
    return BootstrapRatio(
        statistic=statistic, baseline=baseline, other=baseline * value, value=value, low=None, high=None
    )


class CompareTool(Tool[CompareArguments, CompareResult], run=run):
    """Compare the pairs of one batch."""

    why = "judge the runs just measured"

    def legal(self, situation: Situation) -> Choices | None:
        """Whatever has not been compared."""
        calls = situation.findings.uncompared
        return (Slot(("call",), tuple((call,) for call in calls)),) if calls else None

    def simulate(self, world: World, found: Findings, arguments: JsonArguments, chance: random.Random) -> CompareResult:
        """Judge one batch: the true effect with the error that so many pairs leave."""
        call = str(arguments["call"])
        applied = next(batch.applied for batch in found.batches if batch.call.call_id == call)
        truth, alpha = math.log(world.effect(applied.mitigation)), world.limits.alpha * applied.left
        shown = _comparison(world, truth, applied.pairs, alpha, chance)
        return CompareResult(
            mitigation=applied.mitigation,
            batch=applied.batch,
            comparison=shown,
            confirmations=_family(found, call, shown, world) if applied.batch == 2 else {},
            moved=(),
            summary=f"{applied.mitigation}, batch {applied.batch}, {applied.pairs} pairs: {shown.shown('spread')}.",
        )
