"""A recorded case without its truth: as it lies in its folder, and as it is shown to whoever answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import polars as pl

from ...knowledge.errors import VgoError
from ...knowledge.files import read_model
from ...layers.schema import Layer
from ...tools.row import BASELINE, Row
from ...tools.run_table import LAYERS, read_layers
from ...tools.subject import Limits
from .folders import CASE, RECORDING, TABLE
from .schema import SERIES, CaseFile, Recording, Series
from .unnamed import unnamed

TRIAL = "trial"
"""Column of the table: the mitigation that a pair was made for."""


@dataclass(frozen=True, eq=False)
class ShownCase:
    """What whoever answers may see of a case: no name, path, tag or word of the one who made it."""

    question: str
    """As a user asks, in symptoms."""
    limits: Limits
    recording: Recording
    """Of a program without a name."""
    layers: dict[str, Layer]
    """By spec, as they were when it was recorded."""
    table: pl.DataFrame
    """All rows, in the order in which they were made."""
    ticket: object
    """Says nothing; by it the one who knows the truth finds the case again."""

    def rows(self, series: Series, trial: str | None = None) -> tuple[Row, ...]:
        """Rows of one series, of one mitigation's pairs; cells that a run did not have are left out."""
        kept = self.table.filter(pl.col(SERIES) == series)
        if trial is not None:
            kept = kept.filter(pl.col(TRIAL) == trial)
        kept = kept.drop(SERIES, TRIAL)
        # A column that no run of this series had would only be carried along.
        kept = kept[[column.name for column in kept if column.null_count() < kept.height]]
        return tuple({name: cell for name, cell in row.items() if cell is not None} for row in kept.to_dicts())

    def pairs(self, mitigation: str) -> tuple[tuple[Row, Row], ...]:
        """Complete pairs of a mitigation in the order in which they were made: the baseline run, then the other."""
        return tuple(_pairs(self.rows("pairs", mitigation), mitigation))


@dataclass(frozen=True)
class RecordedCase:
    """One case; its table is read when it is first asked for."""

    folder: Path
    file: CaseFile
    recording: Recording
    layers: dict[str, Layer]
    """By spec, as they were when it was recorded."""
    ticket: object = field(default_factory=object, compare=False)

    @cached_property
    def table(self) -> pl.DataFrame:
        """All rows, in the order in which they were made."""
        return pl.read_parquet(self.folder / TABLE)

    @cached_property
    def shown(self) -> ShownCase:
        """What whoever answers may see."""
        file = self.file
        return ShownCase(file.question, file.limits, unnamed(self.recording), self.layers, self.table, self.ticket)


def _pairs(rows: tuple[Row, ...], mitigation: str) -> Iterator[tuple[Row, Row]]:
    found: dict[int, dict[str, Row]] = {}
    for row in rows:
        found.setdefault(row["pair"], {})[row["condition"]] = row
    for pair in sorted(found):
        if found[pair].keys() == {BASELINE, mitigation}:
            yield found[pair][BASELINE], found[pair][mitigation]


def silence(layer: Layer, absent: Mapping[str, str]) -> str:
    """Say why a layer that was on showed nothing in any run, as it may turn out; empty where it showed something."""
    reasons = [absent[column.name] for column in layer.columns if column.name in absent]
    return reasons[0] if reasons and len(reasons) == len(layer.columns) else ""


def read_case(folder: Path) -> RecordedCase:
    """Read a case without its truth; raises VgoError for a file that is missing or broken."""
    try:
        layers = (folder / LAYERS).read_bytes()
    except OSError as error:
        raise VgoError(f"{folder / LAYERS} cannot be read ({error.strerror}): restore it, or record again.") from error
    file, recording = read_model(folder / CASE, CaseFile), read_model(folder / RECORDING, Recording)
    return RecordedCase(folder, file, recording, read_layers(layers))
