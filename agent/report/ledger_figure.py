"""Pictures of a ledger: slow against fast runs by state, and the states of each run in the order they were made."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...knowledge.states import state_words
from ...tools.ledger.shares import VarianceShares, slow_runs
from ...tools.ledger.split import SplitRuns
from ...tools.statistics.values import BoolArray, FloatArray
from .canvas import FAINT, canvas
from .numbers import number

MOST = 6
"""States that are drawn apart, those with the largest shares; the rest is one part."""
COLOURS = ("#d55e00", "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9")
"""Okabe and Ito's, told apart in every common colour blindness."""
MARKS, REST = "#=+o*x", "."
"""Characters of those states in a terminal."""
WIDTH = 60
"""Characters of the longest bar."""
OTHER = "other states"


def ledger_picture(split: SplitRuns, shares: VarianceShares) -> str:
    """Stacked bars of the mean slow and fast run, and a stacked column for each run, in its order."""
    parts, (slow, _), colours = _drawn(split, shares), slow_runs(split.time_ms), state_colours(split, shares)
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
    return dict(zip((name for name in _drawn(split, shares) if name != OTHER), COLOURS, strict=False))


def ledger_bars(split: SplitRuns, shares: VarianceShares) -> str:
    """The same bars for a terminal, with what each character stands for."""
    parts, (slow, _) = _drawn(split, shares), slow_runs(split.time_ms)
    marks = {name: REST if name == OTHER else mark for name, mark in zip(parts, MARKS + REST, strict=False)}
    longest = max(split.time_ms[slow].mean(), split.time_ms[~slow].mean())
    lines = [f"{name:4}  {_bar(parts, marks, rows, longest)}" for name, rows in (("fast", ~slow), ("slow", slow))]
    return "\n".join([*lines, "", *(f"  {mark}  {name}" for name, mark in marks.items())])


def _bar(parts: Mapping[str, FloatArray], marks: Mapping[str, str], rows: BoolArray, longest: float) -> str:
    means = {name: float(values[rows].mean()) for name, values in parts.items()}
    ends = np.rint(np.cumsum(list(means.values())) / longest * WIDTH).astype(int)
    drawn, at = "", 0
    for name, end in zip(means, ends.tolist(), strict=True):
        drawn += marks[name] * (end - at)
        at = end
    return f"{drawn} {number(sum(means.values()), 3)} ms"


def _drawn(split: SplitRuns, shares: VarianceShares) -> dict[str, FloatArray]:
    """States by name, those with the largest shares and means first; the others together."""
    weight = {one.state: max(abs(one.share), one.mean_ms / shares.mean_ms) for one in shares.states}
    first = sorted(split.states, key=lambda state: -weight.get(state, 0.0))[:MOST]
    parts = {state_words(state): split.states[state] for state in first}
    rest = [values for state, values in split.states.items() if state not in first]
    return {**parts, OTHER: np.sum(rest, axis=0)} if rest else parts
