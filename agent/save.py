"""Write the table of one step where the user wants it, so that the other commands read it again."""

from __future__ import annotations

import io
import os
from pathlib import Path

import polars as pl

from ..knowledge.errors import VgoError
from ..tools.recorded.formats.delimited import SIDECAR
from ..tools.recorded.formats.vgo import measured
from ..tools.recorded.recorded import RecordedRuns
from ..tools.recorded.write import SIDECAR_BEGINS, write
from ..tools.row import REQUIRED
from ..tools.run_table import LAYERS, RUNS
from .report.step import StepResult
from .report.tables import LEADING, PAGE, runs_md, write_folder

ENDINGS = (".csv", ".parquet")
_HEADERS = (",".join(REQUIRED), ",".join((*LEADING, *REQUIRED)))
"""How the header of a saved table begins: of a file, of a folder."""
_BEGINS = {".csv": _HEADERS, ".md": ("# The runs",), ".yaml": (SIDECAR_BEGINS,)}


def refuse(path: Path) -> None:
    """Refuse before the first run what cannot be written after the last; only what an earlier --save wrote may go."""
    if path.suffix not in ENDINGS and not path.is_dir() and (path.suffix or path.exists()):
        raise VgoError(f"--save {path} has no known ending: name it *.csv or *.parquet, or name a folder.")
    parent = path.absolute().parent
    if not parent.is_dir():
        raise VgoError(f"--save {path}: there is no folder {parent}; make it first.")
    if not os.access(path if path.is_dir() else parent, os.W_OK):
        raise VgoError(f"--save {path}: its folder cannot be written; choose another place.")
    for file in filter(os.path.lexists, _files(path)):
        _refuse_foreign(file, path)


def _files(path: Path) -> tuple[Path, ...]:
    if path.is_dir() or not path.suffix:
        return tuple(path / name for name in (RUNS, LAYERS, PAGE))
    beside = (path.with_suffix(".md"), *([path.with_suffix(SIDECAR)] if path.suffix == ".csv" else []))
    return (path, *beside)


def _refuse_foreign(file: Path, path: Path) -> None:
    if file.with_name("transcript.jsonl").exists():
        raise VgoError(f"--save {path} would write over {file}, which belongs to a run; choose another place.")
    if not (file.is_file() and os.access(file, os.R_OK | os.W_OK) and _ours(file)):
        raise VgoError(f"--save {path} would write over {file}, which it did not write; choose another place.")


def _ours(file: Path) -> bool:
    """Tell by its beginning whether an earlier step saved a file; an empty one holds nothing to lose."""
    if not file.stat().st_size:
        return True
    if file.suffix == ".parquet":
        try:
            return ",".join(pl.read_parquet_schema(file)).startswith(_HEADERS)
        except pl.exceptions.PolarsError:
            return False
    if file.name == LAYERS:
        return file.with_name(RUNS).is_file()
    with file.open(encoding="utf-8", errors="replace") as opened:
        return opened.read(max(map(len, _HEADERS))).startswith(_BEGINS[file.suffix])


def save(stepped: StepResult, path: Path) -> tuple[Path, ...]:
    """Write a table with a page that describes it, or both into a folder; return the files."""
    run = stepped.run
    page = runs_md(run)
    try:
        if path.is_dir() or not path.suffix:
            return write_folder(run.record, page, path)
        written = write(_recorded(stepped, path), path, fresh=True)
        beside = path.with_suffix(".md")
        beside.write_bytes(page)
        return (*written, beside)
    except OSError as error:
        raise VgoError(f"{path} cannot be written ({error.strerror}); choose another place for --save.") from error


def _recorded(stepped: StepResult, path: Path) -> RecordedRuns:
    record = stepped.run.record
    layers = record.all_layers.values()
    texts = {column.name for layer in layers for column in layer.columns if column.type == "text"} | {"layers"}
    frame = pl.read_csv(io.BytesIO(stepped.files[RUNS]), infer_schema_length=None)
    frame = frame.with_columns(pl.col(name).cast(pl.String) for name in frame.columns if name in texts)
    facts = {
        "subject": stepped.run.subject.model_dump(mode="json"),
        "machine": stepped.run.machine.model_dump(mode="json"),
    }
    return measured(frame, str(path), list(layers), facts)
