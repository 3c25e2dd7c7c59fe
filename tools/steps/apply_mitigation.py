"""apply_mitigation: apply, prove that it is in force, and re-measure in randomised pairs."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from ...knowledge.errors import VgoError
from ...knowledge.schema import Mitigation
from ..case import (
    PER_FACTOR,
    Case,
    Choices,
    Situation,
    Slot,
    Suggestion,
    batches_wanted,
    first,
    open_candidates,
    planned_batch,
    turns,
    whole_amounts,
)
from ..claim import claim, in_a_word
from ..comparison import arms_of, below, direction
from ..execution.expected import Proof
from ..execution.series import Series
from ..experiment.conditions import AS_GIVEN, AppliedConditions, Condition
from ..experiment.experiment import Experiment, carry_out
from ..experiment.schedules import Crossover, block_of, pairs_in
from ..failures import broken_by, failures_of
from ..findings import Findings
from ..mitigation.by_hand import command_line
from ..mitigation.verification import Check
from ..profiled import companions
from ..record import Arguments, JsonArguments, Outcome, ToolError
from ..row import BASELINE, Row
from ..run_table import artefacts, outcomes_of
from ..simulated import World, drawn_claim, stumble
from ..statistics.ratio_test import FEWEST, SHARE, bounds
from ..tool import Tool
from ..trial_results import OUT_OF_TIME, ApplyResult, InterimLook, stopped_early
from .look_up import LookUpTool, applicable_here, meant_states, out_of_reach, refuse_unread, telling
from .screen_levels import left_to_screen

BATCH_PAIRS = 40
"""Of the smallest batch that is planned, and at the first look at one. A claim takes fewer (`FEWEST`) and shows little
then: where normal runs fall to the margin, 40 pairs show it in 59 % of the batches (docs/results/calibration.md)."""
MOST_PAIRS = 200
"""Of a batch; one for which the budget leaves fewer than `FEWEST` is not offered."""
SECOND = "it scattered less: confirm in an independent batch"


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
    mitigation = applicable_here(arguments.mitigation, case)
    if reasons := out_of_reach(mitigation, case):
        raise ToolError(f"{mitigation.key} cannot be applied: {reasons[0]}.")
    refuse_unread(case)
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
    result = _result(arguments, case, series, Proof(proof.checks, proof.broke or broke), applied.heard, looks)
    return Outcome(result, artefacts(series.rows, bench.described_by(series.layers), bench.executor.beside))


def _schedule(arguments: ApplyArguments, case: Case, mitigation: Mitigation) -> tuple[Crossover, LookAtHalf]:
    block = block_of(arguments.pairs, mitigation.interleavable)
    after = look_after(arguments.pairs) if block == 1 else None  # half of the blocks are too few to tell by
    looks = LookAtHalf(mitigation.key, arguments.batch, case, after)
    seed = f"{case.limits.seed}:{arguments.mitigation}:{arguments.batch}"
    return Crossover((BASELINE, mitigation.key), arguments.pairs, seed, block, looks), looks


def _proved(applied: AppliedConditions, key: str) -> Proof:
    """Make the change and gather its proof; a refusal of the system is for the planner to mend by another choice."""
    try:
        return applied.prove(key)
    except VgoError as refused:
        raise ToolError(str(refused)) from refused


def _result(
    arguments: ApplyArguments, case: Case, series: Series, proof: Proof, told: Sequence[str], looked: LookAtHalf
) -> ApplyResult:
    (checks, broke), looks = proof, looked.taken
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


def _planned(situation: Situation) -> Choices | None:
    """The mitigation that the user chose, after a profile and the search for a level."""
    findings, plan = situation.findings, situation.plan
    usable = findings.measured and not findings.measured.unusable
    ready = usable and findings.called("profile") and not plan.by_hand
    if not ready or findings.uncompared or not situation.time_left or left_to_screen(situation):
        return None
    batch, least = planned_batch(situation), min(plan.pairs or FEWEST, FEWEST)
    if batch is None or situation.affordable_pairs(plan.mitigation) < least:
        return None
    return Slot(("mitigation", "batch"), ((plan.mitigation, batch),)), Slot(("values",), ((findings.values_of(plan),),))


def _leaves_factor(situation: Situation) -> bool:
    """Tell whether the first mitigations of a factor did not help, while another factor waits."""
    looked = situation.findings.looked_up
    called = {call.mitigation for call in situation.findings.called("apply_mitigation")}
    offered = {c.mitigation for c in looked[-1].candidates} if looked else set()
    return len(offered & called) >= PER_FACTOR and LookUpTool().legal(situation) is not None


def _pairs(situation: Situation, mitigation: str = "") -> int:
    """Pairs that were asked for, else that the baseline's spread asks for, within the limits and the budget."""
    limits, plan, measured = situation.limits, situation.plan, situation.findings.measured
    affordable = situation.affordable_pairs(mitigation or plan.mitigation)
    if plan.pairs:
        return min(plan.pairs, max(2, affordable))
    needed = max(measured.pairs_needed if measured else 0, BATCH_PAIRS)
    return max(2, min(needed, MOST_PAIRS, limits.max_runs, affordable))


