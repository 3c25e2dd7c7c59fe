"""Pictures of a ledger: slow against fast runs by state, and the states of each run in the order they were made."""

from __future__ import annotations

import numpy as np

from ...tools.ledger.shares import VarianceShares, slow_runs
from ...tools.ledger.split import SplitRuns
from .canvas import FAINT, canvas
from .ledger import states_drawn
from .ledger_bars import OTHER

COLOURS = ("#d55e00", "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9")
"""Okabe and Ito's, told apart in every common colour blindness."""


def ledger_picture(split: SplitRuns, shares: VarianceShares) -> str:
    """Stacked bars of the mean slow and fast run, and a stacked column for each run, in its order."""
    parts, colours = states_drawn(split, shares), state_colours(split, shares)
    slow = slow_runs(split.time_ms, split.told).slow
    with canvas(
        "ledger", f"Time of {slow.size} runs by state: means of slow and fast runs, and each run.", 2.7
    ) as page:
        bars, runs = page.axes(0.07, 0.36, 0.42, 0.47), page.axes(0.52, 0.46, 0.42, 0.47)
        at, below = np.zeros(2), np.zeros(slow.size)
        order = np.arange(slow.size)
        for name, values in parts.items():
            colour = colours.get(name, FAINT)
            means = np.array([values[~slow].mean(), values[slow].mean()])
            bars.barh((1, 0), means, left=at, height=0.6, color=colour, label=name)
            runs.bar(order, values, bottom=below, width=1.0, color=colour)
            at, below = at + means, below + values
        bars.set_yticks((1, 0), ("fast", "slow"))
        bars.set(xlabel="ms, mean of runs", title="slow against fast runs")
        runs.set(xlabel="run", ylabel="ms", title="each run", xlim=(-0.5, slow.size - 0.5))
        page.figure.legend(*bars.get_legend_handles_labels(), loc="lower left", bbox_to_anchor=(0.05, 0.0), ncols=3)
    return page.svg


def state_colours(split: SplitRuns, shares: VarianceShares) -> dict[str, str]:
    """Colours of the states that are drawn apart, by their names."""
    return dict(zip((name for name in states_drawn(split, shares) if name != OTHER), COLOURS, strict=False))
