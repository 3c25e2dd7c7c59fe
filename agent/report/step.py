"""The answer of one step alone: words for a terminal, and one object for programs."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...prompts.render import render
from ...tools.base import Result
from ...tools.measure import MeasureResult
from ...tools.profile import ProfileResult
from ...tools.statistics.shape.describe import describe
from ...tools.statistics.spread import log_sd_interval
from ..step import StepResult
from ..terminal import folded, table
from . import factors
from .numbers import histogram, number, statistics
from .remarks import findings, of_form
from .story import Fact
from .tell import typed

HEADER = ("LAYERS ON", "RUNS", "MEAN SHIFTS", "SD SHIFTS", "")
MOST_HIDDEN = 12
CTRL_C = "Ctrl-C"


def summary(stepped: StepResult, saved: Sequence[Path]) -> dict[str, Any]:
    """Give the object that `--json` prints: the result, every run, and what the runs were made on."""
    subject = stepped.request.subject
    return {
        "command": typed(subject),
        "outcome": subject.outcome,
        "unit": subject.unit,
        **stepped.result.model_dump(mode="json"),
        "interrupted": stepped.stopped is not None,
        "rows": [dict(row) for row in stepped.rows],
        "machine": stepped.machine.model_dump(mode="json"),
        "saved": [str(path) for path in saved],
        "run_dir": str(stepped.folder),
    }


def text(stepped: StepResult, saved: Sequence[Path], fancy: bool) -> str:
    """Give the words of a terminal; `fancy` where it can show block characters."""
    match stepped.result:
        case MeasureResult() as measured:
            words = _measured(stepped, measured, fancy)
        case ProfileResult() as profiled:
            words = _profiled(stepped, profiled, fancy)
        case other:
            raise TypeError(f"no words for {other}")
    kept, paths = str(stepped.folder), [str(path) for path in saved]
    return folded(render("step.txt.j2", kept=kept, saved=paths, after=_after(stepped.result, saved), **words))


def _measured(stepped: StepResult, measured: MeasureResult, fancy: bool) -> dict[str, Any]:
    unit = stepped.request.subject.unit
    counted = [row["outcome"] for row in stepped.rows if row["ok"] == 1]
    reason = f" ({measured.stop_reason})" if measured.stop_reason and not stepped.stopped else ""
    failed = f", {number(measured.failed)} failed" if measured.failed else ""
    subject = stepped.request.subject
    return {
        "sentence": f"{typed(subject)}: {number(measured.runs)} {subject.counted} count{failed}; "
        f"stopped by {_ended(stepped) or measured.stopped_by}{reason}.",
        "facts": statistics(measured.outcome, measured.sd_interval, unit),
        "picture": histogram(counted[measured.warm_up :], unit, fancy),
        "findings": list(findings(measured, unit)),
        "layers": "",
        "hidden": (),
        "notes": [note for note in (measured.unusable, measured.launcher and measured.launcher.words) if note],
    }


def _profiled(stepped: StepResult, profiled: ProfileResult, fancy: bool) -> dict[str, Any]:
    subject = stepped.request.subject
    counted = profiled_outcomes(stepped)
    bare = f", {number(profiled.bare.n)} bare ones between" if profiled.bare else ""
    ended = f"; stopped by {_ended(stepped)}" if stepped.stopped else ""
    failed = f", {number(profiled.failed)} failed" if profiled.failed else ""
    hidden = [Fact(name, reason) for name, reason in profiled.hidden.items()]
    more = len(hidden) - MOST_HIDDEN
    return {
        "sentence": f"{typed(subject)}: {number(len(counted))} {subject.counted} with "
        f"{number(profiled.columns)} columns{bare}{failed}{ended}.",
        "facts": statistics(profiled.outcome, log_sd_interval(counted), subject.unit),
        "picture": histogram(counted, subject.unit, fancy),
        "findings": [*(profiled.hosts.sentences if profiled.hosts else ()), *of_form(describe(counted), subject.unit)],
        "layers": table(HEADER, factors.layer_rows(profiled)),
        "hidden": [*hidden[:MOST_HIDDEN], *([Fact(f"... and {more} more", "(--json)")] if more > 0 else [])],
        "notes": [*factors.of_profile(profiled), *factors.missing_cells(stepped.rows)],
    }


def profiled_outcomes(stepped: StepResult) -> list[float]:
    """Outcomes of the runs that the statistics are of: with layers that stand, or all with layers where none do."""
    assert isinstance(stepped.result, ProfileResult)
    found = stepped.run.record
    names = {
        "+".join(layer.key for layer in (found.all_layers[spec] for spec in one.layers)): one.set_aside
        for one in stepped.result.distortions
    }
    standing = {name for name, why in names.items() if not why} or set(names)
    return [row["outcome"] for row in stepped.rows if row["ok"] == 1 and row["layers"] in standing]


def _ended(stepped: StepResult) -> str:
    if stepped.stopped is None:
        return ""
    return CTRL_C if isinstance(stepped.stopped, KeyboardInterrupt) else "a signal"


def _after(result: Result, saved: Sequence[Path]) -> str:
    """Where layers took turns, no run has all columns, so each set is looked at by itself."""
    if not saved:
        return ""
    turns = isinstance(result, ProfileResult) and len(result.distortions) > 1
    return f"vgo-agent analyze {shlex.quote(str(_table(saved)))}{' --group layers' if turns else ''}"


def _table(saved: Sequence[Path]) -> Path:
    """What other commands read: the table, or the folder that it lies in."""
    first = saved[0]
    return first.parent if first.name == "runs.csv" and first.with_name("layers.json") in saved else first
