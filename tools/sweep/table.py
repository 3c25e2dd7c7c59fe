"""The two tables of a sweep: one row a run with its settings, one row a cell with its spread."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from ...layers.schema import Layer
from ..recorded.formats.vgo import measured
from ..recorded.recorded import RecordedRuns
from ..row import REQUIRED, rows_csv
from .cell import Cell
from .sweep import Sweep

LEADING = ("batch", "round")
SHARED = (*REQUIRED, "layers")
"""A sweep says in `reason` why a run does not count."""
_MEANT = {
    "condition": "Cell, as cells.csv numbers it.",
    "batch": "Cells of a batch were run in rounds of one another.",
    "round": "Round within the batch, from 0.",
    "reason": "Why the run does not count.",
}


def runs_table(sweep: Sweep, given: str, layers: Iterable[Layer], facts: Mapping[str, Any]) -> RecordedRuns:
    """Describe the runs as any run table: parameters are its settings; failed runs are kept, with the reason."""
    cells = {cell.id: cell for cell in sweep.cells}
    rows = [_row(row, cells[str(row["condition"])]) for row in in_order(sweep.ran.rows)]
    names = tuple(sweep.space.parameters)
    known = {*SHARED, *LEADING, "reason", *names}
    metrics = sorted({name for row in rows for name in row} - known)
    frame = pl.DataFrame(
        {
            name: _series(name, [row.get(name) for row in rows])
            for name in (*SHARED, *LEADING, *names, "reason", *metrics)
        }
    )
    recorded = measured(frame, given, list(layers), facts)
    parameters = sweep.space.parameters
    return replace(
        recorded,
        roles={**recorded.roles, "order": "order", "condition": "id", **dict.fromkeys((*LEADING, "reason"), "id")}
        | dict.fromkeys(names, "setting"),
        units={**recorded.units, **{name: one.unit for name, one in parameters.items() if one.unit}},
        descriptions={
            **recorded.descriptions,
            **_MEANT,
            **{name: one.description for name, one in parameters.items() if one.description},
        },
    )


def cells_csv(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Render one row a cell, impossible ones with the reason; a parameter named as a statistic keeps its name."""
    flat = [_flat(row) for row in rows]
    return rows_csv(flat, list(flat[0]) if flat else ["cell"])


def cell_rows(sweep: Sweep) -> Iterator[dict[str, Any]]:
    """Sum up each cell, in the order in which they were chosen; numbers in the unit of the outcome."""
    for cell in sweep.cells:
        stands = sweep.standing(cell)
        summary, interval = stands.summary, stands.interval
        yield {
            "cell": cell.id,
            "batch": cell.batch,
            "values": dict(cell.values),
            "n": stands.runs,
            "failed": stands.failed,
            **{name: getattr(summary, name, None) for name in ("mean", "median", "sd")},
            "sd_low": interval.low if interval else None,
            "sd_high": interval.high if interval else None,
            **{name: getattr(summary, name, None) for name in ("cv", "p95", "p99", "minimum", "maximum")},
            "known_within": stands.known,
            "enough": int(stands.enough(sweep.space.repetitions)),
            "why": cell.why,
            "reason": stands.reason,
        }


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """Put the levels between the number of the cell and its statistics."""
    levels, first = row["values"], ("cell", "batch")
    rest = {f"{name}_of_runs" if name in levels else name: value for name, value in row.items() if name not in first}
    del rest["values"]
    return {**{name: row[name] for name in first}, **levels, **rest}


def in_order(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Put runs of many hosts in the order in which they began; those of one machine are."""
    ordered = sorted(rows, key=lambda row: float(row.get("began_s", 0.0)))
    return [{**row, "order": place} for place, row in enumerate(ordered)]


def _row(row: Mapping[str, Any], cell: Cell) -> dict[str, Any]:
    kept = {name: value for name, value in row.items() if name != "begun"}
    return {**kept, "batch": cell.batch, "round": row["pair"], "pair": -1, **cell.values}


def _series(name: str, values: Sequence[Any]) -> pl.Series:
    """A column; words beside numbers make it text."""
    if any(isinstance(value, str) for value in values):
        return pl.Series(name, [None if value is None else str(value) for value in values], dtype=pl.String)
    return pl.Series(name, values, strict=False)
