"""How many pairs of runs show a given fall of the spread, soon enough to plan a batch with."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq, minimize
from scipy.special import log_ndtr, ndtr, ndtri
from scipy.stats import binomtest

from ....knowledge.errors import VgoError
from ..ratio_test import FEWEST, contributions, ratio_test, side
from ..spread import kurtosis
from ..values import FiniteResult, FloatArray, finite

Kind = Literal["scale", "tail"]


@dataclass(frozen=True)
class Law:
    """The recorded runs as a law to draw from, without a cure and with it."""

    ascending: FloatArray
    kind: Kind
    ratio: float
    """Of the SDs, with the cure over without."""
    rare: tuple[float, float] | None = None
    """For `tail`: the share of runs in the rare group as recorded, and with the cure."""
    rare_is_high: bool = True

    def baseline(self, uniform: FloatArray) -> FloatArray:
        """Turn uniform numbers into runs: quantiles, interpolated between neighbouring recorded runs."""
        drawn: FloatArray = np.interp(
            uniform * (self.ascending.size - 1), np.arange(self.ascending.size), self.ascending
        )
        return drawn

    def cured(self, uniform: FloatArray) -> FloatArray:
        """Turn uniform numbers into runs with the cure."""
        if self.rare is None:
            median = float(np.median(self.ascending))
            return median + self.ratio * (self.baseline(uniform) - median)
        share, left = self.rare
        u = uniform if self.rare_is_high else 1 - uniform
        # The common group keeps its form and takes the place that the rare one leaves.
        common = u / (1 - left) * (1 - share)
        rare = 1 - (1 - u) / left * share if left else u
        moved = np.where(u < 1 - left, common, rare)
        return self.baseline(moved if self.rare_is_high else 1 - moved)


def law(values: FloatArray, ratio: float, kind: Kind) -> Law:
    """Make the law of recorded runs; raise VgoError when no cure of that kind can give the ratio.

    The smoothed bootstrap has no bandwidth to choose and draws nothing beyond the slowest recorded run. For `tail`
    two groups are split by least squares, and runs of the rarer one become rarer until the SD has the ratio.
    """
    ascending = np.sort(values)
    if kind == "scale":
        return Law(ascending, kind, ratio)
    cut = least_squares_cut(ascending)
    rare_is_high = cut > ascending.size - cut
    common, rare = (ascending[:cut], ascending[cut:]) if rare_is_high else (ascending[cut:], ascending[:cut])
    share = rare.size / ascending.size
    return Law(ascending, kind, ratio, (share, _left(common, rare, share, ratio)), rare_is_high)


def least_squares_cut(ascending: FloatArray) -> int:
    """Return how many of the sorted values belong to the lower of two groups with the least squares within them."""
    x = ascending - ascending.mean()
    size = np.arange(1, x.size)
    below = np.cumsum(x)[:-1]
    between = below**2 * (1 / size + 1 / (x.size - size))
    between[np.diff(ascending) == 0] = -1
    return int(np.argmax(between)) + 1


def _left(common: FloatArray, rare: FloatArray, share: float, ratio: float) -> float:
    """Share of the rare group at which the SD of both together has the ratio to the recorded one."""

    def sd(part: float) -> float:
        away = float(rare.mean() - common.mean())
        return math.sqrt((1 - part) * float(common.var()) + part * float(rare.var()) + part * (1 - part) * away**2)

    least = sd(0.0) / sd(share)
    if least >= ratio:
        raise VgoError(
            f"Without any of the rarer runs the SD would still be {least:.2g} of what it is, "
            f"so making them rarer cannot reach --plan {ratio:g}; choose a larger ratio, or --kind scale."
        )
    return float(brentq(lambda part: sd(part) - ratio * sd(share), 0.0, share))


MOST_RUNS = 5000
"""Of an arm: more are not simulated."""
FIRST_EXPERIMENTS = 60
"""To find the region; points in it get the full number."""
STEP = 1.6
REFINED = 3
"""Points in the region."""
Z = 1.96


class PowerPoint(FiniteResult):
    """Share of simulated experiments that showed the change, with its 95 % Monte Carlo interval (Clopper-Pearson)."""

    runs: int
    """Of each arm."""
    experiments: int
    power: float
    low: float
    high: float


class Power(FiniteResult):
    """How many runs of each arm show a change, and how surely that is known."""

    kind: Kind
    ratio: float
    alpha: float
    power: float
    """Wanted."""
    paired: bool
    recorded: int
    """Runs that the simulation draws from."""
    runs: int | None
    """Of each arm; None: more than were simulated."""
    low: int | None
    high: int | None
    """95 % Monte Carlo interval of that number; it does not hold what the recorded runs themselves leave open."""
    curve: tuple[PowerPoint, ...]
    """By number of runs."""


@dataclass
class _Search:
    """Simulated points so far."""

    law: Law
    alpha: float
    wanted: float
    paired: bool
    exchanges: int
    rng: np.random.Generator
    most: int
    shown: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Runs to (experiments that showed it, experiments)."""

    def simulate(self, runs: int, experiments: int) -> float:
        """Add experiments at a number of runs; return the power there."""
        hits = sum(self._shows(runs) for _ in range(experiments))
        before = self.shown.get(runs, (0, 0))
        self.shown[runs] = (before[0] + hits, before[1] + experiments)
        return self.shown[runs][0] / self.shown[runs][1]

    def _shows(self, runs: int) -> bool:
        uniform = self.rng.random((2, runs))
        baseline, cured = self.law.baseline(uniform[0]), self.law.cured(uniform[1])
        seed = int(self.rng.integers(2**31))
        arms = (contributions(arm, "spread") for arm in (baseline, cured))
        test = ratio_test(*arms, paired=self.paired, seed=seed, alpha=self.alpha, exchanges=self.exchanges)
        return side(*test.interval(1 - self.alpha)) == ("less" if self.law.ratio < 1 else "more")

    def bracket(self, start: int) -> bool:
        """Grow or shrink until the wanted power lies between two numbers of runs; False when the most are too few."""
        runs = min(max(start, FEWEST), self.most)
        grow = self.simulate(runs, FIRST_EXPERIMENTS) < self.wanted
        while (runs < self.most) if grow else (runs > FEWEST):
            runs = round(min(max(runs * STEP if grow else runs / STEP, FEWEST), self.most))
            if (self.simulate(runs, FIRST_EXPERIMENTS) < self.wanted) != grow:
                return True
        return not grow

    def fitted(self) -> tuple[FloatArray, FloatArray]:
        """Fit ndtri(power) = a + b sqrt(runs) to all points by likelihood: coefficients and their covariance."""
        runs = np.array(list(self.shown), dtype=np.float64)
        hits, experiments = np.array(list(self.shown.values()), dtype=np.float64).T
        root = np.sqrt(runs)

        def loss(ab: FloatArray) -> float:
            z = ab[0] + ab[1] * root
            return -float((hits * log_ndtr(z) + (experiments - hits) * log_ndtr(-z)).sum())

        start = np.array([-2.0, (2.0 + ndtri(self.wanted)) / math.sqrt(float(np.median(runs)))])
        ab = minimize(loss, start, method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-6, "maxiter": 2000}).x
        z = np.clip(ab[0] + ab[1] * root, -6, 6)
        density = np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        weight = experiments * density**2 / np.maximum(ndtr(z) * ndtr(-z), 1e-9)
        information = np.array([[weight.sum(), (weight * root).sum()], [(weight * root).sum(), (weight * runs).sum()]])
        return ab, np.linalg.pinv(information)


