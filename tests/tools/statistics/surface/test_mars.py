"""MARS finds what is piecewise linear, alone and in products, and leaves out what is not there."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from vgo_agent.tools.statistics.surface.mars import Forward, columns, fit_mars
from vgo_agent.tools.statistics.values import FloatArray

GRID = np.array(list(itertools.product(np.arange(9) / 8, np.arange(7) / 6, np.arange(5) / 4)))


def hinge(column: FloatArray, knot: float) -> FloatArray:
    bent: FloatArray = np.maximum(column - knot, 0.0)
    return bent


def bent(x: FloatArray) -> FloatArray:
    told: FloatArray = 3 + 4 * hinge(x[:, 0], 0.5) - 6 * hinge(x[:, 0], 0.25) * (0.5 - x[:, 1]).clip(0)
    return told


def test_bends_and_their_products_are_found() -> None:
    model = fit_mars(GRID, bent(GRID))
    np.testing.assert_allclose(model.predict(GRID), bent(GRID), atol=1e-6)
    new = np.random.default_rng(1).random((200, 3))
    np.testing.assert_allclose(model.predict(new), bent(new), atol=1e-6)
    assert all(one.variable != 2 for term in model.terms for one in term), "the third setting has no part in it"


def test_products_of_three_are_found_where_they_are_allowed() -> None:
    y = hinge(GRID[:, 0], 0.5) * hinge(GRID[:, 1], 0.5) * GRID[:, 2]
    assert np.abs(fit_mars(GRID, y).predict(GRID) - y).max() < 1e-6
    assert np.abs(fit_mars(GRID, y, degree=2).predict(GRID) - y).max() > 0.01


def test_noise_alone_is_pruned_away() -> None:
    y = np.random.default_rng(2).normal(size=len(GRID))
    assert len(fit_mars(GRID, y).terms) <= 6


def test_noise_on_bends_is_averaged_out() -> None:
    rng = np.random.default_rng(3)
    model = fit_mars(GRID, bent(GRID) + rng.normal(0, 0.1, len(GRID)))
    assert np.sqrt(((model.predict(GRID) - bent(GRID)) ** 2).mean()) < 0.05


def test_the_gain_of_a_step_is_that_of_a_fit_from_nothing() -> None:
    rng = np.random.default_rng(4)
    x, y = rng.random((60, 3)), rng.normal(size=60)
    forward = Forward(x, y, [np.unique(column)[1:-1] for column in x.T], 3)
    for _ in range(6):
        missed = float(forward.residual @ forward.residual)
        best = max(
            (one.best(place, forward.residual) for place, one in enumerate(forward.candidates)), key=lambda c: c[0]
        )
        forward.add(best)
        made = columns(forward.terms, x)
        told = made @ np.linalg.lstsq(made, y, rcond=None)[0]
        assert missed - best.gain == pytest.approx(float(((y - told) ** 2).sum()), rel=1e-6)


def test_unit_and_order_of_the_points_do_not_matter() -> None:
    rng = np.random.default_rng(5)
    x, new = rng.random((120, 4)), rng.random((50, 4))
    y = np.sin(5 * x[:, 0]) * x[:, 1] + rng.normal(0, 0.05, 120)
    told, order = fit_mars(x, y).predict(new), rng.permutation(120)
    np.testing.assert_allclose(fit_mars(x[order], y[order]).predict(new), told, atol=1e-7)
    np.testing.assert_allclose(fit_mars(x, 1000 * y + 7).predict(new), 1000 * told + 7, rtol=1e-6, atol=1e-4)
