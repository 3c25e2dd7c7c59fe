"""Write the table of one step where the user wants it, so that the other commands read it again."""

from __future__ import annotations

import io
from pathlib import Path

import polars as pl

from ..knowledge.errors import VgoError
from ..tools.case import Record
from ..tools.recorded.formats.vgo import measured
from ..tools.recorded.recorded import Recorded
from ..tools.recorded.write import write
from ..tools.run_table import LAYERS, RUNS, write_layers
from .report.tables import runs_csv, runs_md
from .step import Stepped

PAGE = "runs.md"
ENDINGS = (".csv", ".parquet")


def refuse(path: Path) -> None:
    """Refuse before the first run what cannot be written after the last."""
    if path.suffix and path.suffix not in ENDINGS and not path.is_dir():
        raise VgoError(f"--save {path} has no known ending: name it *.csv or *.parquet, or name a folder.")
    if not path.absolute().parent.is_dir():
        raise VgoError(f"--save {path}: there is no folder {path.absolute().parent}; make it first.")


def save(stepped: Stepped, path: Path) -> tuple[Path, ...]:
    """Write a table with a page that describes it, or both into a folder; return the files."""
    run = stepped.run
    page = runs_md(run)
    try:
        if path.is_dir() or not path.suffix:
            return _folder(run.record, page, path)
        written = write(_recorded(stepped, path), path)
        beside = path.with_suffix(".md")
        beside.write_bytes(page)
        return (*written, beside)
    except OSError as error:
        raise VgoError(f"{path} cannot be written ({error.strerror}); choose another place for --save.") from error


def _folder(record: Record, page: bytes, path: Path) -> tuple[Path, ...]:
    path.mkdir(exist_ok=True)
    files = {RUNS: runs_csv(record), LAYERS: write_layers(record.all_layers), PAGE: page}
    for name, content in files.items():
        (path / name).write_bytes(content)
    return tuple(path / name for name in files)


def _recorded(stepped: Stepped, path: Path) -> Recorded:
    record = stepped.run.record
    layers = record.all_layers.values()
    texts = {column.name for layer in layers for column in layer.columns if column.type == "text"} | {"layers"}
    frame = pl.read_csv(io.BytesIO(stepped.files[RUNS]), infer_schema_length=None)
    frame = frame.with_columns(pl.col(name).cast(pl.String) for name in frame.columns if name in texts)
    facts = {
        "subject": stepped.wish.subject.model_dump(mode="json"),
        "machine": stepped.machine.model_dump(mode="json"),
    }
    return measured(frame, str(path), list(layers), facts)
