"""Write a run table with what its columns mean: Parquet, CSV with a mapping beside it, or SHARP's layout."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from ...knowledge.errors import VgoError
from ..durable import sync
from .formats.delimited import SIDECAR
from .formats.parquet import MEANINGS
from .formats.sharp import PAGE_MEANINGS
from .mapping import Meanings, meanings_of
from .outcome import by_unit_or_name
from .recorded import RecordedRuns

SECONDS = {"s": 1.0, "sec": 1.0, "second": 1.0, "seconds": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_OWN = ("launch_id", "completion_timestamp", "repeat", "rank", "outer_time")
_UNITS = {"s": "seconds", "ms": "milliseconds"}
_DESCRIBED = {
    "launch_id": ("string", "Unique identifier for the launch (links to Invariant parameters)."),
    "completion_timestamp": ("float", "Unix time at the end of the run, seconds."),
    "repeat": ("int", "Iteration/repeat number."),
    "rank": ("int", "MPI rank (0 for non-MPI)."),
}
SIDECAR_BEGINS = "# What the columns of the table beside this file mean"


def write_sharp(recorded: RecordedRuns, folder: Path) -> tuple[Path, ...]:
    """Write table and page; the task is named after the source."""
    task = _task(recorded)
    launch = hashlib.sha256(repr((recorded.source, recorded.frame.shape)).encode()).hexdigest()[:8]
    frame = _with_own_columns(recorded, launch)
    folder.mkdir(parents=True, exist_ok=True)
    table, page = folder / f"{task}.csv", folder / f"{task}.md"
    frame.write_csv(table)
    page.write_text(_page(recorded, frame, task), encoding="utf-8")
    return table, page


def _task(recorded: RecordedRuns) -> str:
    named = recorded.system.get("task")
    stem = Path(recorded.source).name.removesuffix(".gz")
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", named or Path(stem).stem).strip("-.")
    return name or "runs"


def _with_own_columns(recorded: RecordedRuns, launch: str) -> pl.DataFrame:
    """Put SHARP's columns in front, those that the table has not."""
    frame = recorded.frame
    own: dict[str, Any] = {
        "launch_id": pl.lit(launch),
        "repeat": pl.int_range(1, frame.height + 1),
        "rank": pl.lit(0),
        "outer_time": _outer_time(recorded),
    }
    missing = [expression.alias(name) for name, expression in own.items() if name not in frame.columns]
    first = [name for name in _OWN if name in (*own, *frame.columns)]
    return frame.with_columns(missing).select(*first, pl.all().exclude(_OWN))


def _outer_time(recorded: RecordedRuns) -> pl.Expr:
    """Seconds of the whole run: its wall time, else an outcome that is a time; empty where neither is known."""
    for name in ("wall_s", recorded.outcome):
        unit = recorded.units.get(name or "", "")
        if name in recorded.frame.columns and unit in SECONDS and recorded.frame[name].dtype.is_numeric():
            return pl.col(name) * SECONDS[unit]
    return pl.lit(None, pl.Float64)


def _page(recorded: RecordedRuns, frame: pl.DataFrame, task: str) -> str:
    launches = frame["launch_id"].cast(pl.String).unique(maintain_order=True).to_list()
    options = {
        "backend_names": recorded.system.get("backend_names", "local").split(),
        "task": task,
        "repeats": str(frame.height),
        "metrics": {name: _metric(recorded, name) for name in frame.columns if name not in _OWN},
    }
    constant = {launch: {"task": task, "start": "normal", "concurrency": 1} for launch in launches}
    meanings = meanings_of(recorded).model_dump(mode="json", exclude_defaults=True)
    fields = "\n".join(f"  * `{name}` ({kind}): {words}" for name, kind, words in _fields(recorded, frame))
    return f"""\
This file describes the conditions for the runs captured in {task}.csv (total rows: {frame.height}).
Written by vgo-agent from {recorded.source}.

## Initial runtime options

{_json(options)}

## CSV field description

{fields}

## Invariant field description

  * `task` (string): Task/benchmark name.
  * `start` (string): Warm, cold, or as-is start.
  * `concurrency` (int): Concurrent copies (MPL).

## Invariant parameters

Values are keyed by launch ID.

{_json(constant)}

## Initial system configuration

{_json(_nested(recorded.system))}

## {PAGE_MEANINGS}

For vgo-agent; SHARP has no place for it.

{_json(meanings)}
"""


