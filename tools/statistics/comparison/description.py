"""Two arms of runs side by side: ratios, the shift of every quantile, distance; nothing is decided here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ....knowledge.errors import VgoError
from ..shape.describe import describe
from ..values import BoolArray, FiniteResult, FloatArray, IntArray
from .bootstrap import BootstrapRatio, Drawing, Shift, ratios
from .resampling import Statistic, affordable, block_length

ArmPair = tuple[FloatArray, FloatArray]


class LevelledArms(NamedTuple):
    """Both arms brought to one level; the mean of either arm stays as it is."""

    arms: ArmPair
    """Each host moved by its mean of that arm alone; its deviations are drawn out for the degree of freedom that its
    mean costs, so that SDs of all runs are those within hosts, with the denominator of a one-way analysis."""
    hosts: int
    alone: int
    """Pairs that are the only ones of their host: they stay where they are, differences between hosts and all."""


def within(x: FloatArray, y: FloatArray, hosts: IntArray) -> LevelledArms:
    """Take the host of each pair (pairs,) for what it is; `x`, `y` are of the same shape.

    Simulated (100 series a cell for an SD ratio of .66, 40 for .13; normal, lognormal and bimodal runs; 3 to 15 hosts
    with 2 to 10 pairs each): the ratio of .13 is found as .127 to .144 (medians), that of .66 as .64 to .7. Intervals
    of the SD hold in .91 to 1 of them with three pairs a host or more, in .81 to .97 with two.
    """
    _, codes, pairs = np.unique(hosts, return_inverse=True, return_counts=True)
    many = pairs[codes] > 1
    wider = np.sqrt(pairs / np.maximum(pairs - 1, 1) * (many.sum() - 1) / max(many.sum(), 1))[codes]

    def moved(arm: FloatArray) -> FloatArray:
        own = (np.bincount(codes, arm) / pairs)[codes]
        level = own[many].mean() if many.any() else 0.0
        return np.where(many, (arm - own) * wider + level, arm)

    return LevelledArms((moved(x), moved(y)), pairs.size, int((~many).sum()))


class Description(FiniteResult):
    """Two arms side by side."""

    paired: bool
    lower_is_better: bool
    baseline_runs: int
    other_runs: int
    dropped: int
    """Pairs, or single runs of unpaired arms, left out because a value was not finite."""
    block: int
    """Neighbouring runs kept together because they depend on each other; 1 where they do not."""
    ratios: tuple[BootstrapRatio, ...]
    shifts: tuple[Shift, ...]
    distance: float
    """Wasserstein's (earth mover's) between both distributions, in the unit of the outcome."""
    relative_distance: float | None
    """The same in SDs of the baseline."""
    baseline_modes: int
    other_modes: int
    notes: tuple[str, ...]
    """What to know before believing it."""

    def ratio(self, statistic: Statistic) -> BootstrapRatio:
        """Pick one ratio."""
        return next(ratio for ratio in self.ratios if ratio.statistic == statistic)


def describe_arms(
    baseline: ArrayLike,
    other: ArrayLike,
    *,
    paired: bool = True,
    lower_is_better: bool = True,
    seed: int = 0,
    resamples: int = 2000,
    whole: int = 1,
    unit: Literal["run", "block"] = "run",
    hosts: ArrayLike | None = None,
) -> Description:
    """Describe two arms of shape (runs,), each in run order; pairs: run i of one was made next to run i of the other.

    With `whole` samples from each run, values are samples, run after run, and runs are drawn whole; so are the pairs of
    a block, where conditions took turns by block (`unit`). With `hosts`, a number for each pair, spreads are those
    within hosts (see `within`). Raises VgoError for pairs of unequal number and for fewer than two runs.
    """
    x, y, dropped = _pairs(baseline, other) if paired else _apart(baseline, other)
    inside = LevelledArms((x, y), 1, 0)
    if hosts is not None:
        inside = within(x, y, np.asarray(hosts)[_finite(_column(baseline), _column(other))])
    x, y = inside.arms
    if x.size % whole or y.size % whole:
        raise ValueError(f"{x.size} and {y.size} samples are no whole runs of {whole}.")
    blocks = _blocks(x, y, paired, whole)
    found, shifts = ratios(x, y, Drawing(paired, blocks, seed, resamples, lower_is_better, whole))
    from scipy.stats import wasserstein_distance  # half a second to load, which most commands can spare

    distance, sd = float(wasserstein_distance(x, y)), float(x.std(ddof=1)) if np.ptp(x) else 0.0
    return Description(
        paired=paired,
        lower_is_better=lower_is_better,
        baseline_runs=x.size,
        other_runs=y.size,
        dropped=dropped,
        block=max(blocks),
        ratios=found,
        shifts=shifts,
        distance=distance,
        relative_distance=distance / sd if sd else None,
        baseline_modes=len(describe(x).modes),
        other_modes=len(describe(y).modes),
        notes=(*_notes(paired, max(blocks), (whole, unit), x.size + y.size, resamples), *_of_hosts(inside)),
    )


def _pairs(baseline: ArrayLike, other: ArrayLike) -> tuple[FloatArray, FloatArray, int]:
    x, y = _column(baseline), _column(other)
    if x.size != y.size:
        raise VgoError(f"The arms have {x.size} and {y.size} runs, so they are not pairs: give as many of each.")
    whole = _finite(x, y)
    if whole.sum() < 2:
        raise VgoError("Fewer than two pairs of runs are complete: measure more pairs.")
    return x[whole], y[whole], int((~whole).sum())


def _finite(x: FloatArray, y: FloatArray) -> BoolArray:
    whole: BoolArray = np.isfinite(x) & np.isfinite(y)
    return whole


def _apart(baseline: ArrayLike, other: ArrayLike) -> tuple[FloatArray, FloatArray, int]:
    given = _column(baseline), _column(other)
    x, y = (arm[np.isfinite(arm)] for arm in given)
    for name, arm in (("baseline", x), ("other arm", y)):
        if arm.size < 2:
            raise VgoError(f"The {name} has {arm.size} run(s) with a finite value: a spread takes at least two.")
    return x, y, given[0].size + given[1].size - x.size - y.size


def _column(values: ArrayLike) -> FloatArray:
    return np.asarray(values, dtype=np.float64).ravel()


def _blocks(x: FloatArray, y: FloatArray, paired: bool, whole: int) -> tuple[int, int]:
    """Give the blocks of each arm. What both runs of a pair share cancels, so pairs are asked for their differences."""
    away = tuple(np.abs(arm - np.median(arm)) for arm in (x, y))
    if paired:
        block = _whole(block_length(y - x, away[1] - away[0]), whole)
        return block, block
    return _whole(block_length(x, away[0]), whole), _whole(block_length(y, away[1]), whole)


def _whole(block: int, whole: int) -> int:
    """Lengthen a block to whole runs; what a run's samples share is kept together, so they may look independent."""
    return -(-block // whole) * whole


def _notes(paired: bool, block: int, together: tuple[int, str], runs: int, resamples: int) -> Iterator[str]:
    whole, unit = together
    if unit == "block":
        yield f"The conditions took turns in blocks of {whole}; blocks were exchanged and resampled whole."
    elif whole > 1:
        yield f"Each run gave {whole} samples; runs were exchanged and resampled whole."
    if block > whole and not paired:
        yield (
            f"Neighbouring runs depend on each other, so blocks of {block} were resampled: arms measured one after the "
            "other differ by drift alone, and no test tells that from a cause; measure pairs in random order."
        )
    elif block > whole:
        yield f"The differences of neighbouring pairs depend on each other, so blocks of {block} pairs were resampled."
    if affordable(runs, resamples) < resamples:
        yield (
            f"With so many runs {affordable(runs, resamples)} resamples stand for {resamples}, "
            "read by the normal law that they follow."
        )


def _of_hosts(inside: LevelledArms) -> Iterator[str]:
    if inside.hosts > 1:
        yield f"Spreads are those within {inside.hosts} hosts; what the hosts differ by is left out."
    if inside.hosts > 1 and inside.alone:
        yield (
            f"{inside.alone} pairs are alone on their host, so what it differs by is in their spread: fewer hosts, or "
            "more pairs, tell more."
        )
