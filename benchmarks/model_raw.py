"""Judge what a model wrote, byte by byte and before anything falls back: is it strict, is it legal, is it true?

Nothing here is shared with what reads answers in the agent, apart from the menu and the check of a legal call: a
mistake there is to be seen here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from vgo_agent.agent.answers.answer import QuestionAnswer, objections, sentences
from vgo_agent.agent.answers.fact import CitableFact
from vgo_agent.agent.answers.speaker import Speaker
from vgo_agent.agent.planners.base import View, menu
from vgo_agent.tools.record import ToolError
from vgo_agent.tools.registry import TOOLS

COMPACT = re.compile(r"[a-z_]+(?: (?:0|[1-9]\d*))*")
"""The notation of places: a tool, and the place of each choice."""
NUMBER = re.compile(r"\d+(?:\.\d+)?")
REFERENCES = re.compile(r"\[(?:(?:f|k)\d+(?:, )?)+\]")


class Call(NamedTuple):
    """What a text says is to be done."""

    tool: str
    arguments: dict[str, Any]


def strict(text: str, notation: str) -> Call | None:
    """Read JSON as it must be written (no blank, no key twice, nothing around it), or the form of places."""
    return _json(text) if notation == "json" else Call(text.split(" ")[0], {}) if COMPACT.fullmatch(text) else None


def _json(text: str) -> Call | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if (
        json.dumps(value, separators=(",", ":")) != text
        or not isinstance(value, dict)
        or list(value) != ["tool", "args"]
    ):
        return None
    tool, arguments = value["tool"], value["args"]
    return Call(tool, arguments) if isinstance(tool, str) and isinstance(arguments, dict) else None


def legal(text: str, notation: str, view: View) -> bool:
    """Check a text as the graph checks a call before it runs it."""
    call = strict(text, notation)
    if call is not None and notation != "json":
        call = _at_places(text, view)
    if call is None:
        return False
    try:
        view.legal.check(call.tool, call.arguments)
        TOOLS[call.tool].arguments.model_validate(call.arguments)
    except (ToolError, ValueError):
        return False
    return True


def _at_places(text: str, view: View) -> Call | None:
    tool, *places = text.split(" ")
    slots = menu(view).get(tool)
    if slots is None or len(slots) != len(places):
        return None
    arguments: dict[str, Any] = {}
    for slot, place in zip(slots, map(int, places), strict=True):
        if place >= len(slot.choices):
            return None
        arguments |= zip(slot.names, slot.choices[place], strict=True)
    return Call(tool, arguments)


@dataclass(frozen=True)
class Overheard(Speaker):
    """A speaker that keeps the facts from which it was let choose."""

    offered: list[Sequence[CitableFact]] = field(default_factory=list)

    def choose(
        self, question: str, direct: Sequence[CitableFact], more: Sequence[CitableFact], prompt: str
    ) -> list[CitableFact]:
        """Choose, and keep them."""
        self.offered.append((*direct, *more))
        return super().choose(question, direct, more, prompt)


class Claims(NamedTuple):
    """What one explanation claims, and what of it nothing bears out."""

    sentences: int
    """Written by the model: references, each with the words before it; without the last where that was cut off."""
    objected: int
    """Of those, the ones that are no reference alone, or one to a fact that was not offered."""
    dropped: int
    """Sentences that the checker did not let through."""
    shown: int
    """Sentences of the answer as it is shown that the checker objects to."""
    numbers: int
    """Numbers in the answer, or written by the model, that the fact they refer to does not have."""

    @property
    def ungrounded(self) -> int:
        """All that may not be."""
        return self.objected + self.dropped + self.shown + self.numbers


def claims(text: str, cut: bool, answer: QuestionAnswer, offered: Sequence[CitableFact]) -> Claims:
    """Judge the raw text of an explanation, and the answer that was made of it."""
    written, listed = list(sentences(text)), {f"[{fact.tag}]" for fact in offered}
    if cut and written and written[-1] not in listed:
        written.pop()
    return Claims(
        len(written),
        sum(one not in listed for one in written),
        len(answer.dropped),
        len(objections(answer.prose, answer.facts)),
        sum(len(NUMBER.findall(REFERENCES.sub("", one))) for one in written) + _foreign(answer),
    )


def _foreign(answer: QuestionAnswer) -> int:
    """Count numbers that the fact of their sentence does not have."""
    return sum(
        len(set(NUMBER.findall(REFERENCES.sub("", one.text))) - set(NUMBER.findall(one.fact.text)))
        for one in answer.spoken
    )
