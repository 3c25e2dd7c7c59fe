"""Where the time of runs went, as stacked bars and columns of characters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ...knowledge.time_states import MEASURED
from ...tools.statistics.values import BoolArray, FloatArray
from ..report.ledger_bars import WIDTH, drawn, ledger_bars
from .canvas import TextCanvas
from .plot import Picture, TextFigure
from .scale import AxisWindow
from .scenes import NOTHING

BESIDE = 20
"""Cells for what stands beside a bar."""
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


def stacked_runs(columns: Mapping[str, FloatArray], slow: BoolArray) -> StackedRuns:
    """Read the columns of a layer that splits the time of runs; of all rows, shape (runs,), those that it has split."""
    for layer in LAYERS:
        found = {state.value: columns[name] for state in MEASURED if (name := f"{layer}.{state}_ms") in columns}
        told = np.isfinite(list(found.values())).all(axis=0) if found else np.zeros(0, dtype=np.bool_)
        states = {state: values[told] for state, values in found.items() if values[told].any()}
        if states:
            means = {state: float(values.mean()) for state, values in states.items()}
            return StackedRuns(drawn(states, means), slow[told])
    return StackedRuns()
