"""What can be found by a question: factors, mitigations, states of a run's time, and sections of notes on papers.

And what a question names outright: a key, a column of a layer, a name or an alias.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from .bm25 import Lexicon, near_names, plain, words
from .loader import HERE, Knowledge, notes
from .schema import Citation, DescribedEntry, KnownFactor
from .shape import overlap
from .terms import read_wording

STATE_COLUMN = re.compile(r"(?:ledger|stacks)\.(\w+)_ms")
"""Columns of the layers that split the time of a run."""
NAMES = 8192
"""That are kept taken apart: more than all entries have, of which every question looks at each."""


def meant(name: str, known: Knowledge) -> list[str]:
    """Give the identities that the whole text is a name of: by key, by column, by name, by alias."""
    key = _plain(name)
    found = [f"{kind}:{key}" for kind, entries in _kinds(known) if key in entries]
    column = STATE_COLUMN.fullmatch(name.strip())
    found += [f"state:{column[1]}"] if column and column[1] in known.states else []
    found += [f"factor:{factor.key}" for factor in known.factors_of(" ".join(name.split()))]
    found += [
        f"{kind}:{entry.key}"
        for kind, entries in _kinds(known)
        for entry in entries.values()
        if key and key in map(_plain, _all(entry))
    ]
    return list(dict.fromkeys(found or _within(key.split("_"), known)))


def _within(asked: list[str], known: Knowledge) -> list[str]:
    """Give the entries of which a name of several words stands in the text, in any order; the longest first."""
    wanted = set(asked)
    found = [
        (-len(parts), f"{kind}:{entry.key}")
        for kind, entries in _kinds(known)
        if kind != "state"  # whose names are words of every day
        for entry in entries.values()
        for parts in map(_words_of, _all(entry))
        if len(parts) > 1 and parts <= wanted
    ]
    return [identity for _, identity in sorted(found)]


def nearest(name: str, known: Knowledge) -> list[str]:
    """Give the keys that are spelt most like it, or contain it; five at most."""
    keys = {word: entry.key for _, entries in _kinds(known) for entry in entries.values() for word in _all(entry)}
    return near_names(name, keys, most=5)


def mentioned(question: str, known: Knowledge) -> list[str]:
    """Give the identities whose key or column stands in the text: a word with a dot or an underscore is no other."""
    tokens = re.findall(r"[A-Za-z0-9_.*-]*[A-Za-z0-9_]", question)
    found = [one for token in tokens if "." in token or "_" in token for one in meant(token, known)]
    return list(dict.fromkeys(found))


def called(question: str, known: Knowledge) -> list[str]:
    """Give the factors of which a name or alias stands in the text, word by word; the longest first."""
    asked = f" {' '.join(words(question))} "
    found = [
        (len(phrase.split()), factor.key)
        for factor in known.factors.values()
        for phrase in set(map(_phrase, (factor.name, *factor.aliases)))
        if phrase and f" {phrase} " in asked
    ]
    return list(dict.fromkeys(f"factor:{key}" for _, key in sorted(found, key=lambda one: (-one[0], one[1]))))


def _kinds(known: Knowledge) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "factor", dict(known.factors)
    yield "mitigation", dict(known.mitigations)
    yield "state", dict(known.states)


def _all(entry: Any) -> tuple[str, ...]:
    return (entry.key, entry.name, *getattr(entry, "aliases", ()))


@lru_cache(NAMES)
def _phrase(name: str) -> str:
    return " ".join(words(name))


@lru_cache(NAMES)
def _words_of(name: str) -> frozenset[str]:
    return frozenset(_plain(name).split("_"))


_plain = lru_cache(NAMES)(plain)


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
    texts: list[tuple[Kind, DescribedEntry, str]] = [
        *(("factor", one, one.description) for one in known.factors.values()),
        *(("mitigation", m, f"{m.description} When: {m.when} Risk: {m.hurts}") for m in known.mitigations.values()),
        *(("state", state, f"{state.description} {state.next}") for state in known.states.values()),
    ]
    found = (KnowledgePassage(one.key, kind, one.name, text, _first(one.references)) for kind, one, text in texts)
    entries = {passage.identity: passage for passage in (*found, *note_passages(folder))}
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
