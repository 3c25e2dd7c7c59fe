"""Linear Shepard by the formulas of MOANA, section 5.1."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.tools.statistics.surface.interpolation import fit_shepard
from vgo_agent.tools.statistics.values import FloatArray


def by_the_book(x: FloatArray, f: FloatArray, at: FloatArray) -> float:
    """Section 5.1, written out over all pairs; inside at least one radius and at no node."""
    n, m = x.shape
    np_ = min(n, -(-3 * m // 2))
    diameter = max(np.linalg.norm(a - b) for a in x for b in x)
    top = bottom = 0.0
    for k in range(n):
        d = np.linalg.norm(x - x[k], axis=1)
        order = [i for i in np.argsort(d, kind="stable") if i != k][: np_ - 1]
        r = d[order[-1]]
        reach, heard = 1.1 * r, min(diameter / 2, r)
        omega = [((reach - d[i]) / (reach * d[i])) ** 2 for i in order]
        a = np.array([np.sqrt(w) * (x[i] - x[k]) for w, i in zip(omega, order, strict=True)])
        b = np.array([np.sqrt(w) * (f[i] - f[k]) for w, i in zip(omega, order, strict=True)])
        slope = np.linalg.lstsq(a, b, rcond=None)[0]
        apart = np.linalg.norm(at - x[k])
        weight = (max(heard - apart, 0.0) / (heard * apart)) ** 2
        top += weight * (f[k] + slope @ (at - x[k]))
        bottom += weight
    return float(top / bottom) if bottom else np.nan


def test_a_small_case_computed_by_hand() -> None:
    # R = 1, .5, .5; D/2 = .75, so R_w = .75, .5, .5; slopes 2, 6, 6. At .6 the weights are 1/9, 1/4 and 0.
    model = fit_shepard(np.array([[0.0], [1.0], [1.5]]), np.array([0.0, 2.0, 5.0]))
    np.testing.assert_allclose(model.radii, [0.75, 0.5, 0.5], atol=1e-12)
    np.testing.assert_allclose(model.slopes[:, 0], [2, 6, 6], atol=1e-12)
    expected = (1.2 / 9 - 0.4 / 4) / (1 / 9 + 1 / 4)
    assert model.predict(np.array([[0.6]]))[0] == pytest.approx(expected, abs=1e-12)


def test_slopes_across_a_line_of_nodes_have_minimum_norm() -> None:
    model = fit_shepard(np.array([[0.0, 0.0], [1.0, 0.0], [2.5, 0.0], [3.0, 0.0]]), np.array([0.0, 2.0, 5.0, 6.0]))
    np.testing.assert_allclose(model.slopes, [[2, 0]] * 4, atol=1e-12)


def test_outside_all_radii_the_nearest_nodes_are_averaged() -> None:
    x, f = np.array([[0.0], [1.0], [1.5]]), np.array([0.0, 2.0, 5.0])
    told = fit_shepard(x, f).predict(np.array([[4.0]]))[0]  # m + 1 = 2 nearest, weights 1/d^2
    assert told == pytest.approx((5 / 2.5**2 + 2 / 3**2) / (1 / 2.5**2 + 1 / 3**2), abs=1e-12)


@settings(deadline=None)
@given(seed=st.integers(0, 10**6), m=st.integers(1, 4), n=st.integers(7, 30))
def test_it_is_the_book_to_nine_digits(seed: int, m: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    x, f, at = rng.random((n, m)), rng.normal(size=n), rng.random((5, m))
    told = fit_shepard(x, f).predict(at)
    for point, value in zip(at, told, strict=True):
        expected = by_the_book(x, f, point)
        if np.isfinite(expected):
            assert value == pytest.approx(expected, rel=1e-9, abs=1e-9)


@settings(deadline=None)
@given(seed=st.integers(0, 10**6))
def test_nodes_are_met_and_planes_are_kept(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, slope = rng.random((40, 3)), rng.normal(size=3)
    f = rng.normal(size=40)
    np.testing.assert_allclose(fit_shepard(x, f).predict(x), f, atol=1e-12)
    plane = fit_shepard(x, x @ slope + 2)
    inside = rng.random((50, 3))
    heard = np.array([(np.linalg.norm(x - p, axis=1) < plane.radii).any() for p in inside])
    np.testing.assert_allclose(plane.predict(inside)[heard], (inside @ slope + 2)[heard], atol=1e-9)
