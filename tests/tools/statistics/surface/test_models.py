"""What holds for every model of a surface, and for the errors that are told of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.tools.statistics.surface.catalogue import HYBRID, MODELS, SINGLE, HybridRecipe, stacked
from vgo_agent.tools.statistics.surface.model import errors, groups, unseen
from vgo_agent.tools.statistics.surface.variance import shares
from vgo_agent.tools.statistics.values import FloatArray
from vgo_agent.tools.surface.predict import pareto_front

LIGHT = HybridRecipe({name: SINGLE[name] for name in ("shepard", "mars", "gaussian")})


def wavy(points: int, seed: int = 1) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    x = rng.random((points, 2))
    return x, np.sin(3 * x[:, 0]) + x[:, 0] * x[:, 1] + rng.normal(0, 0.02, points)


@pytest.mark.parametrize("name", MODELS)
def test_every_model_learns_a_smooth_surface(name: str) -> None:
    x, y = wavy(150)
    new = 0.1 + 0.8 * np.random.default_rng(2).random((100, 2))
    told = MODELS[name].fit(x, y).predict(new)
    missed = told - (np.sin(3 * new[:, 0]) + new[:, 0] * new[:, 1])
    assert np.sqrt((missed**2).mean()) < 0.2 * y.std()


def repr_of(recipe: object) -> str:
    return type(recipe).__name__


@pytest.mark.parametrize("recipe", [SINGLE["mars"], SINGLE["gaussian"], SINGLE["radial"], LIGHT], ids=repr_of)
@pytest.mark.parametrize("one_by_one", [True, False])
def test_no_point_has_a_say_in_its_own_prediction(recipe: HybridRecipe, one_by_one: bool) -> None:
    x, y = wavy(24)
    group = groups(24, 1, 3)
    before = unseen(recipe, x, y, group, one_by_one)
    y[5] += 10
    after = unseen(recipe, x, y, group, one_by_one)
    assert after[5] == pytest.approx(before[5], abs=1e-12)
    assert not np.allclose(after, before)


def test_the_hybrid_weighs_what_predicts_well() -> None:
    rng = np.random.default_rng(1)
    y = rng.normal(size=200)
    told = np.column_stack((y + rng.normal(0, 0.1, 200), y + rng.normal(0, 0.1, 200), rng.normal(size=200)))
    good, other, useless = stacked(told, y)
    assert good + other + useless == pytest.approx(1)
    assert useless < 0.02 and min(good, other) > 0.3


def test_the_hybrid_is_no_worse_than_its_members_by_much_and_names_none_unused() -> None:
    x, y = wavy(100)
    recipe = LIGHT.tuned(x, y)
    assert sum(recipe.weights.values()) == pytest.approx(1)
    fitted = recipe.fit(x, y)
    assert set(fitted.members) == {name for name, weight in recipe.weights.items() if weight > 0}


def test_many_points_are_judged_by_a_random_tenth() -> None:
    x = np.random.default_rng(1).random((2500, 1))
    told = unseen(SINGLE["mars"], x, x[:, 0] * 2, groups(2500, 1))
    assert np.isfinite(told).sum() == 250
    assert errors(x[:, 0] * 2, told).points == 250


def test_errors_are_the_measures_of_the_paper() -> None:
    found = errors(np.array([1.0, 2.0, 3.0]), np.array([1.0, 4.0, 3.0]))
    assert found.mse == pytest.approx(4 / 3)
    assert found.relative == pytest.approx(np.sqrt(4 / 3) / 2)
    assert found.as_printed == pytest.approx(4 / 3 / 2)
    assert found.median_ratio == pytest.approx(1)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=1, max_size=30))
def test_the_front_is_what_nothing_beats(points: list[tuple[int, int]]) -> None:
    first, second = (np.array(column, dtype=np.float64) for column in zip(*points, strict=True))
    front = {points[place] for place in pareto_front(first, second)}
    beaten = {a for a in points if any(b != a and b[0] <= a[0] and b[1] <= a[1] for b in points)}
    assert front == set(points) - beaten


def test_shares_of_a_known_surface() -> None:
    told = shares(lambda u: 3 * u[:, 0] + u[:, 1] + 4 * (u[:, 2] - 0.5) * (u[:, 3] - 0.5), list("abcde"), 1)
    whole = 9 / 12 + 1 / 12 + 16 / 144
    expected = {"a": (9 / 12, 9 / 12), "b": (1 / 12, 1 / 12), "c": (0, 16 / 144), "d": (0, 16 / 144), "e": (0, 0)}
    for one in told:
        alone, total = expected[one.setting]
        assert one.alone == pytest.approx(alone / whole, abs=0.03)
        assert one.total == pytest.approx(total / whole, abs=0.03)
        assert 0 <= one.alone <= one.total <= 1


@pytest.mark.parametrize("names", ["a", "ab"])
def test_a_flat_surface_has_no_shares(names: str) -> None:
    assert [one.total for one in shares(lambda u: np.ones(len(u)), list(names), 1)] == [0] * len(names)


def test_a_single_setting_has_all_of_the_variance() -> None:
    (one,) = shares(lambda u: u[:, 0] ** 2, ["a"], 1)
    assert (one.alone, one.total) == pytest.approx((1, 1), abs=0.03)


def test_the_hybrid_is_among_the_models() -> None:
    assert HYBRID in MODELS and set(SINGLE) == set(MODELS) - {HYBRID}
