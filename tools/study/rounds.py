"""Randomised blocks: each round runs every setting once, in an order of its own, on one host."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ..execution.executor import Piece, Turn
from ..execution.series import Measuring, Series
from ..execution.treated import Treated
from .setting import Setting
from .treatments import StudySettings

LEAST = 10
"""Rounds; fewer show no spread at all."""


class Plan(NamedTuple):
    """How far to go."""

    rounds: int
    seed: int
    layers: tuple[str, ...]


def run_rounds(bench: Measuring, call: str, settings: Sequence[Setting], plan: Plan) -> Series:
    """Run the rounds, or go on with those that a killed agent left; the rows are in the series."""
    treatments = StudySettings(settings=tuple(settings))
    with bench.series(call, plan.layers, plan.rounds * len(settings)) as series:
        series.carry_out(_pieces(series, settings, plan), change=Treated(treatments.runs(bench.launch), treatments.of))
    return series


def ordered(settings: Sequence[Setting], number: int, seed: int) -> Iterator[Setting]:
    """Shuffle the settings of a round; the same again where a study goes on."""
    yield from random.Random(f"study:{seed}:{number}").sample(list(settings), len(settings))


def _pieces(series: Series, settings: Sequence[Setting], plan: Plan) -> Iterator[Piece]:
    """Give what is left of each round; one that is not likely to fit in the budget is not begun."""
    done = {(row["pair"], row["condition"]) for row in series.rows}
    before, drawn = len(series.rows), 0
    for number in _numbers(series, settings, plan):
        left = [setting for setting in ordered(settings, number, plan.seed) if (number, setting.name) not in done]
        on_their_way = drawn - (len(series.rows) - before)
        if number and len(left) == len(settings) and not series.fits(len(settings) + on_their_way):
            return
        if left:
            drawn += len(left)
            yield tuple(Turn(setting.name, number) for setting in left)


def _numbers(series: Series, settings: Sequence[Setting], plan: Plan) -> Iterable[int]:
    """Number the rounds; on hosts a round that was cut off is made anew under another number, on whichever host."""
    if not series.bench.subject.on:
        return range(plan.rounds)
    made = [row["pair"] for row in series.rows]
    whole = sum(made.count(number) == len(settings) for number in set(made))
    return itertools.islice((number for number in itertools.count() if number not in made), plan.rounds - whole)
