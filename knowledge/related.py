"""What belongs to an entry without being named in it: notes on what it leans on, columns that tell it apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .bm25 import Lexicon
from .passages import KnowledgePassage, note_passages
from .patterns import overlap
from .schema import Citation, KnownFactor

MOST_NOTES = 3


def related_notes(names: Iterable[str], references: Sequence[Citation]) -> list[KnowledgePassage]:
    """Give a section of each note on a work that is cited, then of those that use the same words; best first."""
    sections = {section.identity: section for section in note_passages()}
    ranking = Lexicon({key: f"{one.title} {one.text}" for key, one in sections.items()}).rank(" ".join(names))
    cited = [key for key in ranking if any(one.url and one.url in sections[key].source for one in references)]
    best: dict[str, KnowledgePassage] = {}
    for key in (*cited, *ranking):
        best.setdefault(sections[key].key.partition("#")[0], sections[key])
    return list(best.values())[:MOST_NOTES]


def told_apart(one: KnownFactor, other: KnownFactor) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Give the columns that only the one, and only the other, lists."""
    return _alone(one, other), _alone(other, one)


def _alone(one: KnownFactor, other: KnownFactor) -> tuple[str, ...]:
    return tuple(mine for mine in one.signals if not any(overlap(mine, theirs) for theirs in other.signals))