def _looks(world: World, key: str, batch: int, pairs: int, chance: random.Random) -> tuple[InterimLook, ...]:
    half = look_after(pairs)
    if half is None:
        return ()
    error = world.noise / math.sqrt(half)
    estimate = math.log(world.effect(key)) + chance.gauss(0, error)
    spread = drawn_claim("spread", estimate, error, half, bounds(world.limits.alpha).first)
    limit = 1.0 if batch == 1 else world.limits.target_ratio
    return (InterimLook(pairs=half, spread=spread, stopped=direction(spread) == "more" or below(spread, limit)),)


class ApplyMitigationTool(Tool[ApplyArguments, ApplyResult], run=run, title="Try", applies="itself"):
    """Apply a mitigation, prove that it is in force, and re-measure in randomised pairs."""

    def legal(self, situation: Situation) -> Choices | None:
        """First batches of what was not tried, and the second batch of what scattered less, as far as time allows."""
        if situation.plan.mitigation:
            return _planned(situation)
        wanted = [one for one in batches_wanted(situation) if situation.affordable_pairs(one[0]) >= FEWEST]
        return (Slot(("mitigation", "batch"), tuple(wanted)),) if wanted else None

    def usual(self, situation: Situation, choices: Choices) -> Suggestion | None:
        """Confirm what scattered less, else try the next of the first few of each factor, then the rest."""
        batches = choices[0].choices
        if situation.plan.mitigation:
            chosen = first(choices)
            why = SECOND if chosen["batch"] == 2 else "apply it, prove it, run pairs"
            return Suggestion({**chosen, "pairs": _pairs(situation)}, why)
        if second := sorted(key for key, batch in batches if batch == 2):
            key, batch, why = second[0], 2, SECOND
        else:
            turn = turns(situation.findings)
            ready = [c for c in open_candidates(situation) if (c.mitigation, 1) in batches]
            if _leaves_factor(situation) or not ready:
                return None
            following = min(ready, key=lambda c: turn[c.mitigation])
            key, batch, why = following.mitigation, 1, f"next for this factor: {following.when}"
        return Suggestion({"mitigation": key, "batch": batch, "pairs": _pairs(situation, key)}, why)

    def amounts(self, situation: Situation, _: Choices) -> Choices:
        """Pairs."""
        most = max(2, min(situation.limits.max_runs, situation.affordable_pairs()))
        return (whole_amounts("pairs", _pairs(situation), 2, most),)

    def missed(self, now: Choices | None, more: Choices) -> tuple[str, ...]:
        """Name the batches for which there is no time."""
        left = [one for one in more[0].choices if not now or one not in now[0].choices]
        return tuple(key if batch == 1 else f"a second batch of {key}" for key, batch in left)

    def simulate(self, world: World, found: Findings, arguments: JsonArguments, chance: random.Random) -> ApplyResult:
        """Apply and run pairs: all that were asked for, or half of them where those show it."""
        stumble(world, chance)
        key, batch, pairs = str(arguments["mitigation"]), int(arguments.get("batch", 1)), int(arguments["pairs"])
        scope = world.known.mitigations[key].scope
        if scope != "process" and world.limits.allow != "system" and not world.approves:
            raise ToolError("not approved: the user refused")
        if world.chance(f"refused:{key}").random() < 0.05:
            raise ToolError(f"{key} cannot be applied: the system refused.")
        in_force = world.chance(f"in force:{key}").random() >= 0.05
        check = Check(level=1, what=key, expected="on", seen="on" if in_force else "off", passed=in_force)
        looks = _looks(world, key, batch, pairs, chance) if in_force else ()
        done = looks[0].pairs if stopped_early(looks) else pairs if in_force else 0
        return ApplyResult(
            mitigation=key,
            batch=batch,
            pairs=done,
            failed=0,
            spent_s=2 * done * world.run_s * chance.uniform(0.95, 1.05),
            checks=(check,),
            in_force=in_force,
            told=(),
            command="./program",
            looks=looks,
            left=left_after(looks, world.limits.alpha),
            summary=f"{key}, batch {batch}: {done} pairs.",
        )
