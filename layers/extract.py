"""Read the columns of a layer from what a run said: by regex, JSONPath, CSV column or shell filter."""

from __future__ import annotations

import csv
import json
import math
import os
import re
import signal
import statistics
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from .schema import Column, Extract, Layer, Value
from .search import Searcher, TooLong

if TYPE_CHECKING:
    import jsonpath

LIMIT_S = 10.0
"""A shell filter that takes longer, or a regex that takes more CPU time, gives nothing and is not tried again."""
TEXTS = {"output": "standard output", "error": "standard error", "both": "output and errors", "file": "file ($FILE)"}
DELIMITERS = ",;\t|"
_UNFIT = re.compile(r"[^A-Za-z0-9_.-]+")
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?")
_GROUPED_BY_POINTS = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+,\d+|[+-]?[1-9]\d{0,2}(\.\d{3}){2,}")
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
_BLANKS = re.compile("(?<=\\d)[\u00a0\u202f\u2009](?=\\d{3})")
_NUMBERS: Mapping[str, Callable[[list[float]], float]] = {
    "last": lambda values: values[-1],
    "first": lambda values: values[0],
    "sum": math.fsum,
    "mean": statistics.fmean,
    "min": min,
    "max": max,
}

Found = tuple[str, Any]
"""What fills in the `*` of the name (empty without one), and a value as it was found."""
Texts = Mapping[str, str]
"""What a run said, by `from`."""


class Collector:
    """Reads the columns of one layer from each run, and remembers which were never found."""

    def __init__(self, layer: Layer, environment: Mapping[str, str] | None = None, limit_s: float = LIMIT_S) -> None:
        """Take the columns that have an extraction; shell filters get `environment` beside that of this process."""
        self._places = {column.name: place for column, place in zip(layer.columns, layer.lines, strict=False)}
        self._own = bool(layer.place)
        self._columns = [(column, column.extract) for column in layer.columns if column.extract is not None]
        self._environment = dict(os.environ) | dict(environment or {})
        self._runs = 0
        self._limit_s = limit_s
        self._searcher = Searcher()
        self._met: set[str] = set()
        self._slow: set[str] = set()
        self.sources = frozenset(extract.text for _, extract in self._columns)
        """Which texts it wants."""

    def collect(self, texts: Texts) -> dict[str, Value]:
        """Return the columns of one run; what is not found, or is no number where one is wanted, is missing."""
        self._runs += 1
        values: dict[str, Value] = {}
        filtered: dict[tuple[str, str], str] = {}
        for column, extract in self._columns:
            if way(extract) in self._slow:
                continue
            try:
                mine = self._cells(column, extract, texts[extract.text], filtered)
            except TooLong:
                self._slow.add(way(extract))
                continue
            if mine:
                self._met.add(column.name)
            values |= {name: value for name, value in mine.items() if name not in values}
        return values

    def close(self) -> None:
        """End the process that searches."""
        self._searcher.close()

    def _cells(
        self, column: Column, extract: Extract, text: str, filtered: dict[tuple[str, str], str]
    ) -> dict[str, Value]:
        if extract.regex is not None:
            found = self._searcher.finds(extract.regex, text, "*" in column.name, self._limit_s)
            return cells(column, extract, text, found)
        if extract.shell is not None:
            filter_ = (extract.text, extract.shell)
            if filter_ not in filtered:
                filtered[filter_] = run_filter(extract.shell, text, self._environment, self._limit_s)
            text = filtered[filter_]
        return cells(column, extract, text, finds(column, extract, text))

    def absent(self) -> dict[str, str]:
        """Name the columns that no run gave."""
        if not self._runs:
            return {}
        return {
            column.name: self._why(extract, self._places[column.name])
            for column, extract in self._columns
            if column.name not in self._met or way(extract) in self._slow
        }

    def _why(self, extract: Extract, place: str) -> str:
        if way(extract) in self._slow:
            return (
                f"its {way(extract)} in {place} took longer than {self._limit_s:g} s, so it was ended and is not "
                "tried again: make it simpler"
            )
        runs = f"{self._runs} runs" if self._runs > 1 else "1 run"
        return (
            f"its {way(extract)} in {place} found nothing for it in the {TEXTS[extract.text]} of {runs}: "
            f"{'correct it, or ' if self._own else ''}see whether the program or the wrapper prints it"
        )


def way(extract: Extract) -> str:
    """Name how a value is found."""
    if extract.regex is not None:
        return f"regex '{extract.regex}'"
    if extract.json_path is not None:
        return f"JSONPath '{extract.json_path}'"
    return f"CSV column '{extract.csv}'" if extract.csv is not None else f"shell filter '{extract.shell}'"


def cells(column: Column, extract: Extract, text: str, finds: Iterable[Found]) -> dict[str, Value]:
    """Read one column, or all that its `*` stands for, from what was found in a text."""
    found: defaultdict[str, list[Any]] = defaultdict(list)
    for name, value in finds:
        found[name].append(value)
    if not found and extract.take in ("count", "distinct") and "*" not in column.name and text.strip():
        return {column.name: 0.0}
    if not found and extract.otherwise is not None and "*" not in column.name and text.strip():
        return {column.name: extract.otherwise}
    values = {}
    for name, raw in found.items():
        value = reduced(column, extract, raw)
        if value is not None:
            values[column.name.replace("*", _UNFIT.sub("_", name).strip("_"), 1)] = value
    return values


