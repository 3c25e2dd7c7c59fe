"""Score what is known against a paper: is its mitigation among the first that are offered to its program?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vgo_agent.knowledge import loader as knowledge
from vgo_agent.knowledge.loader import Knowledge
from vgo_agent.knowledge.shape import Frozen

from .cases import Cure, PaperCase, load_cases

FIRST = 3
"""A mitigation of the paper must stand at this place or before it."""


class CurePlace(Frozen):
    """Where one mitigation of the paper stands."""

    words: str
    key: str
    """The first of its keys that is offered, or the nearest one where none is."""
    place: int | None
    """From 1 among the mitigations of the factor, nothing removed; None: the factor does not name it."""
    place_here: int | None
    """The same without those that need another number of threads than the paper's program has."""


class RowScore(Frozen):
    """One row."""

    row: str
    factor: str
    cures: tuple[CurePlace, ...]
    """The paper's, in its order."""
    value_here: float
    """The score: 1 where one of the cures is among the first of those that are offered to the paper's program; else 0.
    What needs another number of threads is not offered."""
    value: float
    """The same among all that are listed, nothing removed."""
    place: int | None
    """The best of the cures, among all that are listed; None: the factor names none of them."""
    reason: str


class CoverageSummary(Frozen):
    """All rows."""

    rows: int
    among_first_here: int
    """Rows whose score is 1."""
    among_first: int
    """The same of what is listed."""
    not_named: tuple[str, ...]
    """`ROW: words` of the cures that the factor does not name at all."""
    sentence: str


def score_rows() -> tuple[RowScore, ...]:
    """Score every row of the paper against the knowledge as it is."""
    known = knowledge.load()
    return tuple(score(case, known) for case in load_cases())


def score(case: PaperCase, known: Knowledge) -> RowScore:
    """Find the cures of one row among the mitigations of its factor, in the order in which look_up lists them."""
    offered = known.factors[case.factor].mitigations
    here = tuple(key for key in offered if not _excluded(case, key, known))
    cures = tuple(_place(cure, offered, here) for cure in case.cures)
    best = min((cure for cure in cures if cure.place), key=lambda cure: cure.place or 0, default=None)
    return RowScore(
        row=case.row,
        factor=case.factor,
        cures=cures,
        value_here=float(any(cure.place_here and cure.place_here <= FIRST for cure in cures)),
        value=float(any(cure.place and cure.place <= FIRST for cure in cures)),
        place=best.place if best else None,
        reason=_reason(case, best, len(offered)),
    )


def summarise(scores: Sequence[RowScore]) -> CoverageSummary:
    """Count the rows, and name the cures that no place was found for."""
    among, here = (int(sum(values)) for values in zip(*((s.value, s.value_here) for s in scores), strict=True))
    first = f"{here} of {len(scores)} rows have a mitigation of the paper among the first {FIRST} that their program is"
    listed = f"{among} among the first {FIRST} that are listed"
    return CoverageSummary(
        rows=len(scores),
        among_first_here=here,
        among_first=among,
        not_named=tuple(f"{s.row}: {cure.words}" for s in scores for cure in s.cures if cure.place is None),
        sentence=f"{first} offered{_missed(s.row for s in scores if not s.value_here)}; "
        f"{listed}{_missed(s.row for s in scores if not s.value)}.",
    )


def _missed(rows: Iterable[str]) -> str:
    names = ", ".join(rows)
    return f", not {names}" if names else ""


def _excluded(case: PaperCase, key: str, known: Knowledge) -> bool:
    applies = known.mitigations[key].applies
    return (case.threads == "many" and applies.single_threaded) or (case.threads == "one" and applies.multi_threaded)


def _place(cure: Cure, offered: Sequence[str], here: Sequence[str]) -> CurePlace:
    found = next((key for key in offered if key in cure.keys), None)
    return CurePlace(
        words=cure.words,
        key=found or cure.keys[0],
        place=None if found is None else offered.index(found) + 1,
        place_here=next((nth for nth, key in enumerate(here, start=1) if key in cure.keys), None),
    )


def _reason(case: PaperCase, best: CurePlace | None, offered: int) -> str:
    if best is None:
        return f"{case.factor} names none of the paper's mitigations"
    said = f"{best.words}: {best.key} is number {best.place} of {offered}"
    if best.place_here != best.place:
        said += f", {best.place_here} of those for a program of {case.threads} threads"
    return said.replace("of one threads", "of one thread")
