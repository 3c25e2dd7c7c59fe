"""The tools without a policy: every step once, the first visible factor, its first mitigation, no second idea."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...agent.legal import Legal
from ...agent.planners.base import Choice, View
from ...agent.planners.rules import Rules
from ...tools.situation import Slot
from ...tools.steps.apply_mitigation import APPLY_MITIGATION

SEVERAL = ("compare", "apply_mitigation", "conclude")
"""What may be called again: for the batch that confirms."""
LEFT_OUT = "fit_tree"
"""It explains and decides nothing."""


@dataclass(frozen=True)
class Greedy:
    """The rule policy with its other ideas taken away, so that both spend their budget alike: what the policy is worth.

    Once each: measure, profile, label, rank, look up the first visible factor, apply its first mitigation that can be
    tried; confirm it in a second batch where it scattered less; conclude. A call that fails is not made again.
    """

    name: str = "greedy"

    def choose(self, view: View) -> Choice:
        """Let the rules choose among what is left."""
        return Rules().choose(replace(view, legal=_narrowed(view)))


def _narrowed(view: View) -> Legal:
    called = {call.tool for call in view.record.calls} - set(SEVERAL)
    tools = {tool: choices for tool, choices in view.legal.tools.items() if tool not in {*called, LEFT_OUT}}
    tried = any(call.tool == "apply_mitigation" for call in view.record.calls)
    if slots := tools.pop(APPLY_MITIGATION.name, ()):
        batches = tuple(choice for choice in slots[0].choices if choice[1] == 2 or not tried)
        tools |= {APPLY_MITIGATION.name: (Slot(slots[0].names, batches),)} if batches else {}
    return Legal({tool: tools[tool] for tool in view.legal.tools if tool in tools})
