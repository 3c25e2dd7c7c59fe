"""The run table: one row a run, one column a metric; one gate writes it and one reads it."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..knowledge.errors import VgoError
from ..layers.loader import load_layers
from ..layers.schema import Column
from .row import BASELINE, FIXED, Row

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class RunTable:
    """A validated table and what each of its metric columns means."""

    frame: pd.DataFrame
    columns: tuple[Column, ...]

    def outcome(self, condition: str = BASELINE) -> Floats:
        """Outcomes of the runs that count, in run order, shape (runs,)."""
        frame = self._counted(condition)
        return np.asarray(frame["outcome"], dtype=np.float64)

    def column(self, name: str, condition: str = BASELINE) -> Floats:
        """One column over the runs that count, shape (runs,)."""
        return np.asarray(self._counted(condition)[name], dtype=np.float64)

    def paired(self, other: str, name: str = "outcome") -> tuple[Floats, Floats]:
        """One column of the complete pairs, baseline and `other`, pair i with pair i."""
        wide = self.frame[self.frame["ok"] == 1].pivot(index="pair", columns="condition", values=name)
        for condition in (BASELINE, other):
            if condition not in wide:
                wide[condition] = np.nan
        wide = wide[[BASELINE, other]].dropna()
        return wide[BASELINE].to_numpy(np.float64), wide[other].to_numpy(np.float64)

    @property
    def failed(self) -> int:
        """Runs that do not count."""
        return int((self.frame["ok"] == 0).sum())

    @property
    def spent_s(self) -> float:
        """Time of the user's program over all runs, in seconds."""
        return float(self.frame["wall_s"].sum())

    def _counted(self, condition: str) -> pd.DataFrame:
        return self.frame[(self.frame["condition"] == condition) & (self.frame["ok"] == 1)]


def write_runs(rows: Sequence[Row]) -> bytes:
    """Render rows as CSV: fixed columns first, metrics sorted by name; floats keep all their digits."""
    metrics = sorted({name for row in rows for name in row} - set(FIXED))
    frame = pd.DataFrame(list(rows), columns=[*FIXED, *metrics])
    return frame.to_csv(index=False, lineterminator="\n").encode()


def read_runs(data: bytes, source: str) -> RunTable:
    """Read what `write_runs` wrote; after this gate the table is trusted."""
    frame = pd.read_csv(io.BytesIO(data))
    missing = [name for name in FIXED if name not in frame]
    if missing:
        raise VgoError(f"{source} has no column {missing[0]}; it is not a run table of vgo-agent.")
    return RunTable(frame, tuple(described(str(name) for name in frame if name not in FIXED)))


def described(names: Iterable[str]) -> list[Column]:
    """Describe metric columns by the layers that define them; a column that no layer knows is an error."""
    known = {column.name: column for layer in load_layers().values() for column in layer.columns}
    try:
        return [known[name] for name in names]
    except KeyError as unknown:
        raise VgoError(f"No layer describes the column {unknown}; add it to a file of layers/.") from unknown
