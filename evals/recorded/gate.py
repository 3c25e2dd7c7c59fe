"""The gates before any scoring: a case that is not whole is told apart, and the rest goes on."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import polars as pl

from ...knowledge.errors import VgoError
from ...knowledge.files import duplicate_keys
from ...knowledge.shape import Frozen
from ...tools.execution.outcomes import ITERATION
from ...tools.experiment.schedules import bare_runs
from ...tools.row import BASELINE, FIXED
from ...tools.run_table import described
from ...tools.steps.apply_mitigation import MOST_PAIRS
from .bench import BATCHES, SHARE
from .folders import CASE, CASES, TABLE, case_folders
from .recorded_case import INTEGERS, TEXTS, TRIAL, RecordedCase, read_case, read_table
from .schema import SERIES
from .truth import read_truth, refuse_unsealed

SPARE = 1 / SHARE
"""Times as many runs as a diagnosis may ask for must be there, since a share of them is drawn."""


class UnsoundCase(Frozen):
    """A case that cannot be scored and is not asked; it is held against nobody."""

    key: str
    reason: str


def load_cases(folder: Path = CASES) -> list[RecordedCase | UnsoundCase]:
    """Read the cases in the order of their keys; a broken one says why in its place."""
    return [_loaded(path) for path in case_folders(folder)]


def _loaded(folder: Path) -> RecordedCase | UnsoundCase:
    try:
        return admitted(folder)
    except VgoError as error:
        return UnsoundCase(key=folder.name, reason=str(error))
    except Exception as error:  # noqa: BLE001 - no gate foresees every file that somebody sealed; the others go on
        said = str(error).partition("\n")[0]
        reason = f"{folder} cannot be read ({type(error).__name__}: {said}); record the case again."
        return UnsoundCase(key=folder.name, reason=reason)


def admitted(folder: Path) -> RecordedCase:
    """Read a case that can be scored; raise VgoError for the first thing that is wrong with it."""
    refuse_unsealed(folder)
    case = read_case(folder)
    if case.file.key != folder.name:
        raise VgoError(f"{folder / CASE}: its key is {case.file.key}. Give folder and key the same name.")
    if twice := duplicate_keys(folder / CASE):
        raise VgoError(f"{folder / CASE}: the key {twice[0]} stands twice. Keep one.")
    read_truth(folder)
    table = read_table(folder / TABLE)
    for gate in (_described, _typed, _ordered, _agreeing, _layered, _enough):
        if reason := gate(case, table):
            raise VgoError(f"{folder / TABLE}: {reason}")
    return case


def _described(case: RecordedCase, table: pl.DataFrame) -> str:
    """Every metric column must be described by a layer that was recorded."""
    metrics = [name for name in table.columns if name not in (SERIES, TRIAL, *FIXED)]
    try:
        described(metrics, case.layers.values())
    except VgoError as error:
        return f"{str(error).partition(';')[0]}, in layers.json; record the case again."
    return ""


def _typed(case: RecordedCase, table: pl.DataFrame) -> str:
    """Columns must be of their kinds, those of every run filled, and what counts must be a number."""
    metrics = [name for name in table.columns if name not in (SERIES, TRIAL, *FIXED)]
    texts = {column.name for column in described(metrics, case.layers.values()) if column.type == "text"}
    for name, kind in table.schema.items():
        expected = "text" if name in {*TEXTS, *texts} else "a whole number" if name in INTEGERS else "a number"
        if kind != pl.Null and not _is(kind, expected):
            return f"the column {name} is {kind}, and not {expected}; record the case again."
    for name in (SERIES, "condition", "wall_s", *INTEGERS):
        if table[name].null_count():
            return f"the column {name} is empty in some runs; record the case again."
    counted = table.filter(pl.col("ok") == 1)
    for name in ("outcome", "wall_s"):
        if not counted[name].cast(pl.Float64).is_finite().fill_null(False).all():
            return f"the column {name} is not a number in some runs that count; record the case again."
    return ""


def _is(kind: pl.DataType, expected: str) -> bool:
    if expected == "text":
        return kind == pl.String
    return kind.is_integer() if expected == "a whole number" else kind.is_numeric() or kind == pl.Boolean


def _ordered(case: RecordedCase, table: pl.DataFrame) -> str:
    """Rows must stand as they were made."""
    for (series, trial), rows in table.group_by(SERIES, TRIAL, maintain_order=True):
        if not rows["order"].diff().drop_nulls().gt(0).all():
            return f"the order of {trial or series} does not rise from run to run; record the case again."
    return ""


def _agreeing(case: RecordedCase, table: pl.DataFrame) -> str:
    """recording.json must tell of the pairs that are there."""
    trials = case.recording.trials
    rows = table.filter(pl.col(SERIES) == "pairs")
    there = dict(rows.group_by(TRIAL).agg(pl.col("pair").n_unique()).iter_rows())
    for key in sorted({*there, *trials}, key=str):
        told = trials[key].pairs if key in trials else 0
        if there.get(key, 0) != told:
            return f"it has {there.get(key, 0)} pairs of {key}, and recording.json says {told}; record the case again."
    if both := sorted(set(trials) & set(case.recording.refused)):
        return f"recording.json says of {both[0]} both that it was applied and that it was refused; record it again."
    strange = rows.filter((pl.col("condition") != BASELINE) & (pl.col("condition") != pl.col(TRIAL)))
    if strange.height:
        return f"pairs of {strange[TRIAL][0]} have the condition {strange['condition'][0]}; record the case again."
    return ""


def _layered(case: RecordedCase, table: pl.DataFrame) -> str:
    """Layers that were on must be told of, and a case does not choose among them."""
    recorded = case.recording.profiling
    if lost := [spec for spec in recorded.layers if spec not in case.layers]:
        return f"the layer {lost[0]} was on and does not stand in layers.json; record the case again."
    for name in ("layers", "allow"):
        if name in case.file.limits.model_fields_set:
            return f"{CASE} says limits.{name}, which all cases are given alike by an option of eval: leave it out."
    keys = {case.layers[spec].key for spec in recorded.layers}
    on = {key for name in table["layers"].drop_nulls().unique() for key in name.split("+") if key}
    if strange := sorted(on - keys - {layer.key for layer in case.layers.values() if layer.kind == "launcher"}):
        return f"runs had the layer {strange[0]} on, of which recording.json does not tell; record the case again."
    return ""


def _enough(case: RecordedCase, table: pl.DataFrame) -> str:
    """Whatever share a seed draws, it must be all that the limits of the case allow."""
    limit = case.file.limits.max_runs
    starts = table.filter(pl.col(ITERATION).fill_null(0) == 0) if ITERATION in table.columns else table
    baseline, profile = (starts.filter(pl.col(SERIES) == name) for name in ("baseline", "profile"))
    counts = Counter(profile["layers"].fill_null("").to_list())
    bare = counts.pop("", 0)
    needed = {"baseline": (baseline.height, limit)}
    needed |= {f"profiled ({name})": (count, limit) for name, count in counts.items()}
    needed["profiled (bare)"] = (bare, bare_runs(len(counts) * limit, limit))
    for name, (there, most) in needed.items():
        if there < math.floor(most * SPARE):
            return _too_few(f"{there} {name} runs", math.floor(most * SPARE), limit)
    pairs = BATCHES * min(MOST_PAIRS, limit)
    for key, trial in case.recording.trials.items():
        rest = trial.block > 1 and pairs - trial.pairs < 2 * BATCHES * trial.block  # that made no whole blocks
        if 0 < trial.pairs < pairs and not rest:
            return _too_few(f"{trial.pairs} pairs of {key}", pairs, limit)
    return ""


def _too_few(there: str, needed: int, limit: int) -> str:
    return f"it has {there}, and limits.max_runs {limit} needs {needed}: lower it in {CASE}, or record more."
