"""One simulated diagnosis: a planner in the loop of the agent, in a world whose truth is known."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...agent.legal import legal
from ...agent.planners.base import Choice, Planner, View
from ...tools.base import Result, ToolError
from ...tools.case import Finished, Record
from ...tools.conclude import ConcludeResult
from ...tools.registry import TOOLS
from ...tools.verdict import confirmed, title
from . import looking, measuring
from .made import NOTHING, Made
from .place import looked_up, without_counters
from .world import HELPS, World

MOST_DECISIONS = 60
Act = Callable[[World, Record, Mapping[str, Any], random.Random], Result]
ACTS: Mapping[str, Act] = {
    "measure": measuring.measure,
    "profile": measuring.profile,
    "label": looking.label,
    "fit_tree": looking.fit_tree,
    "rank_factors": looking.rank_factors,
    "look_up": looking.look_up,
    "apply_mitigation": measuring.apply_mitigation,
    "compare": measuring.compare,
    "conclude": looking.conclude,
}
SURE = ("conclude", "compare", "look_up")
"""They do not run the program and never fail by bad luck."""


@dataclass(frozen=True)
class Ended:
    """How a diagnosis ended."""

    verdict: str
    mitigation: str
    """What is claimed to help; empty: nothing."""
    effect: float
    """Its true SD ratio; 1 where nothing is claimed."""
    curable: bool
    """Something that can be tried there really helps, and what is ranked or tried blindly leads to it."""
    runs: int
    """Of the program."""
    spent_s: float
    decisions: int
    illegal: int
    repeated: int
    """Calls that had been made before with the same arguments."""

    @property
    def cured(self) -> bool:
        """What is claimed really helps."""
        return self.effect <= HELPS

    @property
    def wrong(self) -> bool:
        """What is claimed does not help at all."""
        return bool(self.mitigation) and self.effect >= 1.0


ILLEGAL = "illegal: "
LAST = Choice("conclude", {}, "enough decisions")


def diagnose(world: World, planner: Planner) -> Ended:
    """Let a planner decide until the verdict."""
    calls: list[Finished] = []
    while not (calls and calls[-1].tool == "conclude" and calls[-1].result is not None):
        record = Record(tuple(calls), NOTHING)
        allowed = legal(record, world.limits)
        view = View(record, world.limits, allowed, len(calls))
        choice = planner.choose(view) if len(calls) < MOST_DECISIONS else LAST
        calls.append(_called(world, view, choice))
    return _ended(world, Record(tuple(calls), NOTHING))


def _called(world: World, view: View, choice: Choice) -> Finished:
    """Validate a call as the agent does, and end it as the world has it."""
    call_id, arguments = f"c{view.decisions + 1:03d}", dict(choice.arguments)
    try:
        view.legal.check(choice.tool, arguments)
        said = TOOLS[choice.tool].arguments.model_validate(arguments).model_dump(mode="json")
    except (ToolError, ValueError) as error:
        return Finished(call_id, choice.tool, arguments, None, {}, f"{ILLEGAL}{error}")
    chance = world.chance(f"{call_id}:{choice.tool}")
    try:
        if choice.tool not in SURE and chance.random() < world.clumsy:
            raise ToolError("No run ended well.")
        return Made.of(call_id, choice.tool, arguments, ACTS[choice.tool](world, view.record, said, chance))
    except ToolError as error:
        return Finished(call_id, choice.tool, arguments, None, {}, str(error))


def _ended(world: World, record: Record) -> Ended:
    verdict = record.latest("conclude").read(ConcludeResult).verdict
    proof = confirmed(verdict)
    claimed = proof.mitigation if proof else ""
    said = [(call.tool, repr(sorted(call.arguments.items()))) for call in record.calls]
    return Ended(
        verdict=title(verdict),
        mitigation=claimed,
        effect=world.effect(claimed) if claimed else 1.0,
        curable=_curable(world),
        runs=sum(_runs(call) for call in record.calls),
        spent_s=record.spent_s,
        decisions=len(record.calls),
        illegal=sum(call.error.startswith(ILLEGAL) for call in record.calls),
        repeated=len(said) - len(set(said)),
    )


def _runs(call: Finished) -> int:
    """Runs of the program that a call cost."""
    if call.result is None or not TOOLS[call.tool].measures:
        return 0
    return int(call.result.get("runs", 0)) + 2 * int(call.result.get("pairs", 0))


def _curable(world: World) -> bool:
    """Something that can be tried there really helps, and what is ranked or tried blindly leads to it."""
    if world.limits.allow == "none":
        return False
    if world.kind == "hidden":
        found = set(without_counters(world.place, world.busy_cpus))
    else:
        found = {lead.factor for lead in world.leads if not lead.contrary}
    looked = (looked_up(world.place, factor, world.busy_cpus) for factor in world.causes if factor in found)
    return any(world.effect(candidate.mitigation) <= HELPS for one in looked for candidate in one.offered)
