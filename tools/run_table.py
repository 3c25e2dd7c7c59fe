"""The run table: one row a run, one column a metric; one gate writes it and one reads it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from ..knowledge.errors import VgoError
from ..layers.launcher import HOST
from ..layers.loader import load_layers
from ..layers.schema import Column, Layer
from .execution.capture import SAID
from .execution.outcomes import ITERATION, SAMPLES, layer_of
from .hosts import FLEET, SLOT
from .row import BASELINE, FIXED, REQUIRED, TEXTS, Row, rows_csv
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

    frame: pl.DataFrame
    """Texts, and numbers as float64; a cell that is missing is null, except that `layers` and `failure` are empty."""
    columns: tuple[Column, ...]

    @classmethod
    def of(cls, frame: pl.DataFrame, source: str, layers: Iterable[Layer] | None = None) -> RunTable:
        """Check a table and give its columns their types; after this gate it is trusted.

        Its metric columns mean what `layers` say; None: what the shipped ones say.
        """
        if missing := [name for name in REQUIRED if name not in frame.columns]:
            raise VgoError(f"{source} has no column {missing[0]}; it is not a run table of vgo-agent.")
        columns = tuple(described((name for name in frame.columns if name not in FIXED), layers))
        texts = {*TEXTS, *(column.name for column in columns if column.type == "text")}
        said = (pl.lit("").alias(name) for name in ("layers", "failure") if name not in frame.columns)
        try:
            typed = frame.with_columns(
                pl.col(name).cast(pl.String) if name in texts else pl.col(name).cast(pl.Float64).fill_nan(None)
                for name in frame.columns
            )
        except pl.exceptions.InvalidOperationError as error:
            raise VgoError(
                f"{source} has words where numbers belong ({str(error).splitlines()[0]}): mend it."
            ) from error
        return cls(typed.with_columns(said).with_columns(pl.col("layers", "failure").fill_null("")), columns)

    @property
    def names(self) -> frozenset[str]:
        """Metric columns."""
        return frozenset(column.name for column in self.columns)

    def outcome(self, condition: str = BASELINE) -> FloatArray:
        """Outcomes of the runs that count, in run order, shape (runs,)."""
        return self.column("outcome", condition)

    def column(self, name: str, condition: str = BASELINE) -> FloatArray:
        """One column over the runs that count, NaN where a cell is missing; shape (runs,)."""
        return self.frame[name].filter(self._counts(condition)).to_numpy()

    def text(self, name: str, condition: str = BASELINE) -> list[str | None]:
        """One column of text over the runs that count; None where the cell is missing."""
        return self.frame[name].filter(self._counts(condition)).to_list()

    def paired(self, other: str, against: str = BASELINE, block: int = 1, values: str = "outcome") -> PairedOutcomes:
        """Outcomes of the complete pairs, `against` and `other`, pair i with pair i; of samples, sample with sample.

        `values` names another column than the outcome. With `block`, that many pairs in a row belong together, and
        blocks are the whole.
        """
        keys = [name for name in ("pair", ITERATION) if name in self.frame.columns]
        host = [HOST.name] if SLOT.name in self.names else []
        there = self.frame.select(*keys, *host, values)
        first, second = (there.filter(self._counts(arm)).drop_nulls(values) for arm in (against, other))
        wide = first.join(second, on=keys, validate="1:1", suffix=" of other").sort(keys)
        whole = 1
        if ITERATION in keys:
            wide, whole = _of_equal_length(wide, pl.col("pair"))
        if block > 1:
            wide, whole = _of_equal_length(wide, pl.col("pair") // block)
        hosts = np.unique(wide[HOST.name].to_numpy(), return_inverse=True)[1] if host else None  # a pair is made on one
        return PairedOutcomes(wide[values].to_numpy(), wide[f"{values} of other"].to_numpy(), whole, hosts)

    def _counts(self, condition: str) -> pl.Series:
        return (self.frame["condition"] == condition) & (self.frame["ok"] == 1)


def _of_equal_length(wide: pl.DataFrame, group: pl.Expr) -> tuple[pl.DataFrame, int]:
    """Cut groups of rows to the length of the shortest, since only wholes of equal length are compared."""
    whole = wide.select(pl.len().over(group).min()).item() or 1
    return wide.filter(pl.int_range(pl.len()).over(group) < whole), whole


def write_runs(rows: Sequence[Row]) -> bytes:
    """Render rows as CSV: fixed columns first, metrics sorted by name."""
    return rows_csv(rows, [*FIXED, *sorted({name for row in rows for name in row} - {*FIXED, SAID})])


def outcomes_of(rows: Sequence[Row], source: str) -> RunTable:
    """Take rows that are still being made as a table of outcomes, and of the hosts that they were made on."""
    there = {name for row in rows for name in row} & {ITERATION, *(column.name for column in FLEET.columns)}
    cells = {name: [row.get(name) for row in rows] for name in (*FIXED, *there)}
    return RunTable.of(pl.DataFrame(cells, strict=False), source, (layer_of([dict.fromkeys(there)]), FLEET))


def read_runs(data: bytes, source: str, layers: Iterable[Layer] | None = None) -> RunTable:
    """Read what `write_runs` wrote: only an empty cell is missing, for a text may well be `NA` or `None`."""
    return RunTable.of(pl.read_csv(data, infer_schema=False), source, layers)


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
