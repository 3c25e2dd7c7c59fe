"""Multivariate adaptive regression splines: hinges and their products, chosen forwards and pruned by GCV.

MOANA, section 5.2; the effective number of parameters is that of Friedman, Annals of Statistics 19.1 (1991), section
3.6: terms + 3 (terms - 1) / 2, a cost of three for each knot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..values import FloatArray

TOLERANCE = 1e-7
"""A candidate whose squared length falls below this share, once the basis is taken out, adds nothing."""
TIE = 1e-9
"""Gains that differ by a smaller share are equal, and the first counts: the order of the points must not decide."""
MOST_KNOTS = 50
"""Knots of one variable: of more levels, evenly spaced quantiles."""
MOST_TERMS = 61
DEGREE = 3
"""Variables in a product at most."""
LEAST_GAIN = 1e-5
"""A pair that explains less than this share of the spread ends the forward pass."""
KNOT_COST = 3.0


class Hinge(NamedTuple):
    """(x - knot)+ for sign 1, (knot - x)+ for sign -1."""

    variable: int
    knot: float
    sign: int

    def of(self, x: FloatArray) -> FloatArray:
        """Evaluate at points of shape (points, dimensions)."""
        bent: FloatArray = np.maximum(self.sign * (x[:, self.variable] - self.knot), 0.0)
        return bent


Term = tuple[Hinge, ...]
"""A product of hinges in distinct variables; () is the constant."""


class HingePair(NamedTuple):
    """The pair that is added next."""

    gain: float
    """Fall of the squared error."""
    parent: int
    variable: int
    knot: float


def columns(terms: list[Term], x: FloatArray) -> FloatArray:
    """Evaluate terms, shape (points, terms)."""
    made = np.ones((len(x), len(terms)), order="F")
    for place, term in enumerate(terms):
        for hinge in term:
            made[:, place] *= hinge.of(x)
    return made


class _Candidates:
    """All terms times the hinges of one variable, in inner products with what there is."""

    def __init__(self, x: FloatArray, knots: FloatArray) -> None:
        self.x, self.knots = x, knots
        self.hinged = np.maximum(x[:, None] - knots, 0.0)
        self.parents: list[int] = []
        self.values = np.empty((0, len(x)))
        """Shape (parents, points): b."""
        self.straight = np.empty(0)
        """Shape (parents,): squared lengths of b x."""
        self.norms = np.empty((0, len(knots)))
        """Shape (parents, knots): squared lengths of b(x-t)+."""
        self.crossed = np.empty((0, len(knots)))
        """Shape (parents, knots): inner products of b x with b(x-t)+."""
        self.on_linear = np.empty((0, 0))
        """Shape (basis, parents): inner products of the basis with b x."""
        self.on_hinges = np.empty((0, 0, len(knots)))
        """Shape (basis, parents, knots): and with b(x-t)+."""

    def offer(self, place: int, value: FloatArray, basis: FloatArray) -> None:
        """Take in a term of shape (points,); `basis` has shape (basis, points)."""
        squared = value**2
        linear, hinges = basis @ (value * self.x), (basis * value) @ self.hinged
        first = not self.parents
        self.parents.append(place)
        self.values = np.vstack((self.values, value))
        self.straight = np.append(self.straight, squared @ self.x**2)
        self.norms = np.vstack((self.norms, squared @ self.hinged**2))
        self.crossed = np.vstack((self.crossed, (squared * self.x) @ self.hinged))
        self.on_linear = linear[:, None] if first else np.hstack((self.on_linear, linear[:, None]))
        hinges = hinges[:, None, :]
        self.on_hinges = hinges if first else np.concatenate((self.on_hinges, hinges), axis=1)

    def extend(self, new: FloatArray) -> None:
        """Take in a column of the basis, shape (points,)."""
        if self.parents:
            moved = self.values * new
            self.on_linear = np.vstack((self.on_linear, moved @ self.x))
            self.on_hinges = np.concatenate((self.on_hinges, (moved @ self.hinged)[None]))

    def best(self, variable: int, residual: FloatArray) -> HingePair:
        """Find the pair that lowers the squared error most."""
        if not self.parents or not len(self.knots):
            return HingePair(0.0, 0, variable, 0.0)
        moved = self.values * residual
        slope, hinges = moved @ self.x, moved @ self.hinged
        left = self.straight - (self.on_linear**2).sum(axis=0)
        norms = self.norms - (self.on_hinges**2).sum(axis=0)
        new = left > TOLERANCE * self.straight
        share = np.where(new, 1 / np.where(new, left, 1.0), 0.0)
        shared = self.crossed - np.einsum("bp,bpk->pk", self.on_linear, self.on_hinges)
        hinges = hinges - shared * (slope * share)[:, None]
        norms = norms - shared**2 * share[:, None]
        usable = norms > TOLERANCE * np.maximum(self.norms, 1e-300)
        gains = np.where(usable, hinges**2 / np.where(usable, norms, 1.0), 0.0) + (slope**2 * share)[:, None]
        parent, knot = np.unravel_index(int(np.argmax(gains >= (1 - TIE) * gains.max())), gains.shape)
        return HingePair(float(gains[parent, knot]), self.parents[parent], variable, float(self.knots[knot]))


class Forward:
    """The forward pass over given points; terms are added in pairs until nothing is gained."""

    def __init__(self, x: FloatArray, y: FloatArray, knots: list[FloatArray], degree: int) -> None:
        """Start with the constant; `knots` are those of each variable."""
        self.x, self.degree = x, degree
        self.terms: list[Term] = [()]
        self.values = [np.ones(len(y))]
        self.basis = np.full((1, len(y)), len(y) ** -0.5)
        self.residual = y - y.mean()
        self.candidates = [_Candidates(column, own) for column, own in zip(x.T, knots, strict=True)]
        self._offer(0)

    def run(self, most_terms: int, least_gain: float) -> list[Term]:
        """Add pairs up to so many terms, or until a pair gains less than this share of the whole squared error."""
        whole = float(self.residual @ self.residual)
        while len(self.terms) + 2 <= most_terms:
            chosen = self.best()
            if chosen.gain <= least_gain * whole:
                break
            self.add(chosen)
        return self.terms

    def best(self) -> HingePair:
        """Find the pair that lowers the squared error most."""
        choices = [one.best(place, self.residual) for place, one in enumerate(self.candidates)]
        most = max(each.gain for each in choices)
        return next(each for each in choices if each.gain >= (1 - TIE) * most)

    def add(self, chosen: HingePair) -> None:
        """Add a pair of terms."""
        first = len(self.terms)
        for sign in (1, -1):
            hinge = Hinge(chosen.variable, chosen.knot, sign)
            self.terms.append((*self.terms[chosen.parent], hinge))
            self.values.append(self.values[chosen.parent] * hinge.of(self.x))
        for value in self.values[first:]:
            self._orthogonalise(value)
        for place in (first, first + 1):
            self._offer(place)

    def _orthogonalise(self, value: FloatArray) -> None:
        """Extend the basis by what is new in a term; twice over, since once loses digits."""
        rest = value - self.basis.T @ (self.basis @ value)
        rest = rest - self.basis.T @ (self.basis @ rest)
        length = float(np.sqrt(rest @ rest))
        if length**2 <= TOLERANCE * float(value @ value):
            return
        new = rest / length
        self.basis = np.vstack((self.basis, new))
        self.residual = self.residual - new * (new @ self.residual)
        for one in self.candidates:
            one.extend(new)

    def _offer(self, place: int) -> None:
        """Let a new term be a parent for each variable that is not in it."""
        term, value = self.terms[place], self.values[place]
        if len(term) >= self.degree or not value.any():
            return
        used = {hinge.variable for hinge in term}
        for variable, one in enumerate(self.candidates):
            if variable not in used:
                one.offer(place, value, self.basis)


@dataclass(frozen=True)
class Mars:
    """Terms and their coefficients."""

    terms: tuple[Term, ...]
    coefficients: FloatArray
    """Shape (terms,)."""

    def predict(self, x: FloatArray) -> FloatArray:
        """Add up the terms."""
        total: FloatArray = columns(list(self.terms), x) @ self.coefficients
        return total


def fit_mars(x: FloatArray, y: FloatArray, degree: int = DEGREE, most_terms: int = MOST_TERMS) -> Mars:
    """Fit; 810 points in 4 dimensions take about a tenth of a second."""
    knots = [_knots(column) for column in x.T]
    most = max(3, min(most_terms, len(y) // 2))
    terms = Forward(x, y, knots, min(degree, x.shape[1])).run(most, LEAST_GAIN)
    chosen = [terms[place] for place in _pruned(terms, columns(terms, x), y)]
    coefficients, *_ = np.linalg.lstsq(columns(chosen, x), y, rcond=None)
    return Mars(tuple(chosen), np.asarray(coefficients, dtype=np.float64))


def _knots(column: FloatArray) -> FloatArray:
    """Levels where a hinge can bend: all but the outermost, or as many of them as there is room for."""
    inner = np.unique(column)
    if len(inner) > MOST_KNOTS:
        inner = np.unique(np.quantile(column, np.linspace(0, 1, MOST_KNOTS + 2), method="nearest"))
    # With two levels alone the lower one makes the straight line.
    return inner[1:-1] if len(inner) > 2 else inner[:-1]


def _pruned(terms: list[Term], made: FloatArray, y: FloatArray) -> list[int]:
    """Take out one term after another, always the one that costs least, and keep the set of the lowest GCV."""
    scale = np.maximum(np.sqrt((made**2).sum(axis=0)), 1e-300)
    q, r = np.linalg.qr(made / scale)
    turned = q.T @ y
    outside = max(float(y @ y - turned @ turned), 0.0)
    left = [place for place in range(r.shape[1]) if abs(r[place, place]) > 1e-6]  # no combination of those before them
    best, lowest = left, np.inf
    while left:
        # With the orthonormal rows of the pseudo-inverse: leaving term k out costs beta_k^2 / |row k|^2.
        inverse = np.linalg.pinv(r[:, left])
        beta = inverse @ turned
        missed = turned - r[:, left] @ beta
        value = _gcv(outside + float(missed @ missed), len(left), len(y))
        if value < lowest:
            best, lowest = left, value
        costs = beta**2 / (inverse**2).sum(axis=1)
        costs[[not terms[place] for place in left]] = np.inf
        if not np.isfinite(costs.min()):
            break
        # Equal costs: the newest goes, whatever the order of the points.
        cheapest = int(np.flatnonzero(costs <= (1 + TIE) * costs.min())[-1])
        left = [term for place, term in enumerate(left) if place != cheapest]
    return best


def _gcv(squares: float, terms: int, points: int) -> float:
    effective = terms + KNOT_COST * (terms - 1) / 2
    return np.inf if effective >= points else squares / points / (1 - effective / points) ** 2
