"""Samples that are not processes: each line that the program prints is one, with its own phases beside the outcome."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence

from ...layers.schema import Column, Layer, Value
from ..row import Row
from ..statistics.values import countable

PREFIX = "program."
RUN, ITERATION = f"{PREFIX}run", f"{PREFIX}iteration"
"""Columns that say where a sample comes from."""
SAMPLES = "program_samples"
"""Key of the layer that describes what a program prints for each sample."""
FORMATS = ("csv", "json")
"""Any other format is a regular expression with named groups."""
_UNFIT = re.compile(r"[^A-Za-z0-9_.-]+")

Sample = Mapping[str, Value]
"""Field to value, of one line; what reads as a number that can be computed with is one."""


class NoSamples(Exception):
    """What the program printed has no samples, or broken ones: the words that follow `the program`."""


def read_samples(output: bytes, form: str, metric: str) -> Sequence[Sample]:
    """Read every sample that has the field `metric`; raise NoSamples where there is none or it is no such number."""
    lines = output.decode(errors="replace").splitlines()
    readers = {"csv": _csv, "json": _json}
    found = list(readers[form](lines, metric) if form in readers else _matches(lines, form))
    samples = [{name: number(value) for name, value in fields.items()} for fields in found]
    if not samples:
        raise NoSamples(f"printed {len(lines)} lines, and none is a sample with the field {metric} ({words(form)})")
    for place, sample in enumerate(samples, start=1):
        if not isinstance(sample.get(metric), float):
            raise NoSamples(
                f"printed {str(sample.get(metric))[:60]!r} as {metric} of sample {place}, which is no number"
            )
    return samples


def number(value: object) -> Value:
    """Return a number that can be computed with where the text is one, else the text."""
    text = "" if value is None else str(value).strip()
    try:
        return read if "_" not in text and countable(read := float(text)) else text
    except ValueError:
        return text


def words(form: str) -> str:
    """Name a format for people."""
    return {"csv": "CSV with a header", "json": "JSON lines"}.get(form, f"/{form}/")


def spread(row: Row, samples: Sequence[Sample], metric: str, run: int) -> Iterator[Row]:
    """Make a row of each sample; its share of the run's time, so that rows add up, and what counts once stays once."""
    for place, sample in enumerate(samples):
        yield {
            **row,
            "order": row["order"] + place,
            "ok": 1,
            "survivors": row["survivors"] if place == 0 else 0,
            "outcome": sample[metric],
            "wall_s": row["wall_s"] / len(samples),
            RUN: run,
            ITERATION: place,
            **{column_name(name): value for name, value in sample.items() if name != metric},
        }


def first_of_run(row: Row) -> bool:
    """Tell whether a row is the first of its run, as every row is where samples are processes."""
    return bool(row.get(ITERATION, 0) == 0)


def runs_of(rows: Sequence[Row]) -> list[list[Row]]:
    """Gather rows by run."""
    runs: list[list[Row]] = []
    for row in rows:
        if first_of_run(row) or not runs:
            runs.append([])
        runs[-1].append(row)
    return runs


def column_name(field: str) -> str:
    """Name the column of a field that the program prints."""
    return f"{PREFIX}{_UNFIT.sub('_', field).strip('_') or 'field'}"


def layer_of(rows: Sequence[Row]) -> Layer:
    """Describe the columns that samples gave; one that is text in any row is text."""
    texts: dict[str, bool] = {}
    for row in rows:
        for name, value in row.items():
            if name.startswith(PREFIX):
                texts[name] = texts.get(name, False) or isinstance(value, str)
    columns = [_described(name, text) for name, text in texts.items()]
    return Layer(key=SAMPLES, description="What the program printed for each sample.", columns=tuple(columns))


def _described(name: str, text: bool) -> Column:
    if name == RUN:
        return Column(name=name, description="Run that printed the sample.", unit="run", role="setting", level=True)
    if name == ITERATION:
        return Column(name=name, description="Place of the sample in its run.", unit="place", level=True)
    return Column(
        name=name,
        description="A field that the program printed for each sample.",
        unit="" if text else unit_of(name),
        role="setting" if text else "factor",
        type="text" if text else "number",
        source="standard output",
    )


def unit_of(field: str) -> str:
    """Take the unit from the end of a field's name, as in `decode_ms`; empty where it has none."""
    last = field.rpartition("_")[2].lower()
    return last if last in ("s", "ms", "us", "ns", "bytes", "kb", "mb", "count") else ""


def _csv(lines: Sequence[str], metric: str) -> Iterator[Mapping[str, object]]:
    """The table starts at the line that names the field; lines of another width are not of it."""
    header: list[str] = []
    for cells_of in csv.reader(lines):
        row = [cell.strip() for cell in cells_of]
        if metric in row:
            header = row
        elif header and len(row) == len(header):
            yield dict(zip(header, row, strict=True))


def _json(lines: Sequence[str], metric: str) -> Iterator[Mapping[str, object]]:
    for line in lines:
        if not line.lstrip().startswith("{"):
            continue
        try:
            document = json.loads(line)
        except ValueError:
            continue  # a line of something else that begins with a brace
        fields = dict(_flat(document))
        if metric in fields:
            yield fields


def _flat(document: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Name what is nested with dots."""
    for name, value in document.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        elif not isinstance(value, list):
            yield f"{prefix}{name}", value


def _matches(lines: Sequence[str], pattern: str) -> Iterator[Mapping[str, object]]:
    for line in lines:
        for match in re.finditer(pattern, line):
            yield {name: value for name, value in match.groupdict().items() if value is not None}
