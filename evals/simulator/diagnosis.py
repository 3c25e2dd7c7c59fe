"""One simulated diagnosis: a planner in the loop of the agent, in a world whose truth is known."""

from __future__ import annotations

from dataclasses import dataclass

from ...agent.planners.base import Choice, Planner, View, view_of
from ...tools.findings import Findings
from ...tools.record import NO_FILES, Finished, Record, ToolError
from ...tools.registry import TOOLS
from ...tools.simulated import World
from ...tools.verdict import confirmed, title
from .world import HELPS

MOST_DECISIONS = 60


@dataclass(frozen=True)
class DiagnosisOutcome:
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


def diagnose(world: World, planner: Planner) -> DiagnosisOutcome:
    """Let a planner decide until the verdict."""
    calls: list[Finished] = []
    while not (calls and calls[-1].tool == "conclude" and calls[-1].result is not None):
        view = view_of(Record(tuple(calls), NO_FILES), world.limits, len(calls))
        choice = planner.choose(view) if len(calls) < MOST_DECISIONS else LAST
        calls.append(_called(world, view, choice))
    return _ended(world, Record(tuple(calls), NO_FILES))


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
        made = TOOLS[choice.tool].simulate(world, view.findings, said, chance)
        return Finished.of(call_id, choice.tool, arguments, made)
    except ToolError as error:
        return Finished(call_id, choice.tool, arguments, None, {}, str(error))


def _ended(world: World, record: Record) -> DiagnosisOutcome:
    verdict = Findings(record).verdict
    proof = confirmed(verdict)
    claimed = proof.mitigation if proof else ""
    measured = [one.result for one in record.calls if one.result is not None and TOOLS[one.tool].measures]
    said = [(call.tool, repr(sorted(call.arguments.items()))) for call in record.calls]
    return DiagnosisOutcome(
        verdict=title(verdict),
        mitigation=claimed,
        effect=world.effect(claimed) if claimed else 1.0,
        curable=_curable(world),
        runs=sum(int(one.get("runs", 0)) + 2 * int(one.get("pairs", 0)) for one in measured),
        spent_s=record.spent_s,
        decisions=len(record.calls),
        illegal=sum(call.error.startswith(ILLEGAL) for call in record.calls),
        repeated=len(said) - len(set(said)),
    )


def _curable(world: World) -> bool:
    """Something that can be tried there really helps, and what is ranked or tried blindly leads to it."""
    if world.limits.allow == "none":
        return False
    if world.kind == "hidden":
        found = set(world.without_counters())
    else:
        found = {lead.factor for lead in world.leads if not lead.contrary}
    looked = (world.looked_up(factor) for factor in world.causes if factor in found)
    return any(world.effect(candidate.mitigation) <= HELPS for one in looked for candidate in one.offered)
