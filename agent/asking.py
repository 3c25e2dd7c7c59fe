"""Ask line by line until one of the answers is given: a person, whose other lines are questions, or a program."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from .consent import ENDED, answers_to, choices, recorded, typed, unanswered

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
    from .answers.of_question import facts_for

    return facts_for(question, line) or facts_for(question, "what is it, what does it change, and is it safe?")
