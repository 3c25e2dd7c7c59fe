"""Check the folder of what is no diagnosis: its tables and its answer, made again from the rows that were kept."""

from __future__ import annotations

import io
import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ..knowledge.errors import VgoError
from ..tools.execution.row_log import rows_in
from ..tools.row import Row
from ..tools.sweep.sweep import Sweep
from ..tools.sweep.table import cell_rows, cells_csv, runs_table
from .experiment_folder import STUDY, SWEEP, ExperimentKind
from .run_folder import RunFolder

SAME = 1e-9
"""Relative difference of two numbers that another machine may compute."""


@dataclass(frozen=True)
class ExperimentCheck:
    """What was checked, and the first difference."""

    ok: bool
    rows: int
    """Of the log."""
    files: tuple[str, ...]
    """That were made again from it."""
    difference: str = ""

    @property
    def words(self) -> str:
        """Say it."""
        if not self.ok:
            return f"Not the same: {self.difference}"
        made = ", ".join(self.files)
        return f"Made again from the {self.rows} rows of its log, the same: {made}. No hash covers the log itself."


def verify_experiment(folder: Path, one: ExperimentKind) -> ExperimentCheck:
    """Make tables and answer again and compare them with the files; nothing is run or written."""
    files: list[str] = []
    rows = 0
    try:
        made = {SWEEP: _of_sweep, STUDY: _of_study}.get(one, _of_step)(folder)
        rows = made.rows
        for name, content in made.tables.items():
            _compare_table(folder / name, content)
            files.append(name)
        _compare_answer(folder / one.answer, made.answer)
    except VgoError as error:
        return ExperimentCheck(False, rows, tuple(files), str(error))
    return ExperimentCheck(True, rows, (*files, one.answer))


@dataclass(frozen=True)
class _Made:
    rows: int
    tables: dict[str, bytes]
    answer: dict[str, Any]


def _of_study(folder: Path) -> _Made:
    from .report.study import summary
    from .study import TABLE, concluded, logs, read, table

    asked = read(folder)
    rows, batch = map(rows_in, logs(folder))
    if not rows:
        raise VgoError(f"{logs(folder)[0]} has no rows: nothing can be made again.")
    answer = json.loads(json.dumps(summary(concluded(asked, rows, batch, folder), ())))
    return _Made(len(rows) + len(batch), {TABLE: _csv(table(asked, rows, batch))}, answer)


def _of_step(folder: Path) -> _Made:
    from ..tools.row import RUNS
    from ..tools.run_table import LAYERS, artefacts, read_layers
    from ..tools.statistics.shape.describe import describe
    from ..tools.statistics.spread import summarise
    from .experiment_folder import MEASUREMENT
    from .report.tables import runs_csv
    from .step import CALL, read

    asked, log = read(folder), RunFolder(folder).partial / f"{CALL}.jsonl"
    rows = rows_in(log)
    if not rows:
        raise VgoError(f"{log} has no rows: nothing can be made again.")
    files = artefacts(rows, read_layers(_content(folder / LAYERS)))
    answer: dict[str, Any] = {"failed": sum(row["ok"] == 0 for row in rows), "spent_s": sum(r["wall_s"] for r in rows)}
    if asked.kind == MEASUREMENT:
        outcomes = np.array([row["outcome"] for row in rows if row["ok"] == 1])
        answer["outcome"] = summarise(outcomes[describe(outcomes).warm_up :]).model_dump(mode="json")
    return _Made(len(rows), {RUNS: runs_csv(asked.record(answer, files))}, answer)


def _of_sweep(folder: Path) -> _Made:
    from .report.sweep import best
    from .sweep.conduct import asked_in
    from .sweep.files import CELLS, RUNS

    asked = asked_in(folder)
    drawn, ran = (_Log(rows_in(folder / name)) for name in ("cells.jsonl", "log.jsonl"))
    if not ran.rows:
        raise VgoError(f"{folder / 'log.jsonl'} has no rows: nothing can be made again.")
    sweep = Sweep(asked.space, asked.seed, drawn, ran, asked.hosts)
    cells = list(cell_rows(sweep))
    runs = runs_table(sweep, RUNS, (), {}).frame
    failed = sum(row["failed"] for row in cells)
    answer = {"runs": sweep.runs, "cells": len(cells), "failed": failed, "best": best(sweep, cells)}
    return _Made(len(ran.rows), {RUNS: _csv(runs), CELLS: cells_csv(cells)}, answer)


@dataclass
class _Log:
    rows: list[Row] = field(default_factory=list)

    def append(self, *rows: Row) -> None:
        """Nothing is added."""


def _csv(frame: pl.DataFrame) -> bytes:
    text = io.BytesIO()
    frame.write_csv(text)
    return text.getvalue()


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise VgoError(
            f"{path} is missing or unreadable ({error.strerror}): it is unfinished, or was removed."
        ) from error


def _compare_table(path: Path, made: bytes) -> None:
    told, lines = _content(path).splitlines(), made.splitlines()
    if told == lines:
        return
    pairs = enumerate(zip(told, lines, strict=False), 1)
    where = next((number for number, (one, other) in pairs if one != other), min(len(told), len(lines)) + 1)
    raise VgoError(f"{path}, line {where} is not what the log gives ({len(lines)} lines; the file has {len(told)}).")


def _compare_answer(path: Path, made: dict[str, Any]) -> None:
    try:
        told = json.loads(_content(path))
    except ValueError as error:
        raise VgoError(f"{path} is no JSON: it was changed after it was written.") from error
    for name, value in made.items():
        if name not in ("folder", "files") and (where := _differs(told.get(name), value, name)):
            raise VgoError(f"{path}: {where} is not what the log gives.")


def _differs(told: Any, made: Any, where: str) -> str:
    """Name the first place where two answers differ; empty where they do not."""
    if isinstance(told, dict) and isinstance(made, dict) and told.keys() == made.keys():
        return next(filter(None, (_differs(told[key], made[key], f"{where}.{key}") for key in made)), "")
    if isinstance(told, list) and isinstance(made, list | tuple) and len(told) == len(made):
        return next(
            filter(None, (_differs(*two, f"{where}[{n}]") for n, two in enumerate(zip(told, made, strict=True)))), ""
        )
    numbers = isinstance(told, int | float) and isinstance(made, int | float)
    return "" if told == made or (numbers and math.isclose(told, made, rel_tol=SAME)) else where
