"""The run table: one row a run, one column a metric; one gate writes it and one reads it."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..knowledge.errors import VgoError
from ..layers.launcher import HOST
from ..layers.loader import load_layers
from ..layers.schema import Column, Layer
from .execution.said import SAID
from .execution.samples import ITERATION, SAMPLES, layer_of
from .many import FLEET, SLOT
from .row import BASELINE, FIXED, REQUIRED, Row
from .row import RUNS as RUNS
from .statistics.comparison.description import within
from .statistics.values import FloatArray, IntArray

LAYERS = "layers.json"
"""Artefact of a measuring call where layers or a launcher were used."""


class PairedOutcomes(NamedTuple):
    """Outcomes of both arms, shape (runs,), or of their samples, run after run."""

    baseline: FloatArray
    other: FloatArray
    whole: int
    """Samples of one run; 1 where runs are the samples."""
    hosts: IntArray | None
    """A number for the host of each; None where all were made on this machine."""

    @property
    def compared(self) -> tuple[FloatArray, FloatArray]:
        """Both arms without what hosts differ by."""
        if self.hosts is None:
            return self.baseline, self.other
        return within(self.baseline, self.other, self.hosts).arms


@dataclass(frozen=True)
class RunTable:
    """A validated table and what each of its metric columns means."""

    frame: pd.DataFrame
    columns: tuple[Column, ...]

    @property
    def names(self) -> frozenset[str]:
        """Metric columns."""
        return frozenset(column.name for column in self.columns)

    def outcome(self, condition: str = BASELINE) -> FloatArray:
        """Outcomes of the runs that count, in run order, shape (runs,)."""
        return self.column("outcome", condition)

    def column(self, name: str, condition: str = BASELINE) -> FloatArray:
        """One column over the runs that count, shape (runs,)."""
        return np.asarray(self._counted(name, condition), dtype=np.float64)

    def text(self, name: str, condition: str = BASELINE) -> list[str | None]:
        """One column of text over the runs that count; None where the cell is missing."""
        return [None if pd.isna(cell) else str(cell) for cell in self._counted(name, condition)]

    def paired(self, other: str, against: str = BASELINE, block: int = 1, values: str = "outcome") -> PairedOutcomes:
        """Outcomes of the complete pairs, `against` and `other`, pair i with pair i; of samples, sample with sample.

        `values` names another column than the outcome. With `block`, that many pairs in a row belong together, and
        blocks are the whole.
        """
        index = ["pair", *(name for name in (ITERATION,) if name in self.frame)]
        counted = self.frame[self.frame["ok"] == 1]
        wide = counted.pivot(index=index, columns="condition", values=values)
        for condition in (against, other):
            if condition not in wide:
                wide[condition] = np.nan
        wide = wide[[against, other]].dropna()
        whole = 1
        if ITERATION in index and len(wide):
            wide, whole = _of_equal_length(wide, wide.index.get_level_values("pair").to_numpy())
        if block > 1 and len(wide):
            wide, whole = _of_equal_length(wide, wide.index.get_level_values("pair").to_numpy() // block)
        hosts = None
        if SLOT.name in self.names:  # a pair is made on one host
            names = counted.groupby("pair")[HOST.name].first()
            hosts = pd.factorize(names.loc[wide.index.get_level_values("pair")])[0]
        return PairedOutcomes(wide[against].to_numpy(np.float64), wide[other].to_numpy(np.float64), whole, hosts)

    def _counted(self, name: str, condition: str) -> pd.Series[Any]:
        frame = self.frame
        return frame[name][(frame["condition"] == condition) & (frame["ok"] == 1)]


def _of_equal_length(wide: pd.DataFrame, groups: IntArray) -> tuple[pd.DataFrame, int]:
    """Cut groups of rows to the length of the shortest, since only wholes of equal length are compared."""
    grouped = wide.groupby(groups)
    whole = int(grouped.size().min())
    return wide[(grouped.cumcount() < whole).to_numpy()], whole


def write_runs(rows: Sequence[Row]) -> bytes:
    """Render rows as CSV: fixed columns first, metrics sorted by name; floats keep all their digits."""
    metrics = sorted({name for row in rows for name in row} - {*FIXED, SAID})
    frame = pd.DataFrame(list(rows), columns=[*FIXED, *metrics])
    return frame.to_csv(index=False, lineterminator="\n").encode()


def outcomes_of(rows: Sequence[Row], source: str) -> RunTable:
    """Read rows that are still being made as a table of outcomes, and of the hosts that they were made on."""
    needed = {ITERATION, *FIXED, *(column.name for column in FLEET.columns)}
    bare = [{name: row[name] for name in needed & row.keys()} for row in rows]
    return read_runs(write_runs(bare), source, (layer_of(bare), FLEET))


def read_runs(data: bytes, source: str, layers: Iterable[Layer] | None = None) -> RunTable:
    """Read what `write_runs` wrote; after this gate the table is trusted.

    Its metric columns mean what `layers` say; None: what the shipped ones say. Numbers are float64 with NaN where a
    cell is missing, text is of dtype object.
    """
    header = pd.read_csv(io.BytesIO(data), nrows=0).columns
    missing = [name for name in REQUIRED if name not in header]
    if missing:
        raise VgoError(f"{source} has no column {missing[0]}; it is not a run table of vgo-agent.")
    columns = tuple(described((str(name) for name in header if name not in FIXED), layers))
    texts = {column.name: str for column in columns if column.type == "text"} | {"layers": str, "failure": str}
    # Only an empty cell is missing: a text may well be `NA` or `None`.
    frame = pd.read_csv(io.BytesIO(data), dtype=texts, keep_default_na=False, na_values=[""])
    for name in ("layers", "failure"):
        frame[name] = frame[name].fillna("") if name in frame else ""
    return RunTable(frame, columns)


def described(names: Iterable[str], layers: Iterable[Layer] | None = None) -> list[Column]:
    """Describe metric columns by the layers that define them; a column that no layer knows is an error."""
    layers = tuple(load_layers().values() if layers is None else layers)
    return [_described(name, layers) for name in names]


def _described(name: str, layers: Sequence[Layer]) -> Column:
    for layer in layers:
        if column := layer.column(name):
            return column
    raise VgoError(f"No layer describes the column {name}; add it to a file of layers/.")


def artefacts(
    rows: Sequence[Row], layers: Mapping[str, Layer], beside: Mapping[str, bytes] | None = None
) -> dict[str, bytes]:
    """What a measuring call leaves: its table, by spec the layers that say what the columns mean, the executor's."""
    if any(ITERATION in row for row in rows):
        layers = {**layers, SAMPLES: layer_of(rows)}
    table = {RUNS: write_runs(rows), **(beside or {})}
    return table | {LAYERS: write_layers(layers)} if layers else table


def write_layers(layers: Mapping[str, Layer]) -> bytes:
    """Render layers as they are now, whatever becomes of their files."""
    shown = {spec: layer.model_dump(mode="json") for spec, layer in layers.items()}
    return json.dumps(shown, indent=1, sort_keys=True, ensure_ascii=False).encode() + b"\n"


def read_layers(data: bytes) -> dict[str, Layer]:
    """Read what `write_layers` wrote."""
    try:
        return {spec: Layer.model_validate(shown) for spec, shown in json.loads(data).items()}
    except ValueError as error:
        raise VgoError(
            f"{LAYERS} has another form than this version of vgo-agent writes; read the run with that one."
        ) from error
