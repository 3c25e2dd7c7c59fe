"""What each factor, and each two together, do to the spread and to the mean, with intervals.

The response is the log of the mean absolute deviation of a setting's runs from their median: the quantity of Brown and
Forsythe 1974 ("Robust tests for the equality of variances"), whose log makes effects ratios (as in Harvey 1976,
"Estimating regression models with multiplicative heteroscedasticity"). A main effect is the mean difference of that
response between two levels over all settings that are otherwise the same; an interaction is the mean difference of
such differences. Rounds are resampled whole, so that what the settings of a round share cancels, as it does in pairs.

Simulated where nothing differs (150 studies each of 18 crossed settings; 12, 20 and 40 rounds; normal, lognormal and
bimodal runs with noise that a round shares): the intervals of the spread cover .94 to .98, those of the mean .94 to
.96, and in .01 to .05 of the studies any effect stands after the adjustment."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

from ...knowledge.shape import Frozen
from ..claim import TooFew, interval, word
from ..statistics.ratio_test import FEWEST, holm
from ..statistics.values import FloatArray
from .design import StudyDesign, StudyFactor
from .factors import THREADS
from .spreads import TIMES, Against, held_against

RESAMPLES = 2000
LEAST_SPREAD = 1e-9
"""Floor of a deviation, as a share of the largest, so that its log exists."""
Runs = Callable[[Mapping[str, str]], str | None]
"""From levels to the setting whose runs stand for them."""


class EffectRatio(Frozen):
    """A ratio with its 95 % interval."""

    value: float
    low: float
    high: float


class LevelContrast(Frozen):
    """One level against the first of its factor, or two such together."""

    factors: tuple[str, ...]
    """One: a main effect; two: an interaction."""
    levels: tuple[str, ...]
    reference: tuple[str, ...]
    settings: int
    """Pairs of settings, or fours of them, that it is the mean of."""


class Effect(LevelContrast):
    """Of a contrast; below 1 is less."""

    spread: EffectRatio
    """Of the mean absolute deviation from the median."""
    mean: EffectRatio
    p_value: float
    """Of no effect on the spread, adjusted by Holm over all effects."""


class _Weighted(NamedTuple):
    contrast: LevelContrast
    weights: dict[str, float]
    """Of each setting."""


def effects(design: StudyDesign, times: TIMES, runs: Runs, seed: int) -> tuple[Effect, ...]:
    """Estimate every effect that complete rounds allow; none with fewer than ten of them."""
    contrasts = [one for one in _contrasts(design, runs) if set(one.weights) <= times.keys()]
    names = sorted({name for one in contrasts for name in one.weights})
    if not names:
        return ()
    table = np.array([times[name] for name in names])
    table = table[:, np.isfinite(table).all(axis=0)]
    rounds = table.shape[1]
    if rounds < FEWEST:
        return ()
    spread, mean = _responses(table, seed)
    weights = np.array([[one.weights.get(name, 0.0) for name in names] for one in contrasts])
    spreads, p_values = _estimated(weights @ spread, rounds)
    means, _ = _estimated(weights @ mean, rounds)
    return tuple(
        Effect(**one.contrast.model_dump(), spread=of_spread, mean=of_mean, p_value=p)
        for one, of_spread, of_mean, p in zip(contrasts, spreads, means, holm(p_values), strict=True)
    )


def _responses(table: FloatArray, seed: int) -> tuple[FloatArray, FloatArray]:
    """Log spread and log mean of each setting, as measured in column 0 and resampled after it."""
    rng = np.random.default_rng(seed)
    rounds = table.shape[1]
    index = np.vstack([np.arange(rounds), rng.integers(rounds, size=(RESAMPLES, rounds))])
    spreads, means = [], []
    for values in table:
        drawn = values[index]
        deviation = np.abs(drawn - np.median(drawn, axis=1, keepdims=True)).mean(axis=1)
        floor = LEAST_SPREAD * max(float(np.abs(values).max()), 1e-300)
        spreads.append(np.log(np.maximum(deviation, floor)))
        means.append(np.log(np.maximum(np.abs(drawn.mean(axis=1)), 1e-300)))
    return np.array(spreads), np.array(means)


def _estimated(drawn: FloatArray, rounds: int) -> tuple[list[EffectRatio], list[float]]:
    """Give each effect and its p-value, from rows of the estimate and its resamples, on the scale of logarithms.

    Resamples scatter too little by the root of n / (n - 1).
    """
    law, value = student(rounds - 1), drawn[:, 0]
    error = drawn[:, 1:].std(axis=1) * math.sqrt(rounds / (rounds - 1))
    half = law.ppf(0.975) * error
    ends = np.exp([value, value - half, value + half]).T
    distance = np.divide(np.abs(value), error, out=np.where(value == 0, 0.0, np.inf), where=error > 0)
    return [EffectRatio(value=one, low=low, high=high) for one, low, high in ends], (2 * law.sf(distance)).tolist()


def _contrasts(design: StudyDesign, runs: Runs) -> Iterator[_Weighted]:
    for factor in design.factors:
        for level in factor.levels[1:]:
            others = _others(design, {factor.key}) if level in factor.crossed else [design.centre]
            yield from _contrast((factor.key,), (level,), (_reference(factor, level),), others, runs)
    for first, second in itertools.combinations(design.crossed, 2):
        both, reference = (first.key, second.key), (first.crossed[0], second.crossed[0])
        for pair in itertools.product(first.crossed[1:], second.crossed[1:]):
            yield from _contrast(both, pair, reference, _others(design, set(both)), runs)


def _reference(factor: StudyFactor, level: str) -> str:
    """The first level; of memory nodes both numbers of nodes are for as many threads, so they are held together."""
    if level in factor.crossed or factor.key != "nodes":
        return factor.levels[0]
    return factor.levels[1] if level != factor.levels[1] else factor.levels[0]


def _others(design: StudyDesign, varied: Collection[str]) -> list[dict[str, str]]:
    """List the levels of all factors, crossed but for those that a contrast varies."""
    rest = [one for one in design.crossed if one.key not in varied]
    keys = [one.key for one in rest]
    return [
        design.centre | dict(zip(keys, chosen, strict=True))
        for chosen in itertools.product(*(one.crossed for one in rest))
    ]


def _contrast(
    factors: tuple[str, ...],
    levels: tuple[str, ...],
    reference: tuple[str, ...],
    others: Sequence[Mapping[str, str]],
    runs: Runs,
) -> Iterator[_Weighted]:
    """Average, of one factor, the differences to its reference; of two, the differences of such differences.

    Over the others at which all settings were run; where they all are one setting there is no contrast.
    """
    cells = []
    for at in others:
        cell: dict[str | None, float] = defaultdict(float)
        for back in itertools.product((False, True), repeat=len(factors)):
            chosen = (old if is_back else new for new, old, is_back in zip(levels, reference, back, strict=True))
            cell[runs({**at, **dict(zip(factors, chosen, strict=True))})] += (-1.0) ** sum(back)
        cells.append(cell)
    whole = [cell for cell in cells if None not in cell]
    weights: dict[str, float] = defaultdict(float)
    for cell in whole:
        for name, weight in cell.items():
            weights[str(name)] += weight / len(whole)
    if any(abs(weight) > 1e-12 for weight in weights.values()):
        contrast = LevelContrast(factors=factors, levels=levels, reference=reference, settings=len(whole))
        yield _Weighted(contrast, weights)


class CoreReservation(Frozen):
    """One number of cores, all else as in the middle of the study."""

    cores: int
    spare: int
    threads: int
    setting: str
    """Whose runs stand for it."""
    against_all: Against | None = None
    """Against using every core; p-values are adjusted over the numbers of cores."""
    against_enough: Against | None = None
    """Against the smallest reservation that is enough; of those that reserve more."""


class Reservation(Frozen):
    """The numbers of cores in order, from few to all."""

    steps: tuple[CoreReservation, ...]
    enough: int | None
    """Cores left to the system in the smallest reservation that is shown to vary less than none; None: none is."""
    answer: str


def reservation(design: StudyDesign, times: TIMES, runs: Runs, alpha: float) -> Reservation:
    """Compare every number of cores with all of them, in pairs of the same round."""
    steps = [step for step in _steps(design, runs) if step.setting in times]
    everything = next((step for step in steps if step.spare == 0), None)
    if everything is None or len(steps) < 2:
        return Reservation(steps=tuple(steps), enough=None, answer="")
    steps = _held_against("against_all", everything, steps, steps, times, alpha)
    less = [step for step in steps if step.against_all and step.against_all.direction == "less"]
    if not less:
        return Reservation(steps=tuple(steps), enough=None, answer=_none(steps))
    enough = min(less, key=lambda step: step.spare)
    beyond = [step for step in steps if step.spare > enough.spare]
    steps = _held_against("against_enough", enough, beyond, steps, times, alpha)
    return Reservation(steps=tuple(steps), enough=enough.spare, answer=_answer(enough, steps))


def _steps(design: StudyDesign, runs: Runs) -> list[CoreReservation]:
    factor = next(factor for factor in design.factors if factor.key == THREADS)
    found = []
    for level in sorted(factor.levels, key=int):
        setting = design.at(design.centre | {THREADS: level})
        name = runs(design.centre | {THREADS: level})
        if setting and name:
            found.append(
                CoreReservation(cores=setting.cores, spare=setting.spare, threads=setting.threads, setting=name)
            )
    return found


def _held_against(
    name: str,
    first: CoreReservation,
    others: Sequence[CoreReservation],
    steps: Sequence[CoreReservation],
    times: TIMES,
    alpha: float,
) -> list[CoreReservation]:
    """Put into a field of the other ones how they compare with the first; give all steps."""
    judged = held_against(first.setting, [step.setting for step in others], times, alpha)
    return [step.model_copy(update={name: judged.get(step.setting)}) if step in others else step for step in steps]


def _none(steps: Sequence[CoreReservation]) -> str:
    held = [step.against_all.spread for step in steps if step.against_all]
    unsaid = [one.why for one in held if isinstance(one, TooFew)]
    if len(unsaid) == len(held):
        return (
            f"How many cores to leave to the system cannot be said: {unsaid[0] if unsaid else 'too few rounds count'}."
        )
    return f"Leaving cores to the system is not shown to make it {word('less')} than using all of them."


def _answer(enough: CoreReservation, steps: Sequence[CoreReservation]) -> str:
    cores = "one core" if enough.spare == 1 else f"{enough.spare} cores"
    words = f"Leaving {cores} to the system is enough"
    words += f": fewer are not shown to make it {word('less')}" * (enough.spare > 1)
    if enough.against_all:
        words += f" (ratio of the mean {interval(enough.against_all.mean)})"
    if enough.threads == 1:
        words += ", but one is left to the program, which runs in a single thread then"
    more = [step for step in steps if step.against_enough]
    if not more:
        return f"{words}; no more could be left, or tried."
    better = [step for step in more if step.against_enough and step.against_enough.direction == "less"]
    if better:
        listed = ", ".join(str(step.spare) for step in better)
        return f"{words}; leaving {listed} is {word('less')} still."
    return f"{words}, and leaving more is not shown to be {word('less')} still, so it is only over-reservation."
