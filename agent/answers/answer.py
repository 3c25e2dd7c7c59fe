"""An answer: its sentences with what they rest on, the commands that may come next, and who has chosen them."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...prompts.render import render
from ..terminal import WIDTH
from .fact import START, CitableFact, SuggestedCommand, sentence
from .intents import ParsedQuestion

TAGS = re.compile(r"\[([fk]\d+)\]\.?")


class Objection(NamedTuple):
    """A sentence that may not stand, and why."""

    sentence: str
    why: str


def objections(text: str, facts: Sequence[CitableFact]) -> list[Objection]:
    """List what in a text is not borne out by these facts; empty means that all of it is."""
    listed = {fact.tag: " ".join(sentence(fact).split()) for fact in facts}
    return [Objection(said, why) for said in sentences(text) if (why := _objection(said, listed))]


def sentences(text: str) -> Iterator[str]:
    """Split a text behind each reference; what has none behind it is the last."""
    plain = " ".join(re.sub(r"(?m)^- ", "", text).split())
    start = 0
    for found in TAGS.finditer(plain):
        yield plain[start : found.end()].strip()
        start = found.end()
    if rest := plain[start:].strip():
        yield rest


def _objection(said: str, listed: dict[str, str]) -> str:
    found = TAGS.search(said)
    if found is None:
        return "it has no reference"
    tag = found[1]
    if tag not in listed:
        return f"there is no {tag}"
    return "" if said == listed[tag] else f"it says something else than {tag}"


TEMPLATES = "templates"


@dataclass(frozen=True)
class AnswerSentence:
    """One sentence."""

    fact: CitableFact
    added: bool = False
    """It answers directly and the model had passed it over."""

    @property
    def text(self) -> str:
        """With its reference."""
        return sentence(self.fact)


@dataclass(frozen=True)
class QuestionAnswer:
    """What is said to one question; no sentences: it is not known."""

    asked: ParsedQuestion
    by: str
    """`templates`, or the name of the model that chose."""
    spoken: tuple[AnswerSentence, ...] = ()
    steps: tuple[SuggestedCommand, ...] = ()
    dropped: tuple[Objection, ...] = ()
    """What the checker did not let pass."""
    passed_over: str = ""
    """Why a model that was to speak does not; empty: it does, or there is none."""
    left_out: int = 0
    """Facts that answer directly, beyond those that fit."""

    @property
    def known(self) -> bool:
        """Whether there is an answer."""
        return bool(self.spoken)

    @property
    def facts(self) -> tuple[CitableFact, ...]:
        """What its sentences refer to."""
        return tuple(one.fact for one in self.spoken)

    @property
    def prose(self) -> str:
        """All its sentences, and nothing else."""
        return " ".join(one.text for one in self.spoken)

    def values(self) -> dict[str, Any]:
        """Give it as one object for programs."""
        return {
            "question": self.asked.question,
            "intent": self.asked.intent,
            "names": list(self.asked.names),
            "guessed": self.asked.guessed,
            "known": self.known,
            "answer": self.prose,
            "sentences": [{"text": one.text, "references": [one.fact.tag], "added": one.added} for one in self.spoken],
            "references": [_reference(fact) for fact in self.facts],
            "next": [step._asdict() for step in self.steps],
            "by": self.by,
            "passed_over": self.passed_over,
            "dropped": [one._asdict() for one in self.dropped],
            "left_out": self.left_out,
        }

    def text(self) -> str:
        """Give the words for a terminal."""
        if not self.known:
            return render("answer/unknown.txt.j2").rstrip("\n")
        return render(
            "answer/answer.txt.j2",
            sentences=[
                textwrap.fill(one.text, WIDTH, initial_indent="- ", subsequent_indent="  ", **_WHOLE)
                for one in self.spoken
            ],
            steps=self.steps,
            references=list(_footnotes(self.facts)),
            notes=list(self._notes()),
        ).rstrip("\n")

    def _notes(self) -> Iterator[str]:
        """Say how the question was taken, what was left out, and who speaks."""
        if self.asked.guessed:
            meant = ", ".join(name.partition(":")[2] for name in self.asked.names)
            yield f"Taken to be about {meant}, which a search found for these words."
        if self.asked.cut:
            yield f"Only the first {len(self.asked.question)} characters of the question were read."
        if _CLAIMED.search(self.asked.question):
            yield "Numbers in the question are not confirmed by this answer; its own are those of the record."
        if self.left_out:
            yield f"{self.left_out} more {'is' if self.left_out == 1 else 'are'} in the report."
        if self.dropped:
            yield f"{_counted(self.dropped)} {_were(self.dropped)} dropped, since {self.dropped[0].why}."
        if self.passed_over:
            yield f"The model was passed over: {self.passed_over}."
        if added := [one for one in self.spoken if one.added]:
            yield f"{_counted(added)} {_were(added)} added: the question asks for it and the model had left it out."
        yield "Formulated by templates." if self.by == TEMPLATES else f"Chosen by {self.by} among sentences of ours."


_CLAIMED = re.compile(r"\d\s*(%|x\b|percent|per cent|times|fold)", re.IGNORECASE)
"""An effect that a question puts into numbers."""
_WHOLE: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}


def _counted(sentences: Sequence[object]) -> str:
    return f"{len(sentences)} sentence{'s' * (len(sentences) != 1)}"


def _were(sentences: Sequence[object]) -> str:
    return "was" if len(sentences) == 1 else "were"


def _reference(fact: CitableFact) -> dict[str, Any]:
    return {
        "tag": fact.tag,
        "kind": fact.kind,
        "about": fact.key,
        "calls": [call for call in fact.calls if call != START],
        "events": list(fact.events),
        "sources": list(fact.sources),
    }


def _footnotes(facts: tuple[CitableFact, ...]) -> Iterator[str]:
    """Say what references stand for: calls of the run with the numbers of their events, or works; each text once."""
    resting: dict[str, list[str]] = {}
    for fact in facts:
        resting.setdefault(_rests_on(fact), []).append(fact.tag)
    for text, tags in resting.items():
        line = f"{', '.join(tags):<4}{text}" if len(tags) == 1 else f"{', '.join(tags)}  {text}"
        yield textwrap.fill(line, WIDTH, initial_indent="  ", subsequent_indent=" " * 6, **_WHOLE)


def _rests_on(fact: CitableFact) -> str:
    calls = ", ".join("the start of the run" if call == START else call for call in fact.calls)
    calls = f"the decisions on {calls}" if fact.decided else calls
    events = f" (event{'s' * (len(fact.events) > 1)} {', '.join(map(str, fact.events))})" if fact.events else ""
    return "; ".join((*([f"{calls}{events}"] if calls else []), *fact.sources))
