"""Rows of a paper's tables in our keys: which factor, and which mitigations do what the paper names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from vgo_agent.knowledge import loader as knowledge
from vgo_agent.knowledge.errors import VgoError
from vgo_agent.knowledge.files import duplicate_keys, read_entry
from vgo_agent.knowledge.loader import Knowledge
from vgo_agent.knowledge.schema import Entry
from vgo_agent.knowledge.shape import Frozen, Key

from .loader import load_papers
from .schema import PaperRow, Publication

HERE = Path(__file__).parent / "cases.yaml"
CITATION = re.compile(r"\[\d+\]")


class Cure(Frozen):
    """One mitigation as the paper names it."""

    words: str
    """As they stand in the row."""
    keys: Annotated[tuple[Key, ...], Field(min_length=1)]
    """Each of them does that; the nearest first."""
    why: str = ""
    """Where that is not plain from the names."""


class PaperCase(Frozen):
    """One row of a table."""

    row: str
    """`TABLE.ROW`."""
    factor: Key
    threads: Literal["one", "many"] | None = None
    """Of the program, where the paper says so; None: it does not."""
    cures: Annotated[tuple[Cure, ...], Field(min_length=1)]
    why: str = ""
    """Where it is not plain from the names that the factor is the paper's."""


class PaperCaseFile(Entry):
    """All rows of a paper that name a factor."""

    paper: str
    cases: Annotated[tuple[PaperCase, ...], Field(min_length=1)]


def load_cases(path: Path = HERE) -> tuple[PaperCase, ...]:
    """Read the cases and hold them against the knowledge and the tables; what is wrong raises VgoError."""
    file = read_entry(path, PaperCaseFile)
    papers = load_papers()
    if file.paper not in papers:
        raise VgoError(f"{path}: there is no paper {file.paper!r}; choose one of {', '.join(papers)}.")
    problems = (
        *(f"the key {key} stands twice. Keep one." for key in duplicate_keys(path)),
        *_unknown(file.cases, knowledge.load()),
        *_untrue(file.cases, _rows(papers[file.paper])),
    )
    for problem in problems:
        raise VgoError(f"{path}: {problem}")
    return file.cases


def _unknown(cases: tuple[PaperCase, ...], known: Knowledge) -> Iterator[str]:
    for case in cases:
        yield from _missing("factor", case.row, (case.factor,), known.factors)
        for cure in case.cures:
            yield from _missing("mitigation", case.row, cure.keys, known.mitigations)


def _missing(kind: str, row: str, keys: tuple[str, ...], known: Mapping[str, object]) -> Iterator[str]:
    for key in keys:
        if key not in known:
            near = get_close_matches(key, sorted(known), n=1)
            hint = f"it could be {near[0]}" if near else "keys are the names of the files in knowledge/"
            yield f"{row}: the {kind} {key} is unknown. Correct it; {hint}."


def _rows(paper: Publication) -> dict[str, PaperRow]:
    """Give the rows that name a factor, by `TABLE.ROW`."""
    return {f"{table.id}.{row.id}": row for table in paper.tables for row in table.rows if "factor" in row.labels}


def _untrue(cases: tuple[PaperCase, ...], rows: dict[str, PaperRow]) -> Iterator[str]:
    """Every row once, and in its own words, all of them."""
    named = [case.row for case in cases]
    yield from (f"{name}: no row has that name. Write TABLE.ROW." for name in named if name not in rows)
    yield from (f"{name}: stands twice. Keep one." for name in sorted({n for n in named if named.count(n) > 1}))
    yield from (f"{name}: has no case. Add one." for name in rows if name not in named)
    for case in cases:
        rest = CITATION.sub("", _cures_of(rows[case.row])) if case.row in rows else ""
        for cure in case.cures:
            if cure.words not in rest:
                yield f"{case.row}: {cure.words!r} does not stand in the row. Copy its words."
            rest = rest.replace(cure.words, "", 1)
        if left := rest.replace(";", " ").strip():
            yield f"{case.row}: {left!r} of the row has no keys. Add a cure for it."


def _cures_of(row: PaperRow) -> str:
    return row.labels.get("mitigation") or row.labels["mitigations"]
