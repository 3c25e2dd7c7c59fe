"""Questions about a change that waits for a yes, answered from the question itself: no run, no model, no search."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

GateQuestion = Mapping[str, Any]
"""What the gate asks, as `Live.question` makes it."""


def facts_for(question: GateQuestion, line: str) -> list[str]:
    """Answer in lines; none where nothing in the line asks about what is known of the change."""
    plain = f" {' '.join(re.findall('[a-z]+', line.lower()))} "
    return [said for words, answer in TOPICS if re.search(words, plain) for said in answer(question)]


def _what(question: GateQuestion) -> Iterator[str]:
    if said := question.get("description"):
        yield f"What it is: {_one_line(said)}."
    elif not question.get("would"):
        yield f"{question['mitigation']} (scope {question['scope']}): no more is known of it."


def _change(question: GateQuestion) -> Iterator[str]:
    steps, would = question.get("steps") or (), question.get("would") or ()
    yield "You would do this yourself:" if steps else "It would do this, and nothing else:"
    yield from (f"  {number}. {step}" for number, step in enumerate(steps, 1))
    yield from (f"  {line}" for line in would)
    if not steps and not would:
        yield "  change nothing that is known"


def _why(question: GateQuestion) -> Iterator[str]:
    if why := question.get("why"):
        who = "You" if question.get("origin") == "user" else f"The planner ({question.get('origin', 'rules')})"
        yield f"Why now: {who} chose it: {_one_line(why)}."
    if when := question.get("when"):
        yield f"When it helps: {_one_line(when)}."


def _risk(question: GateQuestion) -> Iterator[str]:
    yield f"The risk: {_one_line(question['hurts'])}." if question.get("hurts") else "The risk: none is known."


def _back(question: GateQuestion) -> Iterator[str]:
    if question.get("steps"):
        yield "How it is put back: by you; nothing of it is done, or undone, by vgo-agent."
        return
    written = any(line.startswith(("write ", "set on every GPU", "run ")) for line in question.get("would") or ())
    if written:
        yield (
            "How it is put back: before anything is written, its value goes into a journal; after the runs it is "
            "written back and read again."
        )
        yield "  If vgo-agent is killed meanwhile its watchdog puts it back; `vgo-agent restore` does so at any time."
    else:
        yield "How it is put back: it holds for the processes of its runs, and ends with them."


def _sources(question: GateQuestion) -> Iterator[str]:
    listed = question.get("sources") or ()
    yield from (f"Source: {one}" for one in listed) if listed else ("No source is noted for it.",)


def _one_line(text: str) -> str:
    return " ".join(str(text).split()).removesuffix(".")


TOPICS: tuple[tuple[str, Callable[[GateQuestion], Iterator[str]]], ...] = (
    (r" (what is (it|this|that)|what s (it|this|that)|explain|describe|how does it work|mean|means) ", _what),
    (r" (chang\w*|(it|this) do|writes?|touch\w*|modif\w*|steps?|what (would|will) \w+) ", _change),
    (r" (why|reason|reasons|when|help|helps|what for|purpose|chosen|chose) ", _why),
    (
        r" (safe\w*|risk\w*|danger\w*|hurts?|harm\w*|breaks?|side|effects?|costs?|crash\w*|lose|loss|data|worse"
        r"|others?|problem\w*) ",
        _risk,
    ),
    (r" (back|undo|undone|revert\w*|restor\w*|reset\w*|afterwards?|permanent\w*|stays?|keeps?|kept) ", _back),
    (r" (source|sources|paper|papers|proof|evidence|who says|reference|references) ", _sources),
)
"""By what words a part of what is known is asked for; of several parts all are said, in this order."""