def simulated_power(
    values: FloatArray,
    ratio: float,
    *,
    kind: Kind = "scale",
    paired: bool = True,
    alpha: float = 0.05,
    power: float = 0.8,
    start: int = 60,
    experiments: int = 300,
    exchanges: int = 320,
    most: int = MOST_RUNS,
    seed: int = 1,
) -> Power:
    """Find how many runs of each arm show an SD that is `ratio` of the recorded one, with the power wanted.

    Values: finite, not all equal, shape (runs,), in any unit. Each simulated experiment draws both arms anew and
    independently from the recorded runs (`law`) and puts their spreads to `ratio_test`. The number comes from a probit
    line in sqrt(runs) through all points, its interval from the fit. Raises VgoError when no such change reaches the
    ratio.
    """
    search = _Search(law(values, ratio, kind), alpha, power, paired, exchanges, np.random.default_rng(seed), most)
    runs = low = high = None
    if search.bracket(min(start, most)):
        for _ in range(REFINED):
            search.simulate(_solved(search)[0] or most, experiments)
        runs, low, high = _solved(search)
    return Power(
        kind=kind,
        ratio=ratio,
        alpha=alpha,
        power=power,
        paired=paired,
        recorded=values.size,
        runs=runs,
        low=low,
        high=high,
        curve=tuple(_point(n, *search.shown[n]) for n in sorted(search.shown)),
    )


