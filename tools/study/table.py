"""The run table of a study: one row a run, with the levels of its setting as columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from ...layers.schema import Layer
from ..recorded.formats.vgo import measured
from ..recorded.recorded import RecordedRuns
from ..row import Row
from .design import StudyDesign


def numbered(rounds: int, rows: Sequence[Row], batch: Sequence[Row]) -> tuple[Row, ...]:
    """Put the batch that confirms after the rounds, with pairs of its own."""
    first = max(rounds, 1 + max((row["pair"] for row in rows), default=-1))
    later = ({**row, "batch": 2, "pair": row["pair"] + first} for row in batch)
    return (*({**row, "batch": 1} for row in rows), *later)


def runs_table(
    design: StudyDesign, rows: Iterable[Row], given: str, layers: Iterable[Layer], facts: Mapping[str, Any]
) -> RecordedRuns:
    """Describe the numbered rows as any run table: factors are its settings."""
    levels = {one.name: one.levels for one in design.settings}
    runs = [
        {**row, **{key: levels[row["condition"]].get(key, "as given") for key in design.varied}, "order": place}
        for place, row in enumerate(rows)
    ]
    recorded = measured(pl.DataFrame(runs, infer_schema_length=None), given, list(layers), facts)
    roles = {**recorded.roles, **dict.fromkeys(design.varied, "setting"), "batch": "id"}
    return replace(recorded, roles=roles)
