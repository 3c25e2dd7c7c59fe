"""SHARP run logs: a CSV, and beside it a Markdown page with the options and the system under test."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from ....knowledge.errors import VgoError
from ..mapping import Meanings, meant, parse_mapping
from ..recorded import Format, RecordedRuns, TableSource
from .delimited import DelimitedTable, Dialect, dialect_of, header_of, parse, read_table
from .hyperfine import flat

PAGE_MEANINGS = "Meaning of the columns"
"""Heading of the page's section that only vgo-agent reads."""
_IDS = ("launch_id", "repeat", "rank")
_LEADING = ("launch_id", "completion_timestamp", "repeat", "rank", "outer_time")
_UNNAMED = "only SHARP's own columns are read of them, since nothing names them."
_TIMES = {"perf_time", "wall_time", "cpu_clock", "task_clock", "user_time", "system_time"}
"""Durations that SHARP's own layers record beside the run time: they are long because the run is."""
_OPTIONS = ("backend_names", "entry_point", "args", "task", "start", "mpl", "timeout", "environment")
_LYING = {"gpu.vendor"}
"""SHARP writes NVIDIA there on machines without a GPU."""
_OUTER = (
    "SHARP's outer_time comes in steps of about 10 ms (it polls): modes that stand closer may be its clock.",
    "SHARP records runs that failed as if they had worked: there is no exit code to tell them by.",
)
_UNITS = {"seconds": "s", "milliseconds": "ms"}
_BLOCK = r"^##\s+[^\n]*{}[^\n]*\n.*?```json\s*\n(.*?)\n```"


@dataclass(frozen=True)
class _Page:
    """What the Markdown page says."""

    metrics: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    invariants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Launch id to constants of the launch; the values of a sweep stand only here."""
    system: Mapping[str, Any] = field(default_factory=dict)
    fields: tuple[str, ...] = ()
    """Columns of the CSV, as described."""
    meanings: Meanings | None = None
    """What the columns mean, where vgo-agent wrote the page: it knows more than SHARP has a place for."""
    notes: tuple[str, ...] = ()


def _read(source: TableSource) -> RecordedRuns:
    page = _page(source)
    if page.meanings:
        return _own(source, page.meanings)
    table = _table(source, page)
    frame, swept, constant = _with_sweep(table.frame, page)
    outcome = _outcome(frame)
    ranks = frame["rank"].n_unique() if "rank" in frame.columns else 1
    notes = [*page.notes, *table.notes, *_OUTER[(outcome != "outer_time") :]]
    if outcome == "outer_time" and "inner_time" in frame.columns:
        notes.append("inner_time, the program's own clock, never varies: outer_time is taken.")
    if ranks > 1:
        notes.append(f"A row is one of {ranks} ranks, not one run: give --group rank.")
    if swept:
        notes.append(f"Swept values were added from the page: {', '.join(swept)}.")
    return RecordedRuns(
        frame,
        source.given,
        "sharp",
        outcome=outcome,
        lower_is_better={"outer_time": True, "inner_time": True} | _facts(page, "lower_is_better"),
        units={"outer_time": "s"} | {name: _UNITS.get(unit, unit) for name, unit in _facts(page, "units").items()},
        roles=_roles(frame, outcome, swept),
        descriptions=_facts(page, "description"),
        system=_system(page) | constant,
        notes=tuple(notes),
    )


def _own(source: TableSource, meanings: Meanings) -> RecordedRuns:
    """Read a table that vgo-agent wrote: its clock is no SHARP's, and nothing must be guessed."""
    frame, notes = read_table(replace(source, texts=source.texts | meanings.texts | {"launch_id"}))
    added = {name: "id" for name in _IDS if name in frame.columns} | {"outer_time": "consequence"}
    recorded = RecordedRuns(frame, source.given, "sharp", roles=added, units={"outer_time": "s"}, notes=notes)
    return replace(meant(recorded, meanings), format="sharp")


def _page(source: TableSource) -> _Page:
    path = source.beside(".md")
    if not path.is_file():
        return _Page(notes=(f"There is no page {path.name} beside it: units, options and system are unknown.",))
    text = path.read_text(encoding="utf-8", errors="replace")
    options = _block(text, "runtime options", path)
    told = _block(text, PAGE_MEANINGS, path)
    fields = re.search(r"^## (?:CSV )?[Ff]ield description\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    return _Page(
        metrics=options.get("metrics") or {},
        options={key: options[key] for key in _OPTIONS if options.get(key) not in (None, "", [], {})},
        invariants=_block(text, "Invariant parameters", path),
        system=_block(text, "system configuration", path),
        fields=tuple(re.findall(r"^\s*\* `([^`]+)`", fields[1], re.M)) if fields else (),
        meanings=parse_mapping(json.dumps(told), str(path)) if told else None,
    )


