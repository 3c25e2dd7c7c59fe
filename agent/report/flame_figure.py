"""The mean slow run as a flame graph, coloured by what it takes more or less than the mean fast run."""

from __future__ import annotations

from collections.abc import Sequence

from ...tools.ledger.flame import FlameStack, flame_frames
from .canvas import BASELINE, INK, MITIGATED, WIDTH, canvas
from .figures import short
from .numbers import number

ROW = 0.21
"""Inches of a frame."""
NARROWEST = 1 / 400
"""Of the width: a frame that is narrower is not drawn."""
LETTER = 0.058
"""Inches that a letter takes."""
FEWEST = 6
"""Letters: where there is room for fewer, there are none."""


def flame_picture(stacks: Sequence[FlameStack]) -> str:
    """Draw it; empty where nothing was opened."""
    total = sum(one.slow_ms for one in stacks)
    frames = [one for one in flame_frames(stacks) if one.slow_ms > NARROWEST * total]
    if not frames:
        return ""
    most, rows = max(abs(one.slow_ms - one.fast_ms) for one in frames), 1 + max(one.depth for one in frames)
    height = ROW * rows + 0.4
    with canvas("flame", "Flame graph of the mean slow run, by its difference from the mean fast run.", height) as page:
        axes = page.axes(0.02, 0.96, 0.36 / height, ROW * rows / height)
        for one in frames:
            gap = one.slow_ms - one.fast_ms
            colour, shade = BASELINE if gap > 0 else MITIGATED, abs(gap) / most if most else 0.0
            axes.barh(one.depth, one.slow_ms, 0.94, one.left_ms, color=colour, alpha=shade, linewidth=0)
            axes.barh(one.depth, one.slow_ms, 0.94, one.left_ms, color="none", edgecolor=INK, linewidth=0.2)
            words = f"{'+' if gap > 0 else ''}{number(gap, 2)}  {one.name}"
            if (room := int(one.slow_ms / total * 0.96 * WIDTH / LETTER)) >= FEWEST:
                axes.text(
                    one.left_ms + 0.003 * total, one.depth, short(words, room), va="center", fontsize=7, clip_on=True
                )
        axes.set(xlim=(0, total), ylim=(-0.5, rows - 0.5), yticks=())
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("ms of the mean slow run; numbers: more (orange) or less (blue) than the mean fast run, in ms")
    return page.svg
