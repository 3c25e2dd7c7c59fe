"""apply_mitigation: what was looked up is tried in turn, and what scattered less is confirmed in a second batch."""

from __future__ import annotations

import math
import random
from typing import NamedTuple

from ..apply_mitigation import BATCH_PAIRS, ApplyArguments, left_after, look_after, run, stopped_early
from ..base import JsonArguments, ToolError
from ..case import changes_system
from ..comparison import below, direction
from ..findings import Findings
from ..mitigation.checks import Check
from ..results import Candidate
from ..simulated import World, drawn_claim, stumble
from ..situation import Choices, Situation, Slot, Suggestion, first, whole_amounts
from ..statistics.ratio_test import FEWEST, bounds
from ..tool import Tool
from ..trial_results import ApplyResult, InterimLook
from .look_up import LookUpTool
from .screen_levels import left_to_screen

MOST_PAIRS = 200
"""Of a batch; one for which the budget leaves fewer than `FEWEST` is not offered."""
PER_FACTOR = 4
"""Mitigations of one factor before the next factor has its turn."""
SECOND = "it scattered less: confirm in an independent batch"


class TrialTurn(NamedTuple):
    """When a mitigation is tried: by round, then by factor, then by its place."""

    round: int
    look_up: int
    """The number of the look-up that offered it first."""
    place: int


def turns(findings: Findings) -> dict[str, TrialTurn]:
    """Say of each mitigation that was offered when it has its turn."""
    found: dict[str, TrialTurn] = {}
    for factor, looked in enumerate(findings.looked_up):
        for place, candidate in enumerate(looked.offered):
            found.setdefault(candidate.mitigation, TrialTurn(place // PER_FACTOR, factor, place))
    return found


def open_candidates(situation: Situation) -> list[Candidate]:
    """Mitigations that can be tried here and have not been, in the order of the look-ups."""
    findings, limits = situation.findings, situation.limits
    if limits.allow == "none" or len(findings.applied) >= limits.max_mitigations:
        return []
    ready = {c.mitigation: c for c in findings.offered if c.mitigation not in findings.tried}
    return [c for c in ready.values() if not (situation.record.no_system and changes_system(c.scope))]


def _wanted(situation: Situation) -> list[tuple[str, int]]:
    """(mitigation, batch), whatever they cost."""
    findings, no_system = situation.findings, situation.record.no_system
    second = {c.mitigation for c in findings.trials if c.arguments.get("batch") == 2}
    refused = {c.mitigation for c in findings.offered if no_system and changes_system(c.scope)}
    confirm = [(key, 2) for key in _promising(findings) if key not in second | refused]
    return confirm + [(candidate.mitigation, 1) for candidate in open_candidates(situation)]


def _promising(findings: Findings) -> list[str]:
    """Mitigations whose first batch scattered less."""
    return [r.mitigation for r in findings.comparisons if r.batch == 1 and r.comparison.direction == "less"]


def _planned(situation: Situation) -> Choices | None:
    """The mitigation that the user chose, after a profile and the search for a level."""
    findings, plan = situation.findings, situation.plan
    usable = findings.measured and not findings.measured.unusable
    ready = usable and findings.called("profile") and not plan.by_hand
    if not ready or findings.uncompared or not situation.time_left or left_to_screen(situation):
        return None
    batch, least = _planned_batch(situation), min(plan.pairs or FEWEST, FEWEST)
    if batch is None or situation.affordable_pairs(plan.mitigation) < least:
        return None
    return Slot(("mitigation", "batch"), ((plan.mitigation, batch),)), Slot(("values",), ((findings.values_of(plan),),))


def _planned_batch(situation: Situation) -> int | None:
    """The first batch, then the one that confirms it; of a search only the latter. None: nothing is left to run."""
    findings, plan = situation.findings, situation.plan
    tried = [call.arguments.get("batch", 1) for call in findings.trials]
    if plan.search:
        return None if tried or not findings.screened or findings.screened.best is None else 2
    if not tried:
        return 1
    return 2 if _promising(findings) and 2 not in tried else None


def _suggested(situation: Situation, mitigation: str, batch: int, why: str) -> Suggestion:
    return Suggestion({"mitigation": mitigation, "batch": batch, "pairs": _pairs(situation, mitigation)}, why)


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
        wanted = [one for one in _wanted(situation) if situation.affordable_pairs(one[0]) >= FEWEST]
        return (Slot(("mitigation", "batch"), tuple(wanted)),) if wanted else None

    def usual(self, situation: Situation, choices: Choices) -> Suggestion | None:
        """Confirm what scattered less, else try the next of the first few of each factor, then the rest."""
        batches = choices[0].choices
        if situation.plan.mitigation:
            chosen = first(choices)
            why = SECOND if chosen["batch"] == 2 else "apply it, prove it, run pairs"
            return Suggestion({**chosen, "pairs": _pairs(situation)}, why)
        if second := sorted(key for key, batch in batches if batch == 2):
            return _suggested(situation, second[0], 2, SECOND)
        if _leaves_factor(situation):
            return None
        turn = turns(situation.findings)
        ready = [c for c in open_candidates(situation) if (c.mitigation, 1) in batches]
        following = min(ready, key=lambda c: turn[c.mitigation], default=None)
        if following is None:
            return None
        return _suggested(situation, following.mitigation, 1, f"next for this factor: {following.when}")

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
