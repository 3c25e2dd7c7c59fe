"""Is every sentence of an answer borne out by what it refers to? Works on the final text, whoever has chosen it.

A sentence ends with its reference, and is the text of that fact, letter by letter. So nothing can be left out of a
statement (a `not`, a `less`), put into it (`always`, `because`, `ninety percent`), or moved to another reference.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .fact import CitableFact, sentence

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