def _block(text: str, heading: str, path: Path) -> dict[str, Any]:
    """Return the JSON below a heading, {} where there is none, as with --skip-sys-specs."""
    found = re.search(_BLOCK.format(heading), text, re.M | re.S | re.I)
    if not found:
        return {}
    try:
        block = json.loads(found[1])
    except json.JSONDecodeError as error:
        raise VgoError(f"{path}, below '{heading}': {error.msg}: mend the JSON, or remove the page.") from error
    return block if isinstance(block, dict) else {}


def _table(source: TableSource, page: _Page) -> DelimitedTable:
    """Read the CSV; launches appended with other metrics than the header names are named by the page, where it can."""
    dialect = dialect_of(source)
    rows = list(csv.reader(io.StringIO(source.text()), delimiter=dialect.separator))
    widths = Counter(len(row) for row in rows[1:] if row)
    odd = [width for width in widths if width != len(dialect.header)]
    if not odd:
        return read_table(source)
    names = list(dict.fromkeys((*dialect.header, *(page.fields if len(page.fields) in odd else ()))))
    return DelimitedTable(_aligned(source, dialect, rows[1:], page, names), tuple(_ragged(widths, dialect, page)))


def _ragged(widths: Counter[int], dialect: Dialect, page: _Page) -> Iterator[str]:
    for width, rows in widths.items():
        extra = width - len(dialect.header)
        how = "named by the page." if width == len(page.fields) else _UNNAMED
        if extra:
            more = "more" if extra > 0 else "less"
            yield f"{rows} rows were appended with {abs(extra)} fields {more} than the header names: {how}"


def _aligned(
    source: TableSource, dialect: Dialect, rows: list[list[str]], page: _Page, names: list[str]
) -> pl.DataFrame:
    """Put each field below its name: by the header, by the page, or else only what every launch begins with."""
    leading = [name for name in dialect.header if name in _LEADING]
    own = {len(page.fields): page.fields, len(dialect.header): dialect.header}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    for row in filter(None, rows):
        cells = dict(zip(own.get(len(row), leading), row, strict=False))
        writer.writerow([cells.get(name, "") for name in names])
    return parse(text.getvalue().encode(), source, Dialect(",", False, tuple(names)), names)


def _with_sweep(frame: pl.DataFrame, page: _Page) -> tuple[pl.DataFrame, list[str], dict[str, str]]:
    """Add what varies between launches as columns, and return what does not as facts."""
    launches = {launch: dict(flat(values)) for launch, values in page.invariants.items()}
    keys = sorted({key for values in launches.values() for key in values})
    varied = [key for key in keys if len({values.get(key) for values in launches.values()}) > 1]
    constant = {key: next(iter(launches.values()))[key] for key in keys if key not in varied}
    if "launch_id" not in frame.columns:
        return frame, [], constant
    added = [key for key in varied if key not in frame.columns]
    ids = frame["launch_id"].cast(pl.String)
    columns = [pl.Series(key, [launches.get(launch, {}).get(key) for launch in ids], pl.String) for key in added]
    return frame.with_columns(columns), added, constant


def _outcome(frame: pl.DataFrame) -> str:
    """The program's own clock, unless it says nothing (some programs print 0)."""
    if "inner_time" in frame.columns and frame["inner_time"].n_unique() > 1 and frame["inner_time"].dtype.is_numeric():
        return "inner_time"
    return "outer_time"


def _roles(frame: pl.DataFrame, outcome: str, swept: list[str]) -> dict[str, str]:
    roles = dict.fromkeys((*_IDS, "task"), "id") | dict.fromkeys(_TIMES | {"outer_time", "inner_time"}, "consequence")
    roles |= dict.fromkeys(swept, "setting")
    roles |= {"completion_timestamp": "order", outcome: "outcome"}
    return {name: role for name, role in roles.items() if name in frame.columns}


def _facts(page: _Page, key: str) -> dict[str, Any]:
    """Return one property of all metrics that state it; only the options of the page know units and directions."""
    return {name: metric[key] for name, metric in page.metrics.items() if isinstance(metric, dict) and key in metric}


def _system(page: _Page) -> dict[str, str]:
    known = {key: value for key, value in flat(page.system) if key not in _LYING}
    return known | dict(flat(page.options))


SHARP = Format("sharp", lambda source: {"outer_time", "repeat"} <= set(header_of(source)), _read)
