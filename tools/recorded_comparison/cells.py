"""Recorded conditions against a baseline within cells (hosts, kernels, sizes), and what all cells say together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from ...knowledge.errors import VgoError
from ..claim import Arms
from ..comparison import Stratified, stratified
from ..recorded.columns import listed
from ..recorded.recorded import RecordedRuns
from .arms import RecordedArm, arms, column_of
from .compare import ComparedOutcome, against, arms_of, what_to_know
from .question import Contrast

MOST_CELLS = 1000


class ContrastedCells(ComparedOutcome):
    """What recorded runs say about two or more conditions, cell by cell and together."""

    columns: tuple[str, ...]
    """Whose values make a cell."""
    arms: dict[str, Stratified]
    """Every other arm against the baseline; alpha is split between them."""
    left_out: dict[str, dict[str, str]]
    """By arm and cell: why it cannot be compared there."""


def contrast_cells(tables: Sequence[RecordedRuns], question: Contrast) -> ContrastedCells:
    """Compare within every combination of the values of `question.by`; VgoError where no cell can be compared."""
    first, *others = arms(tables, question)
    baseline = _by_cell(first, question.by)
    found, left_out = dict[str, Stratified](), dict[str, dict[str, str]]()
    for other in others:
        compared, left_out[other.name] = _compared(baseline, _by_cell(other, question.by), question)
        if compared:
            found[other.name] = stratified(compared, alpha=question.alpha / len(others), seed=question.seed)
    if not found:
        raise VgoError(f"No cell of {listed(question.by)} has two runs of both arms: give other columns with --by.")
    return ContrastedCells(
        metric=first.metric,
        unit=first.unit,
        lower_is_better=first.lower_is_better,
        baseline=first.name,
        notes=tuple(dict.fromkeys(what_to_know(tables, first, others, question.in_pairs))),
        columns=question.by,
        arms=found,
        left_out=left_out,
    )


def _compared(
    baseline: Mapping[str, RecordedArm], other: Mapping[str, RecordedArm], question: Contrast
) -> tuple[dict[str, Arms], dict[str, str]]:
    """Line up both arms in each cell; with the reason where that cannot be done."""
    found, left_out = dict[str, Arms](), dict[str, str]()
    for cell in dict.fromkeys((*baseline, *other)):
        first, second = baseline.get(cell), other.get(cell)
        if not (first and second) or min(np.isfinite(arm.values).sum() for arm in (first, second)) < 2:
            left_out[cell] = "fewer than two runs of an arm"
            continue
        try:
            two, _ = against(first, second, question)
        except VgoError as unpaired:
            left_out[cell] = str(unpaired).rstrip(".")
            continue
        found[cell] = arms_of(two, question.in_pairs)
    return found, left_out


def _by_cell(arm: RecordedArm, by: Sequence[str]) -> dict[str, RecordedArm]:
    """Split an arm by the values of columns, cells in the order of their first run; a run that lacks one is in none."""
    frame = arm.recorded.frame
    for name in by:
        column_of(arm.recorded, name, "--by")
    keyed = frame.select(pl.col(list(by)).cast(pl.String)).with_row_index("row ").drop_nulls()
    rows = keyed.group_by(list(by), maintain_order=True).agg("row ")
    if rows.height > MOST_CELLS:
        raise VgoError(
            f"--by {','.join(by)} makes {rows.height:,} cells, more than {MOST_CELLS:,}: leave a column out."
        )
    places = [np.array(part) for part in rows["row "].to_list()]
    names = [", ".join(map("=".join, zip(by, values, strict=True))) for values in rows.select(by).iter_rows()]
    return {
        name: replace(
            arm,
            recorded=replace(arm.recorded, frame=frame[place]),
            values=arm.values[place],
            runs=arm.runs[place],
        )
        for name, place in zip(names, places, strict=True)
    }
