"""apply_mitigation: apply, prove that it is in force, and re-measure in randomised pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from ..knowledge.errors import VgoError
from ..knowledge.schema import Mitigation
from .base import Arguments, Outcome, ToolError
from .case import Case
from .claim import claim, in_a_word
from .comparison import arms_of, below, direction
from .execution.screen import Proof
from .execution.series import Series
from .experiment.conditions import AS_GIVEN, AppliedConditions, Condition
from .experiment.experiment import Experiment, carry_out
from .experiment.schedules import Crossover, block_of, pairs_in
from .failures import broken_by, failures_of
from .look_up import meant_states, out_of_reach
from .mitigation.by_hand import command_line
from .mitigation.preconditions import unmet
from .mitigation.scripts import refuse_own
from .profiled import companions
from .row import BASELINE, Row
from .run_table import artefacts, outcomes_of
from .statistics.ratio_test import SHARE, bounds
from .trial_results import OUT_OF_TIME, ApplyResult, InterimLook

BATCH_PAIRS = 40
"""Of the smallest batch that is planned, and at the first look at one. A claim takes fewer (`FEWEST`) and shows little
then: where normal runs fall to the margin, 40 pairs show it in 59 % of the batches (docs/results/calibration.md)."""


def look_after(pairs: int) -> int | None:
    """Say after how many of the planned pairs to look; None when half of them are too few to tell by."""
    half = int(pairs * SHARE)
    return half if half >= BATCH_PAIRS else None


def look(rows: Sequence[Row], mitigation: str, batch: int, case: Case) -> InterimLook | None:
    """Judge the pairs as `compare` will; None with too few complete ones.

    It depends on the rows and the limits only, so that a resumed series decides as an unbroken one.
    """
    pairs = outcomes_of(rows, "the pairs so far").paired(mitigation)
    if (count := len(pairs.baseline) // pairs.whole) < BATCH_PAIRS:
        return None
    spread = claim(arms_of(pairs), alpha=bounds(case.limits.alpha).first, seed=case.limits.seed)
    # The confirming batch is the one that is reported, so it goes on until the target is reached.
    limit = 1.0 if batch == 1 else case.limits.target_ratio
    return InterimLook(pairs=count, spread=spread, stopped=direction(spread) == "more" or below(spread, limit))


@dataclass
class LookAtHalf:
    """The look at one batch of a mitigation, taken in its turn."""

    mitigation: str
    batch: int
    case: Case
    after: int | None
    """Pairs; None: there is no look."""
    taken: tuple[InterimLook, ...] = ()

    def stops(self, rows: Sequence[Row]) -> bool:
        """Look at the pairs so far, and tell whether the others are not needed."""
        found = look(rows, self.mitigation, self.batch, self.case)
        self.taken = (found,) if found else ()
        return stopped_early(self.taken)


def stopped_early(looks: Sequence[InterimLook]) -> bool:
    """Tell whether a look ended the pairs."""
    return any(taken.stopped for taken in looks)


def left_after(looks: Sequence[InterimLook], alpha: float) -> float:
    """Give the share of alpha that is left for the pairs."""
    levels = bounds(alpha)
    return (levels.first if stopped_early(looks) else levels.last) / alpha if looks else 1.0


class ApplyArguments(Arguments):
    """Which mitigation, and how many pairs at most: half of them are enough when they show it."""

    mitigation: str
    pairs: Annotated[int, Field(ge=2, le=10_000)]
    batch: Literal[1, 2] = 1
    """1 screens; 2 is the independent batch that confirms."""
    values: dict[str, str] = {}
    """Of its parameters; those not named have their defaults. They are put in before it is called."""


def run(arguments: ApplyArguments, case: Case) -> Outcome:
    """Apply, prove, run the pairs, put everything back."""
    mitigation = _allowed(arguments.mitigation, case)
    bench, ledger = case.measuring, bool(meant_states(mitigation.key, case))
    layers = companions(case.findings, telling(mitigation, case), ledger)
    expected = case.findings.expected
    bench.expect(expected)
    schedule, looks = _schedule(arguments, case, mitigation)
    changed = Condition(name=mitigation.key, mitigation=mitigation, source=str(case.plan.file or ""))
    conditions, broke = {BASELINE: AS_GIVEN, changed.name: changed}, ""
    with AppliedConditions(bench, conditions, case.machine) as applied:
        proof = _proved(applied, changed.name)
        if bench.deadline.over:  # its last run may have been cut, which says nothing of the mitigation
            raise ToolError(OUT_OF_TIME)
        sound = all(check.passed for check in proof.checks) and not proof.broke
        with bench.series(case.call_id, layers, planned=2 * pairs_in(schedule.numbers, schedule.block)) as series:
            if sound:  # it ends where the mitigation is seen to make the program fail
                stops = Experiment(applied, schedule, lambda made: broken_by(mitigation.key, made.rows, expected))
                broke = carry_out(stops, series)
    if sound and len(series.rows) < 2:
        raise ToolError(OUT_OF_TIME)
    result = _result(arguments, case, series, Proof(proof.checks, proof.broke or broke), applied.heard, looks.taken)
    return Outcome(result, artefacts(series.rows, bench.described_by(series.layers), bench.executor.beside))


def _schedule(arguments: ApplyArguments, case: Case, mitigation: Mitigation) -> tuple[Crossover, LookAtHalf]:
    block = block_of(arguments.pairs, mitigation.interleavable)
    after = look_after(arguments.pairs) if block == 1 else None  # half of the blocks are too few to tell by
    looks = LookAtHalf(mitigation.key, arguments.batch, case, after)
    seed = f"{case.limits.seed}:{arguments.mitigation}:{arguments.batch}"
    return Crossover((BASELINE, mitigation.key), arguments.pairs, seed, block, looks), looks


def telling(mitigation: Mitigation, case: Case) -> tuple[str, ...]:
    """Columns that the mitigation should lower, and those that were found to go with slow runs."""
    found = (factor.column for factor in case.findings.factors if factor.visible)
    return tuple(dict.fromkeys((*mitigation.moves, *found)))


def _proved(applied: AppliedConditions, key: str) -> Proof:
    """Make the change and gather its proof; a refusal of the system is for the planner to mend by another choice."""
    try:
        return applied.prove(key)
    except VgoError as refused:
        raise ToolError(str(refused)) from refused


def applicable_here(key: str, case: Case) -> Mitigation:
    """Find a mitigation that the tool can apply to the program; another one is for the planner to choose."""
    mitigation = case.knowledge.mitigations.get(key)
    if mitigation is None or mitigation.apply is None:
        raise ToolError(f"{key} is not a mitigation that the tool can apply.")
    if reasons := unmet(mitigation.applies, case.machine, case.subject, case.findings.busy_cpus):
        raise ToolError(f"{key} does not apply here: {reasons[0]}")
    return mitigation


def _allowed(key: str, case: Case) -> Mitigation:
    mitigation = applicable_here(key, case)
    if reasons := out_of_reach(mitigation, case):
        raise ToolError(f"{key} cannot be applied: {reasons[0]}.")
    refuse_unread(case)
    return mitigation


def refuse_unread(case: Case) -> None:
    """Refuse what the user's own file would run while nobody has trusted it."""
    try:
        if case.plan.own and case.plan.file:
            refuse_own(case.plan.own, case.plan.file)
    except VgoError as refused:
        raise ToolError(str(refused)) from refused


