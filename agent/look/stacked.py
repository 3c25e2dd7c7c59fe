"""Where the time of runs went, as stacked bars and columns of characters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ...knowledge.time_states import MEASURED
from ...tools.statistics.values import BoolArray, FloatArray
from ..report.ledger_bars import WIDTH, drawn, ledger_bars
from .canvas import AxisWindow, TextCanvas
from .plot import Picture, TextFigure
from .scenes import NOTHING

BESIDE = 20
"""Cells for what stands beside a bar."""
NEAR = 0.01
"""By how much the states of a run may miss its time."""
LAYERS = ("stacks", "ledger")
"""That split the time of a run, as `tools.ledger.split`, which takes long to import."""


@dataclass(frozen=True, eq=False)
class StackedRuns(TextFigure):
    """The states of the time of each run."""

    parts: Mapping[str, FloatArray] = field(default_factory=dict)
    """By name, shape (runs,); empty where no layer told."""
    slow: BoolArray = field(default_factory=lambda: NOTHING.astype(bool))
    name: str = "ledger"

    def draw(self, canvas: TextCanvas, window: AxisWindow | None = None, cursor: float | None = None) -> Picture:
        """Write it as wide as the canvas allows."""
        text = ledger_bars(self.parts, self.slow, max(1, min(WIDTH, canvas.width - BESIDE)))
        for row, line in enumerate(text.splitlines()):
            canvas.write(row, 0, line)
        return Picture(canvas)


def _alike(time_ms: FloatArray, outcome: FloatArray) -> BoolArray:
    """Runs that were split; where most are as long as their outcome says, those: of others the part is unknown."""
    split: BoolArray = np.isfinite(time_ms)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = time_ms / outcome
        near: BoolArray = split & (np.abs(ratio / np.median(ratio[split]) - 1) <= NEAR) if split.any() else split
    return near if near.sum() > split.sum() / 2 else split


def stacked_runs(columns: Mapping[str, FloatArray], slow: BoolArray) -> StackedRuns:
    """Read the columns of a layer that splits the time of runs; of all rows, shape (runs,), those that it has split."""
    for layer in LAYERS:
        found = {state.value: columns[name] for state in MEASURED if (name := f"{layer}.{state}_ms") in columns}
        told = _alike(np.sum([*found.values()], axis=0), columns["outcome"]) if found else np.zeros(0, dtype=np.bool_)
        states = {state: values[told] for state, values in found.items() if values[told].any()}
        if states:
            means = {state: float(values.mean()) for state, values in states.items()}
            return StackedRuns(drawn(states, means), slow[told])
    return StackedRuns()
