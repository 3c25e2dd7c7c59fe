"""Randomised blocks: each round runs every setting once, in an order of its own."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ..execution.bench import Bench
from ..execution.launch import Launch
from ..execution.series import Series
from .background import beside
from .setting import Setting

LEAST = 10
"""Rounds; fewer show no spread at all."""


class Plan(NamedTuple):
    """How far to go."""

    rounds: int
    budget_s: float
    """Seconds of the program; a round that is not likely to fit is not begun."""
    seed: int
    layers: tuple[str, ...]


def run_rounds(
    bench: Bench, call: str, settings: Sequence[Setting], plan: Plan, told: Callable[[Series], None]
) -> Series:
    """Run the rounds, or go on with those that a killed agent left; the rows are in the series."""
    launches = {one.name: one.launch(bench.launch) for one in settings}
    with bench.series(call, plan.layers, plan.rounds * len(settings)) as series:
        done = {(row["pair"], row["condition"]) for row in series.rows}
        for number in range(plan.rounds):
            begun = any(pair == number for pair, _ in done)
            if number and not begun and not _fits(series, plan.budget_s, len(settings)):
                break
            for setting in ordered(settings, number, plan.seed):
                if (number, setting.name) not in done:
                    _run(series, setting, launches[setting.name], number)
                    told(series)
    return series


def ordered(settings: Sequence[Setting], number: int, seed: int) -> Iterator[Setting]:
    """Shuffle the settings of a round; the same again where a study goes on."""
    yield from random.Random(f"study:{seed}:{number}").sample(list(settings), len(settings))


def _run(series: Series, setting: Setting, launch: Launch, number: int) -> None:
    with beside(setting.background):
        series.run(setting.name, launch, number)


def _fits(series: Series, budget_s: float, settings: int) -> bool:
    """Tell whether one more round is likely to stay within the budget; a round that was begun is always ended."""
    rows = series.rows
    return series.spent_s + settings * statistics.fmean(row["wall_s"] for row in rows) <= budget_s