def _solved(search: _Search) -> tuple[int | None, int | None, int | None]:
    """Solve the fitted line for the wanted power: runs and their interval; None beyond what is simulated."""
    (a, b), covariance = search.fitted()
    if b <= 0:
        return None, None, None
    root = (float(ndtri(search.wanted)) - a) / b
    slope = np.array([-1 / b, -root / b])  # of root by a and b: the delta method
    error = math.sqrt(max(float(slope @ covariance @ slope), 0.0))
    squares = (max(math.ceil(max(root + shift, 0.0) ** 2), FEWEST) for shift in (-Z * error, 0.0, Z * error))
    low, runs, high = (square if square <= search.most else None for square in squares)
    return runs, low, high


def _point(runs: int, hits: int, experiments: int) -> PowerPoint:
    bounds = binomtest(hits, experiments).proportion_ci()
    return PowerPoint(
        runs=runs, experiments=experiments, power=hits / experiments, low=float(bounds.low), high=float(bounds.high)
    )


EXPERIMENTS, EXCHANGES = 60, 160
"""A point: they leave some 10 % of the number open, and a hundred recorded runs more than that."""
ALPHA, POWER = 0.05, 0.8
LEAST, MOST = 30, 400
FALL: tuple[Kind, ...] = ("scale", "tail")


def pairs_needed(values: ArrayLike, ratio: float = 0.66) -> int:
    """Say how many pairs show a ratio of SDs on runs of this shape, whether runs scatter less or slow ones get rarer.

    Simulated with the test of a claim, and the same on every call. The formula (z_alpha/2 + z_power)^2
    (kurtosis - 1) / 2 / ln^2 ratio is only the start of the search: it is off by half on a bimodal law, whose tails it
    takes for noise. Many values are sorted once; the rest does not grow with their number.
    """
    if ratio <= 0 or ratio == 1:
        raise ValueError(f"a ratio of {ratio} cannot be shown by any number of runs")
    x = finite(values)
    start = formula(x, ratio, ALPHA, POWER)
    if start is None:
        return LEAST
    return min(max(LEAST, *(_needed(x, ratio, kind, start) for kind in FALL)), MOST)


def formula(x: FloatArray, ratio: float, alpha: float, power: float) -> int | None:
    """Runs that the ideal test needs: the variance of log SD is about (kurtosis - 1) / (4 n); None without spread."""
    shape = kurtosis(x)
    if shape is None:
        return None
    z = float(ndtri(1 - alpha / 2) + ndtri(power))
    return math.ceil(z * z * (shape - 1) / 2 / math.log(ratio) ** 2)


def _needed(x: FloatArray, ratio: float, kind: Kind, start: int) -> int:
    try:
        found = simulated_power(
            x,
            ratio,
            kind=kind,
            alpha=ALPHA,
            power=POWER,
            start=start,
            most=MOST,
            experiments=EXPERIMENTS,
            exchanges=EXCHANGES,
        )
    except VgoError:  # no cure of this kind reaches the ratio, so none needs planning for
        return 0
    return found.runs or MOST
