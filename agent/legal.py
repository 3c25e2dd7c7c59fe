"""What may be done next: every tool that says that it is legal, with the values its arguments may take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..tools.base import ToolError
from ..tools.plan import NO_PLAN, TrialPlan
from ..tools.record import Record
from ..tools.registry import TOOLS
from ..tools.situation import Choices, Situation, Slot
from ..tools.steps.apply_mitigation import ApplyMitigationTool
from ..tools.subject import Limits
from .costs import kept_s


@dataclass(frozen=True)
class Legal:
    """Tools that may be called now."""

    tools: Mapping[str, Choices] = field(default_factory=dict)
    """By name, in the order of the rule policy; arguments without a slot are free within their schema."""
    ran_out: tuple[str, ...] = ()
    """What only the budget keeps from being done, in words."""

    @property
    def batches(self) -> frozenset[tuple[str, int]]:
        """(mitigation, batch) that may be applied."""
        slots = self.tools.get(ApplyMitigationTool.name, ())
        return frozenset((mitigation, batch) for mitigation, batch in (slots[0].choices if slots else ()))

    def check(self, tool: str, arguments: Mapping[str, Any]) -> None:
        """Raise ToolError when a call is not legal now."""
        if tool not in self.tools:
            raise ToolError(f"{tool} is not legal now; legal are {', '.join(self.tools)}.")
        for slot in self.tools[tool]:
            _check(tool, slot, arguments)


def _check(tool: str, slot: Slot, arguments: Mapping[str, Any]) -> None:
    schema = TOOLS[tool].arguments.model_fields
    given = tuple(arguments.get(name, schema[name].default) for name in slot.names)
    if given not in slot.choices:
        listed = "; ".join(", ".join(map(str, choice)) for choice in slot.choices)
        raise ToolError(f"{tool} takes for {' and '.join(slot.names)} one of {listed}.")


def situation(record: Record, limits: Limits, plan: TrialPlan = NO_PLAN) -> Situation:
    """Say how things stand, with the time to keep for the end."""
    return Situation(record, limits, plan=plan, kept_s=kept_s(record, limits))


def legal(record: Record, limits: Limits, plan: TrialPlan = NO_PLAN) -> Legal:
    """Work out what may be done next from the finished calls."""
    return legal_in(situation(record, limits, plan))


def legal_in(now: Situation) -> Legal:
    """Ask every tool."""
    tools, more = dict(_open(now)), dict(_open(now.without_end))
    missed = (TOOLS[tool].missed(tools.get(tool), choices) for tool, choices in more.items())
    return Legal(tools, tuple(words for each in missed for words in each))


def _open(now: Situation) -> Iterator[tuple[str, Choices]]:
    for tool in TOOLS.values():
        if (choices := tool.legal(now)) is not None:
            yield tool.name, choices


def was_legal(record: Record, number: int, limits: Limits, plan: TrialPlan) -> bool:
    """Judge a call by those that had ended before it."""
    call = record.calls[number]
    try:
        legal(replace(record, calls=record.calls[:number]), limits, plan).check(call.tool, call.arguments)
    except ToolError:
        return False
    return True
