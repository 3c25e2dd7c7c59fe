"""What layers do to the runs that they watch: profiled runs against bare ones, made between them in random order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from .rotation import LayerSet
from .statistics.comparison.compare import Comparison, Ratio, compare
from .statistics.labels.classes import label
from .statistics.shape.describe import describe
from .subject import Frozen

MOST_SPREAD = 1.5
"""Layers whose SD ratio lies wholly beyond this factor, either way, show another spread than the one in question."""

SURE = 0.01
"""Level of the test beside the interval, paid for all sets: to set the only layer aside ends a diagnosis."""


class Distortion(Frozen):
    """One set of layers against bare runs."""

    layers: LayerSet
    runs: int
    mean: Ratio | None
    """Of these runs over the bare ones; None with fewer than two runs of either. Bounds need twenty of each."""
    sd: Ratio | None
    set_aside: str = ""
    """Why these layers hide what they should show; empty when they do not."""


def distortion(
    layers: LayerSet, bare: Sequence[float], runs: Sequence[float], gap: float, *, sets: int, seed: int, whole: int = 1
) -> Distortion:
    """Compare the outcomes of one set with bare ones; `gap` is by how much slow and fast runs differ.

    Layers are set aside for what is beyond luck only: the interval and the test, which is paid for all `sets`. Twenty
    bare runs of a program that is rarely slow may by luck hold no slow one, and their SD then says little. With `whole`
    samples from each run it is whole runs that are exchanged.
    """
    if min(len(bare), len(runs)) < 2:
        return Distortion(layers=layers, runs=len(runs), mean=None, sd=None)
    found = compare(bare, runs, paired=False, seed=seed, whole=whole)
    return Distortion(
        layers=layers,
        runs=len(runs),
        mean=found.ratio("mean"),
        sd=found.ratio("sd"),
        set_aside=_too_much(found, gap, SURE / sets),
    )


def with_their_parts(found: Iterable[Distortion]) -> tuple[Distortion, ...]:
    """Set aside as well what holds a set that was set aside: adding a layer does not take the distortion away."""
    found = tuple(found)
    aside = [one for one in found if one.set_aside]

    def judged(one: Distortion) -> Distortion:
        part = next((other for other in aside if set(other.layers) < set(one.layers)), None)
        if one.set_aside or part is None:
            return one
        return one.model_copy(update={"set_aside": f"{'+'.join(part.layers)} is part of it"})

    return tuple(map(judged, found))


def gap_of(outcome: ArrayLike, lower_is_better: bool = True) -> float:
    """By how much the means of slow and fast runs differ, cut as `label` cuts; 0 where none differ."""
    values = np.asarray(outcome, dtype=np.float64)
    if values.size < 2:
        return 0.0
    shape = describe(values)
    if shape.all_equal:
        return 0.0
    slow = label(values, shape, lower_is_better).slow
    return abs(float(values[slow].mean() - values[~slow].mean())) if 0 < slow.sum() < slow.size else 0.0


def _too_much(found: Comparison, gap: float, alpha: float) -> str:
    mean, sd = found.ratio("mean"), found.ratio("sd")
    least = _least_shift(mean)
    if found.p_location <= alpha and least > gap:
        return f"it shifts the mean by {shift(mean)}, which is more than slow and fast runs differ"
    beyond = sd.low is not None and sd.high is not None and (sd.low > MOST_SPREAD or sd.high < 1 / MOST_SPREAD)
    if found.p_value <= alpha and beyond:
        return f"it shifts the SD by {shift(sd)}, so that the spread is no longer the program's"
    return ""


def _least_shift(mean: Ratio) -> float:
    """The least shift of the mean that the interval allows, in the unit of the outcome."""
    if mean.low is None or mean.high is None or mean.baseline is None:
        return 0.0
    return abs(mean.baseline) * max(mean.low - 1, 1 - mean.high, 0.0)


def shift(ratio: Ratio) -> str:
    """Write a ratio as a shift in percent with its interval."""
    if ratio.value is None:
        return "an unknown amount"
    bounds = "" if ratio.low is None or ratio.high is None else f" [{_percent(ratio.low)}, {_percent(ratio.high)}]"
    return f"{_percent(ratio.value)} %{bounds}"


def _percent(ratio: float) -> str:
    percent = 100 * (ratio - 1)
    return f"{percent:+.0f}" if abs(percent) >= 9.95 else f"{percent:+.1f}"
