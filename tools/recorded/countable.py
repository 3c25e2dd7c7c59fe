"""Numbers that nothing can be computed with, as 1e308: they count as missing, and the table says so."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import polars as pl
import polars.selectors as cs

from ...knowledge.errors import VgoError
from ..statistics.values import LARGEST, SMALLEST
from .recorded import RecordedRuns


def countable_only(recorded: RecordedRuns) -> RecordedRuns:
    """Empty the cells whose number is finite but too large or too small to compute with."""
    frame = recorded.frame
    floats = cs.float()
    found = frame.select(_beyond(floats).any()).row(0, named=True) if frame.select(floats).width else {}
    wrong = [name for name, is_wrong in found.items() if is_wrong]
    if not wrong:
        return recorded
    beyond = {name: float(frame.filter(_beyond(pl.col(name)))[name][0]) for name in wrong}
    kept = frame.with_columns(pl.when(~_beyond(pl.col(name))).then(pl.col(name)).alias(name) for name in wrong)
    notes = tuple(f"In {name} numbers such as {value:g} count as missing: {BOUNDS}." for name, value in beyond.items())
    return replace(recorded, frame=kept, beyond=beyond, notes=(*recorded.notes, *notes))


def refuse_beyond(recorded: RecordedRuns, outcome: str, others: Collection[str]) -> None:
    """Refuse an outcome of which such numbers were left out, since the runs that are left would not be the runs."""
    if outcome not in recorded.beyond:
        return
    others = [name for name in others if name not in recorded.beyond]
    cure = f", or name another column: {', '.join(others[:12])}" if others else ""
    raise VgoError(
        f"{outcome} of {recorded.source} holds {recorded.beyond[outcome]:g}, and {BOUNDS}: "
        f"mend such cells or empty them{cure}."
    )


def _beyond(columns: pl.Expr) -> pl.Expr:
    size = columns.abs()
    return ((size > LARGEST) | ((size < SMALLEST) & (size > 0))) & columns.is_finite()


BOUNDS = f"only numbers from {SMALLEST:g} to {LARGEST:g} are computed with"
