"""The next cells of an adaptive design: a Gaussian process over the cells so far says where to go.

Expected improvement (Jones, Schonlau and Welch 1998) seeks the best response, the greatest predictive SD where the
surface is least known. Several cells at once are chosen one after the other, each as if it had given what the process
expects (the "kriging believer" of Ginsbourger et al. 2010).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import ndtr

from ..statistics.surface.gaussian import GaussianRecipe
from ..statistics.values import FloatArray
from ..surface.axes import SurfaceAxis, axis_of, encode
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
    x, y = points(space, [one.values for one in known]), scaled([one.response or 0.0 for one in known])
    recipe = GaussianRecipe(seed).tuned(x, y)
    chosen: list[CellProposal] = []
    while left and len(chosen) < count:
        process, at = recipe.fit(x, y), points(space, left)
        means, sds = process.predict(at), process.sd(at)
        scores = sds if seek == "unknown" else expected_improvement(means, sds, float(y.min()))
        best = int(np.argmax(scores))
        why = "expected improvement" if seek == "best" else "greatest predictive SD,"
        chosen.append(CellProposal(left.pop(best), f"{why} {scores[best]:.3g}"))
        x, y = np.vstack([x, at[best]]), np.append(y, means[best])
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


def points(space: Space, cells: Sequence[Values]) -> FloatArray:
    """Place cells on the axes of a surface, shape (cells, coordinates); a parameter with one level has none."""
    varied = {name: one for name, one in space.parameters.items() if one.range or len(set(one.levels)) > 1}
    columns: dict[str, list[Level]] = {
        name: [cell[name] if one.numeric else str(cell[name]) for cell in cells] for name, one in varied.items()
    }
    return encode([_axis(name, one) for name, one in varied.items()], columns)


def _axis(name: str, parameter: Parameter) -> SurfaceAxis:
    if (ends := parameter.range) is None:
        return axis_of(name, parameter.levels)
    return SurfaceAxis(name=name, scale="log" if ends.log else "straight", levels=(ends.low, ends.high))


def expected_improvement(means: FloatArray, sds: FloatArray, best: float) -> FloatArray:
    """Give by how much each is expected to fall below the best, less what is not worth a run; 0 where all is known."""
    gains = best - WORTHWHILE - means
    z = np.divide(gains, sds, out=np.zeros_like(gains), where=sds > 0)
    density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    return np.where(sds > 0, gains * ndtr(z) + sds * density, 0.0)
