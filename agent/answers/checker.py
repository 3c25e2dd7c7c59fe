"""Is every sentence of an answer borne out by what it refers to? Works on the final text, whoever has written it.

A sentence ends with its references. Take the names that they stand for and the words that join sentences away: what is
left must be, word by word and in this order, one of the wordings of what it refers to, with its details or without.
So nothing can be left out of a statement (a `not`, a `less`), put into it (`always`, `because`, `ninety percent`), or
moved from one reference to another. The earlier rules only say more plainly what is wrong, and hold by themselves:
numbers, names and directions are compared with the facts, not with the wordings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from ...knowledge.loader import Knowledge
from .fact import CitableFact

TAGS = re.compile(r"\[((?:f|k)\d+(?:, (?:f|k)\d+)*)\]\.?")
WORD = re.compile(r"""[^\W_](?:[\w.%/'-]*\w)?|[<>=≤≥%"]|-(?=\d)""")
"""Signs that change what a number says, and marks of quotation, count as words."""
CONNECTIVES = ("Also, ", "Besides, ")
"""What a sentence may begin with, claiming nothing."""


def _words_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


JOINING = _words_of("a an the also and besides here in of on to for with as is was are were its it this that")
"""Words that claim nothing by themselves."""
NEGATIONS = _words_of(
    "not no never nothing nobody none neither nor without cannot less fewer hardly little unless fails"
)
NUMBERS = _words_of(
    "zero one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty sixty seventy eighty"
    " ninety hundred thousand million half third quarter twice thrice double triple dozen percent percentage"
)


class Objection(NamedTuple):
    """A sentence that may not stand, and why."""

    sentence: str
    why: str


def objections(text: str, facts: Sequence[CitableFact], known: Knowledge) -> list[Objection]:
    """List what in a text is not borne out by these facts; empty means that all of it is."""
    listed = {fact.tag: fact for fact in facts}
    found = ((sentence, _objection(sentence, listed, known)) for sentence in sentences(text))
    return [Objection(sentence, why) for sentence, why in found if why]


def sentences(text: str) -> Iterator[str]:
    """Split a text behind each list of references; what has none behind it is the last."""
    plain = " ".join(re.sub(r"(?m)^- ", "", text).split())
    start = 0
    for found in TAGS.finditer(plain):
        yield plain[start : found.end()].strip()
        start = found.end()
    if rest := plain[start:].strip():
        yield rest


def _objection(sentence: str, listed: Mapping[str, CitableFact], known: Knowledge) -> str:
    found = TAGS.search(sentence)
    if found is None:
        return "it has no reference"
    tags = found[1].split(", ")
    if unknown := [tag for tag in tags if tag not in listed]:
        return f"there is no {unknown[0]}"
    facts, said = [listed[tag] for tag in tags], sentence[: found.start()].strip()
    for connective in CONNECTIVES:
        said = said.removeprefix(connective)
    rules = (_number(said, facts), _name(said, facts, known), _direction(said, facts), _words(said, facts))
    return next((why for why in rules if why), "")


def _number(said: str, facts: Sequence[CitableFact]) -> str:
    """Each number, in digits or in words, must stand in what is referred to."""
    allowed = {word for fact in facts for wording in fact.wordings for word in _split(wording.shown)}
    for word in _split(said):
        if word not in allowed and (word in NUMBERS or any(char.isdigit() for char in word)):
            return f"the number {word} is not in {_tags(facts)}"
    return ""


def _name(said: str, facts: Sequence[CitableFact], known: Knowledge) -> str:
    """Each factor and mitigation that is named must be one that the references are about, or name themselves."""
    spoken = _spaced(said)
    allowed = [_spaced(wording.shown) for fact in facts for wording in fact.wordings]
    for phrase in _names(known):
        if phrase in spoken and not any(phrase in one for one in allowed):
            return f"{_tags(facts)} says nothing of {phrase.strip()}"
    return ""


def _direction(said: str, facts: Sequence[CitableFact]) -> str:
    """What is so must not be said not to be so, and the other way round; a sentence of one reference is looked at."""
    if len(facts) != 1 or facts[0].affirmed is None:
        return ""
    first = re.split("[,:]", _without(said, facts), maxsplit=1)[0]
    denied = bool(NEGATIONS & set(_split(first)))
    if denied == facts[0].affirmed:
        return f"{facts[0].tag} says the opposite"
    return ""


def _words(said: str, facts: Sequence[CitableFact]) -> str:
    """What is left must be a wording of each reference, one after the other."""
    left = [word for word in _split(_without(said, facts)) if word not in JOINING]
    ends = {0}
    for fact in facts:
        ends = {end for start in ends for end in _ends(left, start, fact, facts)}
    return "" if len(left) in ends else f"it says something else than {_tags(facts)}"


def _ends(left: Sequence[str], start: int, fact: CitableFact, facts: Sequence[CitableFact]) -> Iterator[int]:
    for wording in fact.wordings:
        for text in (wording.clause, wording.shown, wording.written):
            words = [word for word in _split(_without(text, facts)) if word not in JOINING]
            if left[start : start + len(words)] == words:
                yield start + len(words)


def _without(text: str, facts: Sequence[CitableFact]) -> str:
    """Take the names away that the references stand for, so that a name with a `no` in it denies nothing."""
    names = {name for fact in facts for name in (fact.name.shown, fact.name.written) if name}
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, " ")
    return text


def _tags(facts: Sequence[CitableFact]) -> str:
    return ", ".join(fact.tag for fact in facts)


def _split(text: str) -> list[str]:
    return [word.rstrip(".").lower() for word in WORD.findall(text)]


def _spaced(text: str) -> str:
    return f" {' '.join(re.findall(r'[a-z0-9_]+', text.lower()))} "


@lru_cache(maxsize=4)
def _of(factors: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted({_spaced(name) for name in factors if len(name) > 3}, key=len, reverse=True))


def _names(known: Knowledge) -> tuple[str, ...]:
    """Every key and name of what is known, the longest first."""
    entries = (*known.factors.values(), *known.mitigations.values())
    return _of(tuple(name for entry in entries for name in (entry.key, entry.name)))
