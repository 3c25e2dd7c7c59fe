"""CSV and its kin: any separator, a header line, one row a run."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import polars as pl

from ....knowledge.errors import VgoError
from ..mapping import meant, read_mapping
from ..recorded import HEAD, Format, RecordedRuns, TableSource, not_utf8
from .hyperfine import is_json

SEPARATORS = ",;\t|"
NULLS = ["NA", "N/A", "n/a", "<NA>", "#N/A", "nan", "NaN", "-nan", "NULL", "null", "<not supported>", "<not counted>"]
"""What counts as an empty cell; the last two are perf's."""
_GUESS_ROWS = 10_000
"""Rows from which polars guesses types; where a later row disagrees, all are asked, at 5 times the cost."""
_UNNAMED = re.compile(r"(Unnamed: \d+)?")
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
_DECIMAL_POINT = re.compile(r"[+-]?\d+\.\d+")
SIDECAR = ".columns.yaml"


class Dialect(NamedTuple):
    """How a text table is written."""

    separator: str
    decimal_comma: bool
    header: tuple[str, ...]


class DelimitedTable(NamedTuple):
    """What stands in a text table, and what was noticed while reading it."""

    frame: pl.DataFrame
    notes: tuple[str, ...]


def header_of(source: TableSource) -> tuple[str, ...]:
    """Return the fields of the first line, () where it is no text table."""
    if source.is_parquet or is_json(source):
        return ()
    return dialect_of(source).header


def dialect_of(source: TableSource) -> Dialect:
    """Tell the separator by the header line, and the decimal comma by the first lines."""
    lines = source.head.decode(errors="ignore").splitlines()[:50]
    if len(lines) == 1 and len(source.head) >= HEAD:
        raise VgoError(f"{source.given} has a first line of more than 1 MiB: give a header with fewer columns.")
    first = lines[0]
    separator = max(SEPARATORS, key=first.count) if any(mark in first for mark in SEPARATORS) else ","
    header, *cells = csv.reader(lines, delimiter=separator)
    flat = [cell.strip() for row in cells for cell in row]
    comma = (
        separator != "," and any(map(_DECIMAL_COMMA.fullmatch, flat)) and not any(map(_DECIMAL_POINT.fullmatch, flat))
    )
    return Dialect(separator, comma, tuple(name.strip() for name in header))


def read_table(source: TableSource, leave_out: Collection[str] = ()) -> DelimitedTable:
    """Read a text table with polars; names made distinct, an index without a name and empty lines dropped."""
    dialect = dialect_of(source)
    _refuse_header(source, dialect)
    names, notes = distinct(dialect.header)
    frame = parse(source.raw() if source.is_packed else source.path, source, dialect, names, leave_out)
    frame, dropped = _without_index(frame)
    frame, empty = _without_empty_rows(frame)
    frame, again = _without_headers(frame, source)
    return DelimitedTable(frame, (*notes, *dropped, *empty, *again))


def distinct(header: tuple[str, ...]) -> tuple[list[str], tuple[str, ...]]:
    """Give columns of the same name different ones: a, a_2, a_3."""
    repeated = [name for name, count in Counter(header).items() if count > 1 and name]
    taken = set(header)
    names: list[str] = []
    seen: Counter[str] = Counter()
    for name in header:
        seen[name] += 1
        if seen[name] > 1 or (not name and names):
            name = _free(name or "column", seen[name] if name else len(names) + 1, taken)
        taken.add(name)
        names.append(name)
    notes = [f"The header names {name} {seen[name]} times: read as {name}, {name}_2 ..." for name in repeated]
    return names, tuple(notes)


def parse(
    data: Path | bytes, source: TableSource, dialect: Dialect, names: list[str], leave_out: Collection[str] = ()
) -> pl.DataFrame:
    """Parse a text table into typed columns; what polars cannot parse is said in one sentence."""
    try:
        try:
            return _scan(data, source, dialect, names, leave_out, _GUESS_ROWS)
        except pl.exceptions.ComputeError as error:
            if "could not parse" not in str(error):
                raise
            return _scan(data, source, dialect, names, leave_out, None)
    except pl.exceptions.NoDataError as error:
        raise VgoError(f"{source.given} is empty: record runs into it, or name another file.") from error
    except pl.exceptions.ComputeError as error:
        raise _refusal(source, dialect, str(error)) from error
    except OSError as error:
        raise VgoError(f"{source.given} cannot be read ({error}): copy or record it again.") from error


