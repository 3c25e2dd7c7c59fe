"""What layers do to the runs that they watch: profiled runs against bare ones, made between them in random order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..knowledge.shape import Frozen
from .claim import Arms, Claim, TooFew, claim
from .experiment.schedules import LayerSet
from .statistics.labels.classes import label
from .statistics.shape.describe import describe

MOST_SPREAD = 1.5
"""Layers whose ratio of spreads lies wholly beyond this factor, either way, show another one than that in question."""

SURE = 0.01
"""Alpha of all claims that set layers aside: to set the only layer aside ends a diagnosis."""


class Distortion(Frozen):
    """One set of layers against bare runs."""

    layers: LayerSet
    runs: int
    mean: Claim | TooFew | None
    """Of these runs over the bare ones, for this set alone; None with fewer than two runs of either."""
    spread: Claim | TooFew | None
    set_aside: str = ""
    """Why these layers hide what they should show; empty when they do not."""


def distortion(
    layers: LayerSet, bare: Sequence[float], runs: Sequence[float], gap: float, *, sets: int, seed: int, whole: int = 1
) -> Distortion:
    """Compare the outcomes of one set with bare ones; `gap` is by how much slow and fast runs differ.

    Layers are set aside for what is beyond luck only, at an alpha that is paid for all `sets`. With `whole` samples
    from each run it is whole runs that are exchanged.
    """
    if min(len(bare), len(runs)) < 2:
        return Distortion(layers=layers, runs=len(runs), mean=None, spread=None)
    arms = Arms(np.asarray(bare, dtype=np.float64), np.asarray(runs, dtype=np.float64), paired=False, whole=whole)
    sure = {measure: claim(arms, measure, alpha=SURE / sets, seed=seed) for measure in ("mean", "spread")}
    return Distortion(
        layers=layers,
        runs=len(runs),
        mean=claim(arms, "mean", seed=seed),
        spread=claim(arms, "spread", seed=seed),
        set_aside=_too_much(sure["mean"], sure["spread"], abs(float(np.mean(bare))), gap),
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


def _too_much(mean: Claim | TooFew, spread: Claim | TooFew, bare: float, gap: float) -> str:
    if isinstance(mean, Claim) and bare * max(mean.low - 1, 1 - (mean.high or 1), 0.0) > gap:
        return f"it shifts the mean by {shift(mean)}, which is more than slow and fast runs differ"
    beyond = isinstance(spread, Claim) and (spread.low > MOST_SPREAD or (spread.high or 1) < 1 / MOST_SPREAD)
    return f"it shifts the spread by {shift(spread)}, so that it is no longer the program's" if beyond else ""


def shift(claim: Claim | TooFew) -> str:
    """Write a ratio as a shift in percent with its interval."""
    if isinstance(claim, TooFew) or claim.ratio is None:
        return "an unknown amount"
    bounds = "" if claim.high is None else f" [{_percent(claim.low)}, {_percent(claim.high)}]"
    return f"{_percent(claim.ratio)} %{bounds}"


def _percent(ratio: float) -> str:
    percent = 100 * (ratio - 1)
    return f"{percent:+.0f}" if abs(percent) >= 9.95 else f"{percent:+.1f}"
