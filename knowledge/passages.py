"""What can be found by a question: factors, mitigations, states of a run's time, and sections of notes on papers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from .bm25 import Lexicon
from .loader import HERE, Knowledge, notes
from .schema import Citation, KnownFactor, Mitigation
from .shape import overlap
from .terms import read_wording

Kind = Literal["factor", "mitigation", "state", "note"]
LONGEST = 1200
"""Characters of a passage of a note: a longer section is split between its paragraphs and points."""


@dataclass(frozen=True)
class KnowledgePassage:
    """One thing that a search can give."""

    key: str
    """Of the factor, mitigation or state, or `note#section`."""
    kind: Kind
    title: str
    text: str
    """For a reader."""
    source: str = ""
    """Where it comes from: the first reference of an entry, the work that a note is on."""
    part: int = 1
    """Of a section that was split; the second of an entry is what people say of it."""
    said: tuple[str, ...] = ()
    """What is searched in place of the text, thought by thought."""
    score: float = 0.0
    """Of a search; comparable within its results only."""

    @property
    def identity(self) -> str:
        """Tell it apart from every other passage."""
        return f"{self.kind}:{self.key}" + (f"~{self.part}" if self.part > 1 else "")


def passages(known: Knowledge, folder: Path = HERE) -> dict[str, KnowledgePassage]:
    """List everything by its identity."""
    found = [
        *(
            KnowledgePassage(f.key, "factor", f.name, f.description, _first(f.references))
            for f in known.factors.values()
        ),
        *(
            KnowledgePassage(m.key, "mitigation", m.name, _advice(m), _first(m.references))
            for m in known.mitigations.values()
        ),
        *(
            KnowledgePassage(s.key, "state", s.name, f"{s.description} {s.next}", _first(s.references))
            for s in known.states.values()
        ),
        *note_passages(folder),
    ]
    entries = {passage.identity: passage for passage in found}
    wording = read_wording(folder, entries)
    said = (replace(entries[of], part=2, said=thoughts) for of, thoughts in wording.items())
    return entries | {passage.identity: passage for passage in said}


def note_passages(folder: Path = HERE) -> list[KnowledgePassage]:
    """List the sections of the notes, long ones in parts."""
    return [passage for path in notes(folder) for passage in _sections(path)]


def searchable(passage: KnowledgePassage, known: Knowledge) -> str:
    """Add what people call it and the columns that show it, which the reader's text need not repeat."""
    if passage.said:
        return " . ".join((passage.title, *passage.said))
    extra: tuple[str, ...] = ()
    if passage.kind == "factor":
        factor: KnownFactor = known.factors[passage.key]
        extra = (factor.key.replace("_", " "), *factor.aliases, *factor.signals)
    elif passage.kind == "mitigation":
        extra = (passage.key.replace("_", " "),)
    elif passage.kind == "state":
        extra = (passage.key.replace("_", " "), *known.states[passage.key].aliases)
    return " . ".join((passage.title, *extra, passage.text))


def by_thought(found: Mapping[str, KnowledgePassage], known: Knowledge) -> dict[str, str]:
    """Give the texts to search with each thought of users by itself: a long list dilutes the one that fits."""
    return {
        f"{identity}~{nth}" if nth else identity: searchable(one, known)
        for identity, passage in found.items()
        for nth, one in enumerate([replace(passage, said=(said,)) for said in passage.said] or [passage])
    }


def entry_of(identity: str) -> str:
    """Give the entry or note that it is a part of."""
    return re.split("[#~]", identity, maxsplit=1)[0]


def cited(reference: Citation) -> str:
    """Write a reference in one line."""
    return f"{reference.title} {reference.url}".strip()


def _first(references: tuple[Citation, ...]) -> str:
    return cited(references[0]) if references else ""


def _advice(mitigation: Mitigation) -> str:
    return f"{mitigation.description} When: {mitigation.when} Risk: {mitigation.hurts}"


def _sections(path: Path) -> Iterator[KnowledgePassage]:
    opening, *sections = re.split(r"^## +", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    title, _, source = opening.partition("\n")
    for section in sections:
        heading, _, body = section.partition("\n")
        if heading.strip().lower() in ("source", "sources"):  # says where the text was read, and nothing of its matter
            continue
        slug = re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-")
        words = f"{title.removeprefix('# ')}: {heading}"
        for part, text in enumerate(_parts(body.strip()), start=1):
            yield KnowledgePassage(f"{path.stem}#{slug}", "note", words, text, " ".join(source.split()), part)


def _parts(body: str) -> list[str]:
    """Split a long text before points and paragraphs, into as few parts as fit."""
    parts: list[str] = []
    for piece in re.split(r"\n(?=- |\n)", body):
        if parts and len(parts[-1]) + len(piece) < LONGEST:
            parts[-1] += f"\n{piece}"
        else:
            parts.append(piece)
    return parts


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