def _result(
    arguments: ApplyArguments,
    case: Case,
    series: Series,
    proof: Proof,
    told: Sequence[str],
    looks: tuple[InterimLook, ...],
) -> ApplyResult:
    checks, broke = proof
    failing = next((check for check in checks if not check.passed), None)
    pairs = len({row["pair"] for row in series.rows})
    block = block_of(arguments.pairs, case.knowledge.mitigations[arguments.mitigation].interleavable)
    blocks = f", in blocks of {block}" if block > 1 else ""
    early = f", stopped at a look since they show it ({in_a_word(looks[0].spread)})" if stopped_early(looks) else ""
    words = broke or (
        f"{len(series.rows)} runs in {pairs} pairs{blocks}{early}, proved in force (checks: {len(checks)})."
        if failing is None
        else f"{failing.failure}."
    )
    return ApplyResult(
        mitigation=arguments.mitigation,
        batch=arguments.batch,
        pairs=pairs,
        failed=sum(row["ok"] == 0 for row in series.rows),
        failures=failures_of(series.rows),
        spent_s=series.spent_s,
        checks=checks,
        in_force=failing is None,
        broke=broke,
        told=tuple(told),
        command=command_line(case.knowledge.mitigations[arguments.mitigation], case.subject, case.machine),
        looks=looks,
        block=block,
        left=left_after(looks, case.limits.alpha),
        summary=f"{arguments.mitigation}, batch {arguments.batch}: {words}{'.' * bool(broke)}",
    )