def _metric(recorded: RecordedRuns, name: str) -> dict[str, Any]:
    column = recorded.frame[name] if name in recorded.frame.columns else None
    unit = recorded.units.get(name, "")
    return {
        "description": recorded.descriptions.get(name, name),
        "lower_is_better": recorded.lower_is_better.get(name, by_unit_or_name(name, unit)),
        "type": "string" if column is not None and column.dtype == pl.String else "numeric",
        "units": _UNITS.get(unit, unit),
    }


def _fields(recorded: RecordedRuns, frame: pl.DataFrame) -> list[tuple[str, str, str]]:
    found = []
    for name, dtype in frame.schema.items():
        kind = "string" if dtype == pl.String else "int" if dtype.is_integer() else "float"
        known = _DESCRIBED.get(name) if name not in recorded.descriptions else None
        found.append((name, *(known or (kind, recorded.descriptions.get(name, f"{name}.")))))
    return found


def _nested(flat: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Group dotted keys by their first part, as SHARP groups what it knows of a system."""
    groups: dict[str, dict[str, str]] = {}
    for key, value in flat.items():
        first, _, rest = key.partition(".")
        groups.setdefault(first if rest else "run", {})[rest or first] = value
    return groups


def _json(values: object) -> str:
    return f"```json\n{json.dumps(values, indent=2, ensure_ascii=False)}\n```"


def write(recorded: RecordedRuns, path: Path, *, fresh: bool = False) -> tuple[Path, ...]:
    """Write `*.parquet`, `*.csv`, or into a folder as SHARP does; return the files, which `read` takes back.

    `fresh` runs were measured, not read, so no file is their source. Values keep all their digits. Parquet gives the
    same table again; CSV too, but for words such as NA, which become missing. Raises VgoError for another ending and
    for what cannot be written.
    """
    writer = write_sharp if path.is_dir() or not path.suffix else WRITERS.get(path.suffix)
    if writer is None:
        raise VgoError(
            f"{path} has no known ending: name it *.parquet or *.csv (of runs with a ledger also *.html, *.json or "
            "*.folded), or name a folder for SHARP's layout."
        )
    if not fresh:
        _refuse_source(recorded, path)
    try:
        return writer(recorded, path)
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise VgoError(f"{path} cannot be written ({reason}): choose another place for --save.") from error


def _refuse_source(recorded: RecordedRuns, path: Path) -> None:
    """The table that was read stays as it is."""
    source = Path(recorded.source)
    if source.exists() and path.exists() and (path.samefile(source) or path.samefile(source.parent)):
        raise VgoError(f"{path} holds {recorded.source} itself, which is never written over: choose another --save.")


def _parquet(recorded: RecordedRuns, path: Path) -> tuple[Path, ...]:
    recorded.frame.write_parquet(
        path, metadata={MEANINGS: meanings_of(recorded).model_dump_json(exclude_defaults=True)}
    )
    sync(path)
    return (path,)


def _csv(recorded: RecordedRuns, path: Path) -> tuple[Path, ...]:
    recorded.frame.write_csv(path)
    beside = path.with_suffix(SIDECAR)
    beside.write_text(_mapping(meanings_of(recorded)), encoding="utf-8")
    sync(path)
    sync(beside)
    return path, beside


def _mapping(meanings: Meanings) -> str:
    told = meanings.model_dump(mode="json", exclude_defaults=True)
    body = yaml.safe_dump(told, sort_keys=False, allow_unicode=True, width=120)
    return f"{SIDECAR_BEGINS}; vgo-agent reads it by itself.\n{body}"


WRITERS: dict[str, Callable[[RecordedRuns, Path], tuple[Path, ...]]] = {".parquet": _parquet, ".csv": _csv}