def finds(column: Column, extract: Extract, text: str) -> Iterable[Found]:
    """Find every value in the text, that of a shell filter being filtered already; a regex is not searched here."""
    if extract.json_path is not None:
        return by_path(extract.json_path, extract.where, extract.key, text)
    if extract.csv is not None:
        return by_csv(extract.csv, extract.where, extract.key, text)
    if "*" in column.name:
        pairs = (line.split(None, 1) for line in text.splitlines())
        return ((pair[0].removesuffix(":"), pair[1]) for pair in pairs if len(pair) == 2)
    lines = text.splitlines() if column.type == "text" else text.split()
    return [("", line) for line in lines if line.strip()]


def reduced(column: Column, extract: Extract, raw: list[Any]) -> Value | None:
    """Make one value of those that were found; None where it is no number and should be one."""
    if extract.take == "count":
        return float(len(raw))
    if extract.take == "distinct":
        return float(len(set(map(str, raw))))
    if column.type == "text":
        texts = [text for one in raw if one is not None and (text := str(one).strip())]
        return None if not texts else texts[0] if extract.take == "first" else texts[-1]
    if extract.take in ("first", "last"):
        raw = [raw[0 if extract.take == "first" else -1]]
    numbers = [number(one, column.unit) for one in raw]
    known = [one for one in numbers if one is not None]
    return _NUMBERS[extract.take](known) if len(known) == len(numbers) else None


def number(value: Any, unit: str = "") -> float | None:
    """Read a finite number, its unit after it or not, digits grouped as perf prints them or not; None where it is none.

    `1,234,567` is grouped; so is `1,234`, since perf prints counts so; `0,5` and `12,25` have a decimal comma.
    """
    if isinstance(value, bool | int | float):
        return float(value) if math.isfinite(value) else None
    text = _BLANKS.sub("", str(value).strip().removesuffix(unit).strip())
    if _GROUPED.fullmatch(text):
        text = text.replace(",", "")
    elif _GROUPED_BY_POINTS.fullmatch(text):
        text = text.replace(".", "").replace(",", ".")
    elif _DECIMAL_COMMA.fullmatch(text):
        text = text.replace(",", ".")
    try:
        read = float(text)
    except ValueError:
        return None
    return read if math.isfinite(read) and "_" not in text else None


def by_path(path: str, where: Mapping[str, str], key: str, text: str) -> Iterator[Found]:
    """Find what a JSONPath selects in every record: the whole text, its elements, or each line that is JSON."""
    compiled = compiled_path(path)
    for record in records(text, split=bool(where or key)):
        if where or key:
            if not isinstance(record, dict) or any(str(record.get(name)) != wanted for name, wanted in where.items()):
                continue
            name = str(record.get(key, "")) if key else ""
            if key and not name:
                continue
        else:
            name = ""
        yield from ((name, value) for value in compiled.findall(record) if value is not None)


@cache
def compiled_path(path: str) -> jsonpath.JSONPath | jsonpath.CompoundJSONPath:
    """Compile a JSONPath once."""
    import jsonpath  # Takes a tenth of a second, and few layers need it.

    return jsonpath.compile(path)


def records(text: str, split: bool) -> Iterator[Any]:
    """Read the text as one JSON document, or else each line that is one; `split` gives the elements of an array."""
    try:
        document = json.loads(text)
    except ValueError:
        for line in text.splitlines():
            if line.lstrip()[:1] in ("{", "["):
                with suppress(ValueError):
                    yield json.loads(line)
        return
    if split and isinstance(document, list):
        yield from document
    else:
        yield document


def by_csv(column: str, where: Mapping[str, str], key: str, text: str) -> Iterator[Found]:
    """Find the cells of a column by its header, or by its number from 1 where there is none; `#` starts a comment."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    delimiter = max(DELIMITERS, key="\n".join(lines).count)
    rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=delimiter)]
    wanted = [column, *where, *([key] if key else [])]
    if all(name.isdigit() for name in wanted):
        header = {name: int(name) - 1 for name in wanted}
    else:
        top = next((index for index, row in enumerate(rows) if set(wanted) <= set(row)), None)
        if top is None:
            return
        header = {name: rows[top].index(name) for name in wanted}
        rows = rows[top + 1 :]
    for row in rows:
        if len(row) > max(header.values()) and all(row[header[name]] == value for name, value in where.items()):
            yield row[header[key]] if key else "", row[header[column]]


def run_filter(script: str, text: str, environment: Mapping[str, str], limit_s: float = LIMIT_S) -> str:
    """Run a shell filter over a text; empty when it fails. Raises TooLong after so many seconds."""
    child = subprocess.Popen(
        ["/bin/sh", "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=dict(environment),
        start_new_session=True,
    )
    try:
        output, _ = child.communicate(text.encode(errors="replace"), timeout=limit_s)
    except subprocess.TimeoutExpired as expired:
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        with suppress(ChildProcessError):  # the process that inherits the orphans of runs inherits its children too
            while True:
                os.waitpid(-child.pid, 0)
        raise TooLong from expired
    return output.decode(errors="replace") if child.returncode == 0 else ""
