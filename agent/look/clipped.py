"""The axis of a distribution without its far values, which are counted in a cell of their own at its end."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...tools.statistics.values import FloatArray, IntArray, finite
from ..shown_range import Shown, shown_range
from .canvas import TextCanvas
from .frame import Framed
from .scale import LARGEST, AxisWindow, CellScale, counts, extent


class Clipped(NamedTuple):
    """What is shown unless somebody zooms, and what lies beyond."""

    window: AxisWindow
    shown: Shown

    def counts(self, values: FloatArray, scale: CellScale) -> IntArray:
        """Values in each cell; those beyond are in the first and the last one."""
        found = counts(values, scale)
        if scale.window == self.window:
            found[0] += int((values < self.window.low).sum())
            found[-1] += int((values > self.window.high).sum())
        return found

    def marks(self, canvas: TextCanvas, framed: Framed) -> None:
        """Mark on the axis the cells that hold what lies beyond."""
        if framed.x.window != self.window:
            return
        for runs, column in ((self.shown.below, framed.left), (self.shown.above, framed.right)):
            if runs:
                canvas.put(framed.bottom + 1, column, canvas.marks.beyond, "cut")

    def legend(self, canvas: TextCanvas, window: AxisWindow, unit: str) -> list[str]:
        """Say how many values the marked cells hold, and how far these go."""
        note = self.shown.note(unit) if window == self.window else ""
        return [f"{canvas.marks.beyond} {note}"] if note else []


def clipped(*columns: FloatArray) -> Clipped | None:
    """Choose what is shown of all finite values, far ones aside; None where there are none."""
    values = np.clip(np.concatenate([finite(column) for column in columns]), -LARGEST, LARGEST)
    if not values.size:
        return None
    shown = shown_range(values)
    window = extent(values[(values >= shown.low) & (values <= shown.high)])
    return None if window is None else Clipped(window, shown)
