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

from vgo_agent.agent.answers.answer import QuestionAnswer
from vgo_agent.agent.answers.checker import Objection, objections, sentences
from vgo_agent.agent.answers.fact import CitableFact
from vgo_agent.agent.answers.speaker import SentenceChoice, Speaker
from vgo_agent.agent.planners.base import View, menu
from vgo_agent.agent.planners.state import quoted
from vgo_agent.knowledge.loader import Knowledge
from vgo_agent.tools.base import ToolError
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
        self, question: str, direct: Sequence[CitableFact], more: Sequence[CitableFact], known: Knowledge, prompt: str
    ) -> tuple[list[SentenceChoice], list[Objection]]:
        """Choose, and keep them."""
        self.offered.append((*direct, *more))
        return super().choose(question, direct, more, known, prompt)


class Claims(NamedTuple):
    """What one explanation claims, and what of it nothing bears out."""

    sentences: int
    """Written by the model, without the last where that was cut off."""
    objected: int
    """Of those, sentences that the checker objects to in what was written."""
    dropped: int
    """Sentences that were not let through, without the last where that was cut off."""
    shown: int
    """Sentences of the answer as it is shown that the checker objects to."""
    numbers: int
    """Numbers in the answer, or written by the model, that the fact they refer to does not have."""

    @property
    def ungrounded(self) -> int:
        """All that may not be."""
        return self.objected + self.dropped + self.shown + self.numbers


def claims(text: str, cut: bool, answer: QuestionAnswer, offered: Sequence[CitableFact], known: Knowledge) -> Claims:
    """Judge the raw text of an explanation, and the answer that was made of it."""
    written = list(sentences(text))
    last = written.pop() if cut and written and not written[-1].endswith(".") else ""
    dropped = [one for one in answer.dropped if not last or one.sentence != quoted(last, 160)]
    return Claims(
        len(written),
        sum(not _stands(sentence, offered, known) for sentence in written),
        len(dropped),
        len(objections(answer.prose, answer.facts, known)),
        sum(len(NUMBER.findall(REFERENCES.sub("", sentence))) for sentence in written) + _foreign(answer),
    )


def _stands(sentence: str, offered: Sequence[CitableFact], known: Knowledge) -> bool:
    """Ask the checker, with the capital at the beginning and without: a name is taken away as it is written."""
    begun = (sentence, sentence[:1].lower() + sentence[1:])
    return any(not objections(one, offered, known) for one in begun)


def _foreign(answer: QuestionAnswer) -> int:
    """Count numbers that the fact of their sentence does not have."""
    return sum(
        len(set(NUMBER.findall(REFERENCES.sub("", one.text))) - set(NUMBER.findall(one.fact.shown)))
        for one in answer.spoken
    )
