"""The runs of one call as arrays: of a table that was kept, or of rows that still come in."""

from __future__ import annotations

import io
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
        """Rows, failed ones too."""
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
    _arrays: dict[str, Floats] = field(default_factory=dict)
    _conditions: list[str] = field(default_factory=list)
    _condition: Places = field(default_factory=lambda: np.empty(64, np.int64))

    def add(self, rows: Sequence[Row]) -> None:
        """Take more rows."""
        self._room(self.count + len(rows))
        for row in rows:
            condition = str(row["condition"])
            if condition not in self._conditions:
                self._conditions.append(condition)
            self._condition[self.count] = self._conditions.index(condition)
            for name, cell in row.items():
                if name not in TEXTS and isinstance(cell, int | float):
                    self._array(name)[self.count] = cell
            self.count += 1

    def measured(self) -> RunArrays:
        """Give what there is now; later rows leave it as it is."""
        columns = {name: array[: self.count] for name, array in self._arrays.items()}
        conditions, places = tuple(self._conditions), self._condition[: self.count]
        return RunArrays(self.call_id, self.tool, columns, conditions, places, going_on=True)

    def _array(self, name: str) -> Floats:
        if name not in self._arrays:
            self._arrays[name] = np.full(self._condition.size, np.nan)
        return self._arrays[name]

    def _room(self, wanted: int) -> None:
        """Double what is held, so that a row costs the same however many there are."""
        size = self._condition.size
        if wanted <= size:
            return
        more = max(wanted, 2 * size) - size
        self._condition = np.concatenate((self._condition, np.empty(more, np.int64)))
        for name, array in self._arrays.items():
            self._arrays[name] = np.concatenate((array, np.full(more, np.nan)))


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
