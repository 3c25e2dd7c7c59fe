"""Write a run table with what its columns mean: Parquet, CSV with a mapping beside it, or SHARP's layout."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import yaml

from ...knowledge.errors import VgoError
from ..durable import sync
from .formats.described import SIDECAR
from .formats.parquet import MEANINGS
from .mapping import Meanings
from .meant import meanings_of
from .recorded import RecordedRuns
from .sharp_layout import write_sharp

SIDECAR_BEGINS = "# What the columns of the table beside this file mean"


def write(recorded: RecordedRuns, path: Path, *, fresh: bool = False) -> tuple[Path, ...]:
    """Write `*.parquet`, `*.csv`, or into a folder as SHARP does; return the files, which `read` takes back.

    `fresh` runs were measured, not read, so no file is their source. Values keep all their digits. Parquet gives the
    same table again; CSV too, but for words such as NA, which become missing. Raises VgoError for another ending and
    for what cannot be written.
    """
    writer = write_sharp if path.is_dir() or not path.suffix else _WRITERS.get(path.suffix)
    if writer is None:
        raise VgoError(f"{path} has no known ending: name it *.parquet or *.csv, or name a folder for SHARP's layout.")
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
    beside.write_text(_page(meanings_of(recorded)), encoding="utf-8")
    sync(path)
    sync(beside)
    return path, beside


def _page(meanings: Meanings) -> str:
    told = meanings.model_dump(mode="json", exclude_defaults=True)
    body = yaml.safe_dump(told, sort_keys=False, allow_unicode=True, width=120)
    return f"{SIDECAR_BEGINS}; vgo-agent reads it by itself.\n{body}"


_WRITERS: dict[str, Callable[[RecordedRuns, Path], tuple[Path, ...]]] = {".parquet": _parquet, ".csv": _csv}
