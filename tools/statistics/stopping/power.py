"""How many pairs of runs show a given fall of the spread, soon enough to plan a batch with."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, log_ndtr, ndtr, ndtri

from ....knowledge.errors import VgoError
from ..ratio_test import FEWEST, contributions, ratio_test, side
from ..spread import kurtosis
from ..values import FiniteResult, FloatArray, finite
from .recorded_law import Kind, Law, law

MOST_RUNS = 5000
"""Of an arm: more are not simulated."""
FIRST_EXPERIMENTS = 60
"""To find the region; points in it get the full number."""
STEP = 1.6
REFINED = 3
"""Points in the region."""
Z = 1.96
EXPERIMENTS, EXCHANGES = 60, 160
"""A point: they leave some 10 % of the number open, and a hundred recorded runs more than that."""
LEAST, MOST = 30, 400
FALL: tuple[Kind, ...] = ("scale", "tail")


@dataclass(frozen=True)
class PowerRequest:
    """What should be shown, and how surely."""

    ratio: float
    power: float = 0.8
    alpha: float = 0.05
    kind: Kind = "scale"
    paired: bool = False
    seed: int = 1

    def __post_init__(self) -> None:
        """Refuse what no number of runs can show."""
        if not 0 < self.ratio < 100:
            raise VgoError(f"--plan {self.ratio:g} does not lie above 0 and below 100; choose, for example, 0.66.")
        if self.ratio == 1:
            raise VgoError("--plan 1 is no change, which no number of runs shows; choose, for example, 0.66.")
        if self.kind == "tail" and self.ratio > 1:
            raise VgoError(f"--kind tail cannot raise the spread to --plan {self.ratio:g}; choose --kind scale.")
        if not 0 < self.alpha < 0.5:
            raise VgoError(f"--alpha {self.alpha:g} is no chance of a wrong claim; choose it between 0 and 0.5.")
        if not self.alpha < self.power <= 0.99:
            raise VgoError(f"--power {self.power:g} must lie above --alpha and at most at 0.99; choose 0.8.")
        if self.seed < 0:
            raise VgoError(f"--seed {self.seed} is below 0; choose any number from 0.")


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
    asked: PowerRequest
    exchanges: int
    most: int
    rng: np.random.Generator
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
        test = ratio_test(*arms, paired=self.asked.paired, seed=seed, alpha=self.asked.alpha, exchanges=self.exchanges)
        return side(*test.interval(1 - self.asked.alpha)) == ("less" if self.law.ratio < 1 else "more")

    def bracket(self, start: int) -> bool:
        """Grow or shrink until the wanted power lies between two numbers of runs; False when the most are too few."""
        runs = min(max(start, FEWEST), self.most)
        grow = self.simulate(runs, FIRST_EXPERIMENTS) < self.asked.power
        while (runs < self.most) if grow else (runs > FEWEST):
            runs = round(min(max(runs * STEP if grow else runs / STEP, FEWEST), self.most))
            if (self.simulate(runs, FIRST_EXPERIMENTS) < self.asked.power) != grow:
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

        start = np.array([-2.0, (2.0 + ndtri(self.asked.power)) / math.sqrt(float(np.median(runs)))])
        from scipy.optimize import minimize  # a fifth of a second to load, which most commands can spare

        ab = minimize(loss, start, method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-6, "maxiter": 2000}).x
        z = np.clip(ab[0] + ab[1] * root, -6, 6)
        density = np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        weight = experiments * density**2 / np.maximum(ndtr(z) * ndtr(-z), 1e-9)
        information = np.array([[weight.sum(), (weight * root).sum()], [(weight * root).sum(), (weight * runs).sum()]])
        return ab, np.linalg.pinv(information)


def simulated_power(
    values: FloatArray,
    asked: PowerRequest,
    *,
    start: int = 60,
    experiments: int = 300,
    exchanges: int = 320,
    most: int = MOST_RUNS,
) -> Power:
    """Find how many runs of each arm show an SD that is `asked.ratio` of the recorded one, with the power wanted.

    Values: finite, not all equal, shape (runs,), in any unit. Each simulated experiment draws both arms anew and
    independently from the recorded runs (`law`) and puts their spreads to `ratio_test`. The number comes from a probit
    line in sqrt(runs) through all points, its interval from the fit. Raises VgoError when no such change reaches the
    ratio.
    """
    drawn_from, rng = law(values, asked.ratio, asked.kind), np.random.default_rng(asked.seed)
    search = _Search(drawn_from, asked, exchanges, most, rng)
    runs = low = high = None
    if search.bracket(min(start, most)):
        for _ in range(REFINED):
            search.simulate(_solved(search)[0] or most, experiments)
        runs, low, high = _solved(search)
    return Power(
        kind=asked.kind,
        ratio=asked.ratio,
        alpha=asked.alpha,
        power=asked.power,
        paired=asked.paired,
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
    root = (float(ndtri(search.asked.power)) - a) / b
    slope = np.array([-1 / b, -root / b])  # of root by a and b: the delta method
    error = math.sqrt(max(float(slope @ covariance @ slope), 0.0))
    squares = (max(math.ceil(max(root + shift, 0.0) ** 2), FEWEST) for shift in (-Z * error, 0.0, Z * error))
    low, runs, high = (square if square <= search.most else None for square in squares)
    return runs, low, high


def _point(runs: int, hits: int, experiments: int) -> PowerPoint:
    """Give the share with its interval by Clopper and Pearson (Biometrika 26, 1934), which needs no scipy.stats."""
    low = float(betaincinv(hits, experiments - hits + 1, 0.025)) if hits else 0.0
    high = float(betaincinv(hits + 1, experiments - hits, 0.975)) if hits < experiments else 1.0
    return PowerPoint(runs=runs, experiments=experiments, power=hits / experiments, low=low, high=high)


def pairs_needed(values: ArrayLike, ratio: float = 0.66) -> int:
    """Say how many pairs show a ratio of SDs on runs of this shape, whether runs scatter less or slow ones get rarer.

    Simulated with the test of a claim, and the same on every call. The formula (z_alpha/2 + z_power)^2
    (kurtosis - 1) / 2 / ln^2 ratio is only the start of the search: it is off by half on a bimodal law, whose tails it
    takes for noise. Many values are sorted once; the rest does not grow with their number.
    """
    if ratio <= 0 or ratio == 1:
        raise ValueError(f"a ratio of {ratio} cannot be shown by any number of runs")
    x = finite(values)
    start = formula(x, PowerRequest(ratio))
    if start is None:
        return LEAST
    return min(max(LEAST, *(_needed(x, ratio, kind, start) for kind in FALL)), MOST)


def formula(x: FloatArray, asked: PowerRequest) -> int | None:
    """Runs that the ideal test needs: the variance of log SD is about (kurtosis - 1) / (4 n); None without spread."""
    shape = kurtosis(x)
    if shape is None:
        return None
    z = float(ndtri(1 - asked.alpha / 2) + ndtri(asked.power))
    return math.ceil(z * z * (shape - 1) / 2 / math.log(asked.ratio) ** 2)


def _needed(x: FloatArray, ratio: float, kind: Kind, start: int) -> int:
    try:
        asked = PowerRequest(ratio, kind=kind, paired=True)
        found = simulated_power(x, asked, start=start, most=MOST, experiments=EXPERIMENTS, exchanges=EXCHANGES)
    except VgoError:  # no cure of this kind reaches the ratio, so none needs planning for
        return 0
    return found.runs or MOST
