"""Where nothing is a cause, nothing is called one: at most one time in twenty, give or take the simulation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from vgo_agent.tools.statistics.association.drift import drift_of
from vgo_agent.tools.statistics.association.factors import Columns, associate
from vgo_agent.tools.statistics.values import FloatArray

from ...conftest import Draws
from ...levels import most

Draw = Callable[[np.random.Generator, int, int], FloatArray]
FEW, MANY = 16, 60
"""Draws of a level."""


def independent(rng: np.random.Generator, n: int, p: int) -> FloatArray:
    return rng.normal(size=(n, p))


def drifting(rng: np.random.Generator, n: int, p: int) -> FloatArray:
    return np.linspace(0, 1, n)[:, None] * rng.normal(0, 3, p) + rng.normal(size=(n, p))


def wandering(rng: np.random.Generator, n: int, p: int) -> FloatArray:
    walk = rng.normal(size=(n + 50, p))
    for run in range(1, n + 50):
        walk[run] = 0.9 * walk[run - 1] + 0.44 * walk[run]
    return walk[50:]


def switching(rng: np.random.Generator, n: int, p: int) -> FloatArray:
    return 3 * (np.cumsum(rng.random((n, p)) < 1 / 40, axis=0) % 2) + rng.normal(size=(n, p))


def spiky(rng: np.random.Generator, n: int, p: int) -> FloatArray:
    return rng.normal(0, 0.2, (n, p)) + rng.exponential(5, (n, p)) * (rng.random((n, p)) < 0.1)


@pytest.mark.parametrize("shape", [independent, spiky, drifting, wandering, switching])
@pytest.mark.parametrize("share", [0.5, 0.2])
def test_unrelated_counters_that_move_as_the_outcome_does_are_no_cause(shape: Draw, share: float, draws: Draws) -> None:
    rng = np.random.default_rng(4)
    false, count = 0, draws(FEW, MANY)
    for seed in range(count):
        n = 60 if seed % 2 else 150
        time = np.exp(0.1 * shape(rng, n, 1)[:, 0])
        columns = rng.lognormal(0, 0.4, (n, 60))
        columns[:, :20] = columns[:, :1] * rng.normal(1, 0.1, (n, 20))
        columns[:, 20:40] = np.exp(0.3 * shape(rng, n, 20))
        columns[:, 40:] = time[:, None] * rng.lognormal(0, 0.05, (n, 20))
        table = Columns(tuple(f"c{place}" for place in range(60)), columns)
        slow = time > np.quantile(time, 1 - share)
        found = associate(table, slow, time, per=time, permutations=200, seed=seed, explain=False)
        false += found.p_value <= 0.05
    assert false <= most(count, 0.05)


def test_a_strong_factor_makes_no_pair_of_what_is_unrelated(draws: Draws) -> None:
    rng = np.random.default_rng(5)
    pairs, count = 0, draws(FEW, MANY)
    for seed in range(count):
        columns = rng.normal(size=(100, 12))
        time = np.exp(columns[:, 0] + 0.3 * rng.normal(size=100))
        table = Columns(tuple(f"c{place}" for place in range(12)), columns)
        found = associate(table, time > np.median(time), time, per=None, permutations=200, seed=seed, explain=False)
        pairs += bool(found.interactions)
    assert pairs <= most(count, 0.05)


@pytest.mark.parametrize("throughput", [False, True])
def test_a_rate_beside_an_amount_of_the_same_thing_is_no_pair(throughput: bool) -> None:
    """What others took of the CPU and how long the run waited are one amount, where anybody else ran at all."""
    rng = np.random.default_rng(8)
    pairs = 0
    for seed in range(10):
        time = np.where(rng.random(400) < 0.5, 0.027, 0.018) + rng.gamma(2, 0.001, 400)
        taken = np.where(rng.random(400) < 0.5, 0, rng.gamma(4, 0.05, 400))
        waited = np.where(taken > 0, taken, rng.gamma(3, 0.1, 400)) + 0.01 * rng.random(400)
        table = Columns(("share", "waited"), np.column_stack((taken / time, waited)), rates=frozenset(["share"]))
        per = np.column_stack((1 / time, time)) if throughput else time
        found = associate(table, time > 0.0225, time, per=per, permutations=200, seed=seed, explain=False)
        pairs += bool(found.interactions)
    assert pairs <= 2


def test_the_order_of_independent_runs_is_no_drift(draws: Draws) -> None:
    rng = np.random.default_rng(6)
    table = Columns(("a", "b"), rng.normal(size=(60, 2)))
    p_values = []
    for seed in range(draws(FEW, MANY)):
        outcome = rng.random(60)
        p_values.append(drift_of(table, outcome < 0.4, np.ones(60), outcome, 300, seed).p_value)
    assert sum(p <= 0.05 for p in p_values) <= most(len(p_values), 0.05)


def test_a_drift_and_a_warm_up_go_with_the_order() -> None:
    rng = np.random.default_rng(7)
    table = Columns(("a", "b"), rng.normal(size=(100, 2)))
    outcome: FloatArray = np.linspace(-2, 2, 100) + rng.normal(size=100)
    drift = drift_of(table, outcome > 0, np.ones(100), outcome)
    assert drift.auc > 0.8 and drift.p_value < 0.005 and drift.importance > 0.1 and drift.stability > 0.9
    first: FloatArray = np.zeros(100)
    first[:12] = 1
    warm_up = drift_of(table, first > 0, np.ones(100), first)
    assert warm_up.auc < 0.1 and warm_up.p_value <= 0.02, "a spell that long could lie elsewhere"
    plain: FloatArray = np.linspace(1, 2, 60)
    assert drift_of(Columns(("a",), rng.normal(size=(60, 1))), plain > 1.5, np.ones(60), plain).p_value < 0.001
