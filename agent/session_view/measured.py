"""The runs of one call as arrays: of a table that was kept, or of rows that still come in."""

from __future__ import annotations

import io
import math
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ...knowledge.errors import VgoError
from ...tools.row import BASELINE, REQUIRED, Row

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]
TEXTS = ("condition", "layers")


@dataclass(frozen=True, eq=False)
class RunArrays:
    """One row a run; every array has shape (rows,)."""

    call_id: str
    tool: str
    columns: Mapping[str, Floats]
    """Numbers by name: `order`, `pair`, `ok`, `outcome`, `wall_s` and the metrics; NaN where a cell is missing."""
    conditions: tuple[str, ...]
    """In the order in which they appear."""
    condition: Places
    """Place of each row's condition in `conditions`."""
    going_on: bool = False
    """More rows may come."""

    def __len__(self) -> int:
        return int(self.condition.size)

    @cached_property
    def counted(self) -> npt.NDArray[np.bool_]:
        """Rows that count, shape (rows,)."""
        return np.asarray(self.columns["ok"] == 1)

    def where(self, condition: str = BASELINE) -> npt.NDArray[np.bool_]:
        """Rows of one condition that count, shape (rows,)."""
        place = self.conditions.index(condition) if condition in self.conditions else -1
        return np.asarray(self.counted & (self.condition == place))

    def outcome(self, condition: str = BASELINE) -> Floats:
        """Outcomes of the runs that count, in run order."""
        return self.columns["outcome"][self.where(condition)]


@dataclass
class RunArraysBuilder:
    """Rows of a call that goes on; each is turned into numbers once."""

    call_id: str
    tool: str
    count: int = 0
    _columns: dict[str, array[float]] = field(default_factory=dict)
    """Each as long as up to its last cell."""
    _conditions: list[str] = field(default_factory=list)
    _condition: array[int] = field(default_factory=lambda: array("q"))

    def add(self, rows: Sequence[Row]) -> None:
        """Take more rows."""
        for row in rows:
            condition = str(row["condition"])
            if condition not in self._conditions:
                self._conditions.append(condition)
            self._condition.append(self._conditions.index(condition))
            for name, cell in row.items():
                if name not in TEXTS and isinstance(cell, int | float):
                    column = self._columns.setdefault(name, array("d"))
                    column.extend([math.nan] * (self.count - len(column)))
                    column.append(cell)
            self.count += 1

    def measured(self) -> RunArrays:
        """Give what there is now; later rows leave it as it is."""
        columns = {name: np.full(self.count, np.nan) for name in self._columns}
        for name, cells in self._columns.items():
            columns[name][: len(cells)] = cells
        places = np.array(self._condition, np.int64)
        return RunArrays(self.call_id, self.tool, columns, tuple(self._conditions), places, going_on=True)


def read_table(data: bytes, call_id: str, tool: str) -> RunArrays:
    """Read the table that a call left; it is parsed without holding the interpreter."""
    import polars

    try:
        frame = polars.read_csv(
            io.BytesIO(data), infer_schema_length=None, schema_overrides=dict.fromkeys(TEXTS[:1], polars.String)
        )
    except polars.exceptions.PolarsError as error:
        raise VgoError(f"The table of {call_id} is not one ({error}); the run folder is broken.") from error
    if missing := [name for name in REQUIRED if name not in frame.columns]:
        raise VgoError(f"The table of {call_id} has no column {missing[0]}; the run folder is broken.")
    texts = frame["condition"].to_list()
    conditions = tuple(dict.fromkeys(texts))
    place = {name: number for number, name in enumerate(conditions)}
    numbers = (one for one in frame.iter_columns() if one.dtype.is_numeric() or one.is_empty())
    columns = {one.name: np.array(one.cast(polars.Float64).to_numpy(), dtype=np.float64) for one in numbers}
    return RunArrays(call_id, tool, columns, conditions, np.array([place[text] for text in texts], np.int64))
