"""The next cells of an adaptive design: a Gaussian process over the cells so far says where to go.

Expected improvement (Jones, Schonlau and Welch 1998) seeks the best response, the greatest predictive SD where the
surface is least known. Several cells at once are chosen one after the other, each as if it had given what the process
expects (the "kriging believer" of Ginsbourger et al. 2010).
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from ..statistics.values import FloatArray
from .cell import Values, hypercube, identity, sifted
from .space import Level, Parameter, Space

MOST_CANDIDATES = 2000
WORTHWHILE = 0.01
"""An improvement by less, of a logarithm a hundredth of the response, is not sought."""
LEAST_TOLD = 2
"""Cells with a response, below which the next ones are drawn at random."""


class MeasuredCell(NamedTuple):
    """A cell that has been run."""

    values: Values
    response: float | None
    """The less, the better; None where it has none."""


class CellProposal(NamedTuple):
    """A cell to run, and why."""

    values: Values
    why: str


def propose(
    space: Space, told: Sequence[MeasuredCell], count: int, seek: Literal["best", "unknown"], seed: int
) -> list[CellProposal]:
    """Choose the next cells among those that were not run; fewer than `count` where the space has no more.

    The same cells and seed give the same proposals.
    """
    rng = np.random.default_rng((seed, len(told)))
    left = candidates(space, told, rng)
    known = [one for one in told if one.response is not None]
    if len(known) < LEAST_TOLD:
        return [CellProposal(values, "drawn at random, since too few cells have a response") for values in left[:count]]
    coordinates = Coordinates(space)
    points, responses = coordinates.of([one.values for one in known]), scaled([one.response or 0.0 for one in known])
    chosen: list[CellProposal] = []
    while left and len(chosen) < count:
        scores, means = _scored(points, responses, coordinates.of(left), seek, seed)
        best = int(np.argmax(scores))
        chosen.append(CellProposal(left.pop(best), _why(seek, float(scores[best]))))
        points = np.vstack([points, coordinates.of([chosen[-1].values])])
        responses = np.append(responses, means[best])
    return chosen


def candidates(space: Space, told: Sequence[MeasuredCell], rng: np.random.Generator) -> list[Values]:
    """List cells that were not run: all of a small space of levels, a sample of any other, in random order."""
    levels = {name: parameter.levels for name, parameter in space.parameters.items()}
    count = math.prod(map(len, levels.values()))
    if 0 < count <= MOST_CANDIDATES:
        every: list[Values] = [dict(zip(levels, one, strict=True)) for one in itertools.product(*levels.values())]
        drawn = [every[place] for place in rng.permutation(count)]
    else:
        drawn = hypercube(space, MOST_CANDIDATES, rng)
    run = {identity(one.values) for one in told}
    return [values for values in sifted(space, drawn).cells if identity(values) not in run]


def scaled(responses: Sequence[float]) -> FloatArray:
    """Take logarithms where all are positive: a spread has a scale, and its error is a share of it."""
    found = np.asarray(responses, dtype=np.float64)
    return np.log(found) if bool((found > 0).all()) else found


class Coordinates:
    """Cells as points: numbers from 0 to 1, on the scale of their range; one coordinate for each word."""

    def __init__(self, space: Space) -> None:
        self._axes = [(name, _Axis(parameter)) for name, parameter in space.parameters.items()]

    def of(self, cells: Sequence[Values]) -> FloatArray:
        """Give the points, shape (cells, coordinates)."""
        rows = [[one for name, axis in self._axes for one in axis.of(values[name])] for values in cells]
        return np.asarray(rows, dtype=np.float64).reshape(len(cells), -1)


class _Axis:
    def __init__(self, parameter: Parameter) -> None:
        ends = parameter.range
        self._log = ends is not None and ends.log
        self._words = () if parameter.numeric else tuple(dict.fromkeys(map(str, parameter.levels)))
        numbers = [ends.low, ends.high] if ends else [one for one in parameter.levels if not isinstance(one, str)]
        self._low, self._high = (min(numbers), max(numbers)) if parameter.numeric else (0.0, 1.0)

    def of(self, level: Level) -> list[float]:
        if self._words:
            return [float(str(level) == word) for word in self._words]
        if isinstance(level, str) or self._high == self._low:
            return [0.0]
        if self._log:
            return [math.log(level / self._low) / math.log(self._high / self._low)]
        return [(level - self._low) / (self._high - self._low)]


def _scored(
    points: FloatArray, responses: FloatArray, at: FloatArray, seek: str, seed: int
) -> tuple[FloatArray, FloatArray]:
    """Score candidates, more is better, and give the mean that is expected there."""
    means, sds = _expected(points, responses, at, seed)
    return (sds if seek == "unknown" else expected_improvement(means, sds, float(responses.min()))), means


def expected_improvement(means: FloatArray, sds: FloatArray, best: float) -> FloatArray:
    """Give by how much each is expected to fall below the best, less what is not worth a run; 0 where all is known."""
    from scipy.special import ndtr

    gains = best - WORTHWHILE - means
    z = np.divide(gains, sds, out=np.zeros_like(gains), where=sds > 0)
    density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    return np.where(sds > 0, gains * ndtr(z) + sds * density, 0.0)


def _expected(points: FloatArray, responses: FloatArray, at: FloatArray, seed: int) -> tuple[FloatArray, FloatArray]:
    """Fit a Gaussian process with a Matern kernel, one length a coordinate, and noise; its mean and SD, less noise."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    size = points.shape[1]
    lengths = Matern(length_scale=np.ones(size), length_scale_bounds=[(0.01, 100.0)] * size, nu=2.5)
    kernel = ConstantKernel(1.0, (0.01, 1000.0)) * lengths + WhiteKernel()
    process = GaussianProcessRegressor(kernel, normalize_y=True, n_restarts_optimizer=1, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a length at its bound is a parameter without effect
        process.fit(points, responses)
    process.kernel_ = process.kernel_.k1  # the surface varies by this much, its measurement by the noise as well
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a variance that rounds below 0 is 0
        means, sds = process.predict(at, return_std=True)
    return means, sds


def _why(seek: str, score: float) -> str:
    return f"expected improvement {score:.3g}" if seek == "best" else f"greatest predictive SD, {score:.3g}"


def response_of(statistics: Mapping[str, float | None], response: str, lower_is_better: bool) -> float | None:
    """Give a response that is better the less it is; a spread is, whatever the outcome."""
    value = statistics.get(response)
    if value is None or response in ("sd", "cv") or lower_is_better:
        return value
    return -value
