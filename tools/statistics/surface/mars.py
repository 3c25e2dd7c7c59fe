"""Multivariate adaptive regression splines: hinges and their products, chosen forwards and pruned by GCV.

MOANA, section 5.2; the effective number of parameters is that of Friedman, Annals of Statistics 19.1 (1991), section
3.6: terms + 3 (terms - 1) / 2, a cost of three for each knot.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..values import FloatArray
from .hinges import TIE, Forward, Term, columns

MOST_KNOTS = 50
"""Knots of one variable: of more levels, evenly spaced quantiles."""
MOST_TERMS = 61
DEGREE = 3
"""Variables in a product at most."""
LEAST_GAIN = 1e-5
"""A pair that explains less than this share of the spread ends the forward pass."""
KNOT_COST = 3.0


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
