"""A recorded case without its truth: as it lies in its folder, and as it is shown to whoever answers.

It is shown without the name of its program: an argument such as `page-faults` would say what is to be found out.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import polars as pl
from polars.exceptions import PolarsError

from ...knowledge.errors import VgoError
from ...knowledge.files import read_model
from ...knowledge.schema import Mitigation
from ...layers.loader import load_layers
from ...layers.schema import Layer
from ...tools.layers_here import WORDS
from ...tools.row import BASELINE, FIXED, REQUIRED, Row
from ...tools.run_table import LAYERS, described, read_layers
from ...tools.subject import Allow, Limits, Subject
from .folders import CASE, RECORDING, TABLE
from .schema import SERIES, CaseFile, Recording, Series

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
        found: dict[int, dict[str, Row]] = {}
        for row in self.rows("pairs", mitigation):
            found.setdefault(row["pair"], {})[row["condition"]] = row
        whole = (found[pair] for pair in sorted(found) if found[pair].keys() == {BASELINE, mitigation})
        return tuple((pair[BASELINE], pair[mitigation]) for pair in whole)


@dataclass(frozen=True, eq=False)
class RecordedCase:
    """One case, read when it is first asked for. No two are equal, so that what is computed of one is kept by it."""

    folder: Path
    file: CaseFile
    recording: Recording
    layers: dict[str, Layer]
    """By spec, as they were when it was recorded."""
    ticket: object = field(default_factory=object)

    @cached_property
    def table(self) -> pl.DataFrame:
        """All rows, in the order in which they were made."""
        return pl.read_parquet(self.folder / TABLE)

    @cached_property
    def shown(self) -> ShownCase:
        """What whoever answers may see."""
        file = self.file
        return ShownCase(file.question, file.limits, _unnamed(self.recording), self.layers, self.table, self.ticket)


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


PROGRAM, DIRECTORY = "./program", "/job"


def _unnamed(recording: Recording) -> Recording:
    """Give it with a program without name and arguments, and files that are only counted.

    What preconditions ask of the program (is it Python, is it dynamic) stands in `machine` since it was recorded; only
    the hash of its file, by which it could be found, is left out.
    """
    words = _anonymous(recording.subject)
    told = _replaced(recording.model_dump(mode="json"), dict(sorted(words.items(), key=lambda one: -len(one[0]))))
    told["machine"]["program_sha256"] = ""
    told["subject"] |= {
        "command": [PROGRAM],
        "argv": [PROGRAM],
        "shell": False,
        "directory": DIRECTORY,
        "inputs": [words[path] for path in recording.subject.inputs],
    }
    return Recording.model_validate(told)


def _anonymous(subject: Subject) -> dict[str, str]:
    """What stands for each path, and for the name of each input."""
    paths = [word for word in (*subject.command, *subject.argv) if "/" in word]
    words = dict.fromkeys(paths, PROGRAM) | {subject.directory: DIRECTORY}
    for number, path in enumerate(subject.inputs, 1):
        words |= {PurePath(path).name: f"input-{number}", path: f"{DIRECTORY}/input-{number}"}
    return {word: other for word, other in words.items() if word not in (os.sep, os.curdir)}


def _replaced(value: Any, words: Mapping[str, str]) -> Any:
    """Replace words in every string; keys are left alone."""
    if isinstance(value, Mapping):
        return {key: _replaced(each, words) for key, each in value.items()}
    if isinstance(value, list):
        return [_replaced(each, words) for each in value]
    if isinstance(value, str):
        for word, other in words.items():
            value = value.replace(word, other)
    return value


DEFAULT = Limits().layers
"""What `diagnose` has unless it is told otherwise."""


class Given(NamedTuple):
    """What everybody who answers gets with every case."""

    layers: tuple[str, ...] = DEFAULT
    """By spec; `auto` and `all`: every one that was recorded and showed something."""
    allow: Allow = "system"
    """Nothing is really changed: the runs come from tables."""

    def to(self, case: RecordedCase) -> RecordedCase:
        """Give a case with it; a layer that was not recorded, or showed nothing, is not there, as on its machine."""
        profiling, every = case.recording.profiling, set(WORDS) & set(self.layers)
        there = (spec for spec in profiling.layers if every or spec in self.layers)
        layers = tuple(spec for spec in there if not silence(case.layers[spec], profiling.absent.get(spec, {})))
        limits = case.file.limits.model_copy(update={"layers": layers or DEFAULT, "allow": self.allow})
        return replace(case, file=case.file.model_copy(update={"limits": limits}))


USUAL = Given()


def given(layers: tuple[str, ...], allow: Allow | None) -> Given:
    """Check what was asked for, the usual where nothing was; raises VgoError for a layer that does not exist."""
    known = load_layers()
    for spec in layers:
        if spec not in known and spec not in WORDS:
            raise VgoError(f"There is no layer {spec!r} that a case could have; choose among {', '.join(known)}, auto.")
    return Given(layers or USUAL.layers, allow or USUAL.allow)


DIGITS = 9
"""Significant ones that are kept of a number: more are noise, and large."""
INTEGERS = ("order", "pair", "ok", "exit_code", "survivors")
TEXTS = (SERIES, TRIAL, "condition", "layers", "failure")


class Part(NamedTuple):
    """One series of runs."""

    series: Series
    trial: str | None
    """The mitigation that pairs were made for."""
    rows: Sequence[Row]


def write_table(path: Path, parts: Sequence[Part], layers: Iterable[Layer]) -> None:
    """Write the rows in the order given; metric columns are numbers unless a layer says that they are text."""
    names = sorted({name for part in parts for row in part.rows for name in row} - set(FIXED))
    texts = {column.name for column in described(names, layers) if column.type == "text"}
    kinds = dict.fromkeys(INTEGERS, pl.Int64) | dict.fromkeys((*TEXTS, *texts), pl.String)
    schema = {name: kinds.get(name, pl.Float64) for name in (SERIES, TRIAL, *FIXED, *names)}
    rows = [{SERIES: part.series, TRIAL: part.trial, **row} for part in parts for row in part.rows]
    columns = {name: [row.get(name) for row in rows] for name in schema}
    frame = pl.DataFrame(columns, schema=schema, strict=False)
    rounded = frame.with_columns(pl.col(pl.Float64).round_sig_figs(DIGITS))
    rounded.write_parquet(path, compression="zstd", compression_level=19, statistics=False)


def read_table(path: Path) -> pl.DataFrame:
    """Read it back whole; raise VgoError where it is truncated, broken or lacks a fixed column."""
    try:
        frame = pl.read_parquet(path)
    except (PolarsError, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise VgoError(f"{path} is not a whole parquet file ({reason}): restore it, or record again.") from error
    missing = [name for name in (SERIES, TRIAL, *REQUIRED) if name not in frame.columns]
    if missing:
        raise VgoError(f"{path} has no column {missing[0]}: record the case again.")
    return frame


DOES: dict[str, Any] = {
    "apply": True,
    "verify": True,
    "interleavable": True,
    "parameters": {"__all__": {"name", "default"}},
}
"""What is done and proved with the default values; words for a reader may change."""


def definition(mitigation: Mitigation) -> str:
    """Give the SHA-256 of what it does; fields that say nothing do not count, so that new ones change no digest."""
    does = mitigation.model_dump(mode="json", include=DOES, exclude_defaults=True)
    return hashlib.sha256(json.dumps(does, sort_keys=True).encode()).hexdigest()
