"""What a diagnosis tells whoever watches, and asks them: one-shot command, tests, later the terminal app."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from ..tools.execution.progress import ProgressEvent
from .consent import ENDED, answers_to, choices, recorded, typed, unanswered
from .transcript import Decision, ToolEnd


class Interface(Protocol):
    """Called between runs only, never while the user's program runs."""

    def trying(self, command: str) -> None:
        """The first run is about to begin; no folder exists yet."""

    def loading(self, command: str, folder: str) -> None:
        """The run folder exists; trial runs of a diagnosis go on while libraries load."""

    def decided(self, decision: Decision) -> None:
        """The planner has chosen a call."""

    def progressed(self, event: ProgressEvent) -> None:
        """One more run has ended, or something is said; called for every run, so it must return at once most times."""

    def ended(self, decision: Decision, end: ToolEnd) -> None:
        """A call has ended."""

    def approve(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a question that the gate asks with what an approval records of it, as `consent.recorded` makes it.

        Where the question has `steps`, a person is to take them: granted says that they have been taken.
        """


PROMPT = "Its number or word, or a question about it: "


class Say(Protocol):
    """Writes a text and what ends it."""

    def __call__(self, text: str, end: str) -> None:
        """Write."""


def ask(question: Mapping[str, Any], words: Sequence[str], read: Callable[[], str], say: Say) -> dict[str, Any]:
    """Give what an approval records. An empty line answers nothing; the end of the input means: not this."""
    for line in (*words, *choices(question)):
        say(line, "\n")
    while True:
        say(PROMPT, "")
        line = read()
        if not line:
            say("", "\n")
            say(f"Taken as {ENDED}.", "\n")
            return unanswered()
        if not line.strip():
            continue
        if given := typed(line, question):
            return recorded(question, given)
        for told in (*_told(question, line), *choices(question)):
            say(told, "\n")


def ask_program(question: Mapping[str, Any], read: Callable[[], str], write: Callable[[str], None]) -> dict[str, Any]:
    """Give what an approval records, asked for and answered by one JSON object a line."""
    answers = [{"answer": one.key, "label": one.label} for one in answers_to(question)]
    write(json.dumps({"question": {**question, "answers": answers}}))
    while line := read():
        if not line.strip():
            continue
        try:
            given = dict(json.loads(line))
            if "ask" not in given:
                return recorded(question, given)
            write(json.dumps({"told": list(_told(question, str(given["ask"])))}))
        except (ValueError, TypeError) as error:
            write(json.dumps({"error": f'not understood ({error}): write {{"answer": KEY}} or {{"ask": WORDS}}'}))
    return unanswered()


def _told(question: Mapping[str, Any], line: str) -> Sequence[str]:
    from .answers.conversation import facts_for

    return facts_for(question, line) or facts_for(question, "what is it, what does it change, and is it safe?")
