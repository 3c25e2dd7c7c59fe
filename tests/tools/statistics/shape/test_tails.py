"""Outliers and tails."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import lognorm

from vgo_agent.tools.statistics.shape.describe import describe

from ...conftest import Draws


def test_a_wild_run_is_named_and_kept() -> None:
    runs = np.random.default_rng(1).normal(10, 1, 100)
    runs[37] = 25.0
    shape = describe(runs)
    assert (shape.outliers.count, shape.outliers.places, shape.outliers.values) == (1, (37,), (25.0,))
    assert shape.n == 100 and "robust z score" in shape.outliers.rule


def test_a_place_counts_the_warm_up_and_the_missing_runs_before_it() -> None:
    runs = np.random.default_rng(2).normal(10, 1, 100)
    runs[0], runs[1], runs[60] = np.nan, 40.0, 30.0
    shape = describe(runs)
    assert shape.warm_up == 1 and shape.outliers.places == (60,)


@pytest.mark.parametrize(("size", "share"), [(30, 0.15), (100, 0.15), (1000, 0.05)])
def test_normal_runs_seldom_have_outliers(size: int, share: float, draws: Draws) -> None:
    rng = np.random.default_rng(3)
    assert np.mean([describe(rng.normal(size=size)).outliers.count > 0 for _ in range(draws(20, 100))]) <= share


def test_a_skewed_law_is_not_made_of_outliers(draws: Draws) -> None:
    rng = np.random.default_rng(4)
    counts = [describe(rng.lognormal(0, 0.5, 1000)).outliers.count for _ in range(draws(30, 50))]
    assert np.mean(np.array(counts) > 0) <= 0.1


def test_a_second_mode_is_not_made_of_outliers() -> None:
    rng = np.random.default_rng(5)
    counts = [describe(rng.normal(size=300) + 10 * (rng.random(300) < 0.2)).outliers.count for _ in range(30)]
    assert np.mean(np.array(counts) > 0) <= 0.1


def test_at_most_twenty_outliers_are_listed() -> None:
    rng = np.random.default_rng(6)
    shape = describe(rng.permutation(np.concatenate([rng.normal(size=1000), rng.uniform(50, 5000, 30)])))
    assert shape.outliers.count == 30 and len(shape.outliers.places) == 20


def test_the_weight_of_a_tail_is_its_share() -> None:
    rng = np.random.default_rng(7)
    shape = describe(rng.lognormal(size=20_000))
    q25, q75 = (float(lognorm.ppf(share, 1)) for share in (0.25, 0.75))
    beyond = float(lognorm.sf(q75 + 1.5 * (q75 - q25), 1))
    assert len(shape.modes) == 1
    assert shape.right_weight == pytest.approx(beyond, abs=0.006) and shape.left_weight == 0


@pytest.mark.parametrize("share", [0.5, 0.3, 0.7])
def test_a_second_mode_is_no_tail(share: float, draws: Draws) -> None:
    rng = np.random.default_rng(9)
    shapes = [describe(rng.normal(size=200) + 8 * (rng.random(200) < share)) for _ in range(draws(20, 100))]
    assert all(len(shape.modes) > 1 for shape in shapes)
    assert np.mean([shape.right_tail for shape in shapes]) <= 0.05
    assert np.mean([shape.left_tail for shape in shapes]) <= 0.05
    assert max(max(shape.right_weight, shape.left_weight) for shape in shapes) < 0.1


def test_the_tail_of_the_highest_mode_is_still_a_tail() -> None:
    rng = np.random.default_rng(10)
    two = [np.concatenate([rng.normal(0, 1, 100), 12 + rng.lognormal(0, 1, 100)]) for _ in range(30)]
    shapes = [describe(rng.permutation(runs)) for runs in two]
    assert np.mean([shape.right_tail for shape in shapes]) > 0.8
    assert np.mean([shape.left_tail for shape in shapes]) <= 0.1


def test_a_million_skewed_runs_are_one_mode_with_a_tail() -> None:
    shape = describe(np.random.default_rng(8).lognormal(0, 0.5, 1_000_000))
    assert len(shape.modes) == 1 and shape.right_tail and not shape.drift and shape.outliers.count < 20