def _scan(
    data: Path | bytes,
    source: TableSource,
    dialect: Dialect,
    names: list[str],
    leave_out: Collection[str],
    rows: int | None,
) -> pl.DataFrame:
    scan = partial(
        pl.scan_csv,
        separator=dialect.separator,
        decimal_comma=dialect.decimal_comma,
        new_columns=names,
        null_values=NULLS,
        glob=False,
    )
    texts = {name: pl.String for name in names if name in source.texts}
    # Of a path, polars would map the file to tell the types, and SIGBUS ends us where it becomes shorter meanwhile.
    guess = data if isinstance(data, bytes) else source.raw(rows)
    types = scan(guess, schema_overrides=texts, infer_schema_length=rows).collect_schema()
    return scan(data, schema=types).drop(leave_out, strict=False).collect(engine="streaming")


def _free(name: str, number: int, taken: set[str]) -> str:
    while f"{name}_{number}" in taken:
        number += 1
    return f"{name}_{number}"


def _refuse_header(source: TableSource, dialect: Dialect) -> None:
    if b"\r" in source.head and b"\n" not in source.head:
        raise VgoError(f"{source.given} ends its lines by CR alone: convert it, as in `tr '\\r' '\\n' < FILE > NEW`.")
    filled = [name for name in dialect.header if name]
    if filled and all(map(_is_number, filled)):
        raise VgoError(f"{source.given} has no header: put the names of the columns on its first line.")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _without_index(frame: pl.DataFrame) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Drop the index that pandas and R write in front, a column without a name that counts the rows."""
    first = frame.columns[0] if frame.width else "-"
    if not _UNNAMED.fullmatch(first):
        return frame, ()
    if frame.width > 1 and _counts_rows(frame[first]):
        return frame.drop(first), ("The first column has no name and counts the rows: left out.",)
    return frame.rename({first: "column_1"}), ("The first column has no name: read as column_1.",)


def _counts_rows(column: pl.Series) -> bool:
    if not column.dtype.is_integer() or column.null_count():
        return False
    return bool((column - pl.int_range(len(column), eager=True)).n_unique() == 1)


def _without_empty_rows(frame: pl.DataFrame) -> tuple[pl.DataFrame, tuple[str, ...]]:
    if not frame.height or not frame.to_series(0).null_count():
        return frame, ()
    kept = frame.filter(~pl.all_horizontal(pl.all().is_null()))
    empty = frame.height - kept.height
    return kept, ((f"{empty} empty lines were left out.",) if empty else ())


def _without_headers(frame: pl.DataFrame, source: TableSource) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Drop header lines that come again, as in tables that were joined, and read as numbers what they made text."""
    texts = [name for name, dtype in frame.schema.items() if dtype == pl.String]
    if len(texts) < frame.width or not texts:
        return frame, ()
    is_header = pl.all_horizontal(pl.col(name) == name for name in texts).fill_null(False)
    kept = frame.filter(~is_header)
    again = frame.height - kept.height
    if not again:
        return frame, ()
    numbers = {name: kept[name].cast(pl.Float64, strict=False) for name in texts if name not in source.texts}
    whole = [column for name, column in numbers.items() if column.null_count() == kept[name].null_count()]
    return kept.with_columns(whole), (f"The header stands in the file {again + 1} times: only rows of runs were read.",)


def _refusal(source: TableSource, dialect: Dialect, message: str) -> VgoError:
    if "utf-8" in message:
        return not_utf8(source.given)
    ragged = _first_long_line(source, dialect) if "more fields" in message else None
    if ragged:
        line, fields = ragged
        return VgoError(
            f"{source.given}, line {line} has {fields} fields, the header {len(dialect.header)}: "
            "mend the line or name every column in the header."
        )
    return VgoError(f"{source.given} is no table ({message.splitlines()[0]}): look for an unclosed quote and mend it.")


def _first_long_line(source: TableSource, dialect: Dialect) -> tuple[int, int] | None:
    reader = csv.reader(io.StringIO(source.text()), delimiter=dialect.separator)
    return next(((reader.line_num, len(row)) for row in reader if len(row) > len(dialect.header)), None)


def _plain(source: TableSource) -> RecordedRuns:
    frame, notes = read_table(source, source.leave_out)
    left = tuple(name for name in source.leave_out if name in dialect_of(source).header)
    return RecordedRuns(frame, source.given, "csv", left_out=left, notes=notes)


CSV = Format("csv", lambda source: bool(header_of(source)), _plain)


def _described(source: TableSource) -> RecordedRuns:
    meanings = read_mapping(source.beside(SIDECAR))
    outside = meanings.in_file(source.leave_out)
    table = read_table(replace(source, texts=source.texts | meanings.texts), outside)
    left = tuple(name for name in outside if name in header_of(source))
    return meant(RecordedRuns(table.frame, source.given, "csv", left_out=left, notes=table.notes), meanings)


DESCRIBED_CSV = Format(
    "csv with a mapping", lambda source: source.beside(SIDECAR).is_file() and bool(header_of(source)), _described
)
