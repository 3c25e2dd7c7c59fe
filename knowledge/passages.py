"""What can be found by a question: factors, mitigations, and the sections of the notes on papers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from .loader import HERE, Knowledge, notes
from .schema import Factor, Mitigation

Kind = Literal["factor", "mitigation", "note"]


@dataclass(frozen=True)
class Passage:
    """One thing that a search can give."""

    key: str
    """Of the factor or mitigation, or `note#section`."""
    kind: Kind
    title: str
    text: str
    """For a reader."""
    score: float = 0.0
    """Of a search; comparable within its results only."""


def passages(known: Knowledge, folder: Path = HERE) -> dict[str, Passage]:
    """List everything, by an identity that is unique over the kinds."""
    found = [
        *(Passage(f.key, "factor", f.name, f.description) for f in known.factors.values()),
        *(Passage(m.key, "mitigation", m.name, _advice(m)) for m in known.mitigations.values()),
        *(passage for path in notes(folder) for passage in _sections(path)),
    ]
    return {f"{passage.kind}:{passage.key}": passage for passage in found}


def searchable(passage: Passage, known: Knowledge) -> str:
    """Add what people call it and the columns that show it, which the reader's text need not repeat."""
    extra: tuple[str, ...] = ()
    if passage.kind == "factor":
        factor: Factor = known.factors[passage.key]
        extra = (factor.key.replace("_", " "), *factor.aliases, *factor.signals)
    elif passage.kind == "mitigation":
        extra = (passage.key.replace("_", " "),)
    return " . ".join((passage.title, *extra, passage.text))


def _advice(mitigation: Mitigation) -> str:
    return f"{mitigation.description} When: {mitigation.when} Risk: {mitigation.hurts}"


def _sections(path: Path) -> Iterator[Passage]:
    title, *parts = re.split(r"^## +", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    paper = title.splitlines()[0].removeprefix("# ")
    for part in parts:
        heading, _, body = part.partition("\n")
        slug = re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-")
        yield Passage(f"{path.stem}#{slug}", "note", f"{paper}: {heading}", body.strip())
