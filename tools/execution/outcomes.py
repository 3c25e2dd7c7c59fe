"""What a run gave: its outcome or its samples, or in words why it does not count and whose failure it may be."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ...layers.schema import Column, Layer, Value
from ...layers.wrapper import shortened
from ..row import Row
from ..statistics.values import LARGEST, SMALLEST, countable
from ..subject import Subject
from .launch import Run

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
_COMPLAINT = re.compile("error|fail|cannot|could not|unable|denied|not found|no such", re.IGNORECASE)


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


class RunOutcome(NamedTuple):
    """What a run gave, or why it does not count."""

    outcome: float | None
    """None where it does not count, and where its samples have each their own."""
    failure: str = ""
    samples: Sequence[Sample] = ()
    short: str = ""
    """The failure in a few words, for tables and verdicts: `exit 1, OSError: no space`."""


def judge(run: Run, subject: Subject, through: Sequence[Layer] = (), limit_s: float | None = None) -> RunOutcome:
    """Read a run's outcome or its samples, or the reason why the run does not count.

    `through` are the layers and the launcher that the program was started through, the outermost first: what looks like
    the program's failure may be theirs, so the reason names them. `limit_s` is when the run would have been ended.
    """
    outcome, failure, samples, short = _outcome(run, subject, limit_s or subject.timeout_s)
    if not failure:
        return RunOutcome(outcome, "", samples)
    short = short or failure
    if run.timed_out and not all(layer.here for layer in through):
        failure += " here, while what the launcher started elsewhere may go on"
    theirs = next((layer for layer in through if run.exit_code in layer.exits and not run.timed_out), None)
    if theirs is not None:
        whole = f"{theirs.named} ended with {run.exit_code}, {theirs.exits[run.exit_code]}{_said(run)}"
        return RunOutcome(None, whole, short=whole)
    cure = next((cure for layer in through if (cure := layer.cure_for(run.error))), "")
    return RunOutcome(None, f"the program{_started(through)} {failure}{f': {cure}' * bool(cure)}", short=short)


def _outcome(run: Run, subject: Subject, limit_s: float | None) -> RunOutcome:
    """Give the outcome or the samples, or the words that follow `the program`."""
    if run.timed_out:
        why = "--timeout" if limit_s == subject.timeout_s else "far longer than the baseline, or than the budget"
        short = f"{'stopped itself (SIGSTOP), ' * run.stopped}did not end within {limit_s:.3g} s"
        return RunOutcome(None, f"{short} ({why}) and was ended with its children", short=short)
    if run.stopped_for_terminal:
        return RunOutcome(None, "stopped because it wants a terminal; give it its input in a file or as arguments")
    if run.exit_code != 0:
        how = f"was ended by signal {-run.exit_code}" if run.exit_code < 0 else f"exited with {run.exit_code}"
        said = _last_line(run)
        short = f"signal {-run.exit_code}" if run.exit_code < 0 else f"exit {run.exit_code}"
        return RunOutcome(None, how + _said(run), short=f"{short}, {said}" if said else short)
    if subject.metric is None:
        return RunOutcome(run.wall_ns / 1e9)
    if subject.per_iteration is not None and run.output_left_out:
        printed, kept = (len(run.output) + run.output_left_out) / 1e6, len(run.output) / 1e6
        return RunOutcome(
            None, f"printed {printed:.0f} MB, of which {kept:.0f} MB are kept: samples would be lost; print less"
        )
    if subject.per_iteration is not None:
        return _samples(run.output, subject.per_iteration, subject.metric)
    return _metric(run.output, subject.metric, run.output_left_out)


def _started(through: Sequence[Layer]) -> str:
    names = " and ".join(layer.named for layer in through)
    return f", started through {names}," if names else ""


def _said(run: Run) -> str:
    return f" and said: {said}" if (said := _last_line(run)) else ""


def _last_line(run: Run) -> str:
    """The last line that tells of an error, else the last of words: docker ends with advice, mpirun with dashes."""
    lines = run.error.decode(errors="replace").strip().splitlines()
    said = [line for line in lines if any(map(str.isalnum, line))] or lines
    said = [line for line in said if _COMPLAINT.search(line)] or said
    return shortened(_printable(said[-1])) if said else ""


def _samples(output: bytes, form: str, metric: str) -> RunOutcome:
    try:
        return RunOutcome(None, "", read_samples(output, form, metric))
    except NoSamples as broken:
        return RunOutcome(None, _printable(str(broken)))


def _metric(output: bytes, pattern: str, left_out: int = 0) -> RunOutcome:
    """Read the last match as the outcome: what a program prints last is its total; of much, the middle is left out."""
    found = re.findall(pattern.encode(), output, re.MULTILINE)
    if not found:
        text = output.decode(errors="replace").strip()
        seen = f"printed {_printable(text)[:120]!r}" if text else "printed nothing on standard output"
        where = f", and {left_out / 1e6:.0f} MB more that are not kept" if left_out else ""
        return RunOutcome(None, f"{seen}{where}, where --metric {pattern!r} finds nothing")
    last = found[-1][0] if isinstance(found[-1], tuple) else found[-1]
    try:
        value = float(last)
    except ValueError:
        value = math.nan
    if not countable(value):
        said = _printable(last.decode(errors="replace"))[:60]
        bounds = f" from {SMALLEST:g} to {LARGEST:g}" * math.isfinite(value)
        return RunOutcome(None, f"printed {said!r} where --metric expects a number{bounds}")
    return RunOutcome(value)


def _printable(text: str) -> str:
    """Keep a hostile or binary output from steering the terminal."""
    return "".join(char if char.isprintable() else " " for char in text)
