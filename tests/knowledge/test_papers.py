"""Every note on a work says what it is about, what was measured, what is doubtful, and where all that was read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from vgo_agent.knowledge.loader import HERE, notes
from vgo_agent.knowledge.passages import note_passages

REPRODUCES = "What reproduces, what does not, why"
"""A section that a note may have, where the work was tried again."""
SECTIONS = ["Question", "Method", "What they measured", "What we take from it", "Reservations", "Source"]
SEEDS = {
    "cross-platform-varsys16",
    "moana-io-variability",
    "openmp-variability-cf25",
    "vgo-icpe26",
    "vgo-icpe26-slides",
}
ADDRESS = re.compile(r"https?://[^\s,;()]+\.[^\s,;()]+")
YEAR = re.compile(r"\b(19[5-9]\d|20\d\d)\b")
READ = re.compile(r"\blooked\s+up\b|whole\s+text\s+of\s+the\s+seed\b")
CITED = re.compile(r"\bseed\s+([a-z]+-[a-z0-9-]+)")
WIDTH, SHORTEST, LONGEST, OF_TRIAL = 120, 15, 60, 15
NOTES = {path.stem: path.read_text(encoding="utf-8") for path in notes()}


def faults(text: str) -> Iterator[str]:
    """Name what a note lacks."""
    head, *parts = re.split(r"^## +", text, flags=re.MULTILINE)
    title, _, work = head.partition("\n")
    sections = {name: body.strip() for name, _, body in (part.partition("\n") for part in parts)}
    source = sections.get("Source", "")
    lines = text.splitlines()
    if not re.fullmatch(r"# \S.*", title):
        yield "title"
    if [name for name in sections if name != REPRODUCES] != SECTIONS or len(parts) != len(sections):
        yield "sections"
    yield from (f"empty {name}" for name, body in sections.items() if not body)
    if not work.strip() or not (ADDRESS.search(work) or YEAR.search(work) or CITED.search(source)):
        yield "work"
    if not READ.search(source):
        yield "where it was read"
    yield from (f"unknown seed {seed}" for seed in CITED.findall(text) if seed not in SEEDS)
    longest = LONGEST + OF_TRIAL * (REPRODUCES in sections)
    if not SHORTEST <= len(lines) <= longest or max(map(len, lines)) > WIDTH or not text.endswith("\n"):
        yield "size"


@pytest.mark.parametrize("name", NOTES)
def test_a_note_lacks_nothing(name: str) -> None:
    assert list(faults(NOTES[name])) == []


class Plant(NamedTuple):
    """Replace what `old` matches by `new` in a note; `said` must be found."""

    old: str
    new: str
    said: str


PLANTS = [
    Plant(r"\A# ", "", "title"),
    Plant(r"^## Method$", "## Methods", "sections"),
    Plant(r"^## Source\n[\s\S]*", "", "sections"),
    Plant(r"^## Reservations\n[\s\S]*?(?=^## )", "## Reservations\n\n", "empty Reservations"),
    Plant(r"\A(# .*\n)[\s\S]*?(?=^## )", r"\1\n", "work"),
    Plant(r"\(looked up\)", "(remembered)", "where it was read"),
    Plant(r"seed vgo-icpe26\b", "seed vgo-icpe62", "unknown seed vgo-icpe62"),
    Plant(r"\Z", "word " * 30 + "\n", "size"),
]


@pytest.mark.parametrize("plant", PLANTS, ids=[f"{number} {plant.said}" for number, plant in enumerate(PLANTS)])
def test_what_is_planted_is_found(plant: Plant) -> None:
    text, changes = re.subn(plant.old, plant.new, NOTES["mega-huge-pages-systor19"], count=1, flags=re.MULTILINE)
    assert changes == 1
    assert plant.said in list(faults(text))


def test_there_are_notes_on_every_seed_and_on_25_other_works() -> None:
    assert set(NOTES) >= SEEDS
    assert len(NOTES) >= len(SEEDS) + 25


def test_no_two_notes_have_the_same_title_or_tell_of_the_same_work() -> None:
    heads = [text.split("\n## ")[0] for text in NOTES.values()]
    titles = [head.splitlines()[0] for head in heads]
    works = [address.group().rstrip(".") for head in heads if (address := ADDRESS.search(head))]
    for found in (titles, works):
        assert not [one for one, other in pairwise(sorted(found)) if one == other]


def test_every_section_that_tells_something_can_be_found_by_itself() -> None:
    found = {passage.key for passage in note_passages() if passage.text}
    slugs = [re.sub(r"[^a-z0-9]+", "-", section.lower()) for section in SECTIONS if section != "Source"]
    assert {f"{name}#{slug}" for name in NOTES for slug in slugs} <= found


def test_a_file_that_is_no_note_stands_nowhere_among_them() -> None:
    assert {path.name for path in (Path(HERE) / "papers").iterdir()} == {f"{name}.md" for name in NOTES}
