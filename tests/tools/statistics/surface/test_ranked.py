"""Ranks as coordinates: even levels stay as they are, uneven ones are spaced evenly."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vgo_agent.tools.statistics.surface.gaussian import RankedRecipe, levels_of, ranked, says_more
from vgo_agent.tools.statistics.surface.interpolation import fit_shepard
from vgo_agent.tools.statistics.surface.model import Untuned


def test_levels_are_spaced_evenly_and_what_lies_between_is_interpolated():
    x = np.array([[0.0], [0.01], [1.0]])
    np.testing.assert_allclose(ranked(x, levels_of(x))[:, 0], [0, 0.5, 1])
    np.testing.assert_allclose(ranked(np.array([[0.505], [-1.0], [2.0]]), levels_of(x))[:, 0], [0.75, -1, 2])


def test_even_levels_and_drawn_points_say_nothing_more():
    even = np.array(np.meshgrid(np.linspace(0, 1, 4), np.linspace(0, 1, 5))).reshape(2, -1).T
    drawn = np.random.default_rng(1).random((200, 3))
    drawn[0], drawn[1] = 0.0, 1.0
    assert not says_more(even)
    assert not says_more(drawn)
    assert says_more(even**2)


@given(st.lists(st.integers(0, 1000), min_size=2, max_size=20, unique=True))
def test_ranks_keep_the_order(values):
    x = np.array(sorted(values))[:, None] / 1000
    assert (np.diff(ranked(x, levels_of(x))[:, 0]) > 0).all()


def test_a_recipe_on_ranks_does_not_see_how_far_levels_lie_apart():
    rng = np.random.default_rng(2)
    grid = np.array(np.meshgrid([0, 0.2, 0.4, 0.6, 0.8, 1.0], [0, 0.25, 0.5, 0.75, 1.0])).reshape(2, -1).T
    y = grid[:, 0] + grid[:, 1] ** 2 + rng.normal(0, 0.1, len(grid))
    bent = np.where(grid == 0.8, 0.999, grid)
    recipe = RankedRecipe(Untuned(fit_shepard))
    straight, moved = recipe.tuned(grid, y).fit(grid, y), recipe.tuned(bent, y).fit(bent, y)
    np.testing.assert_allclose(straight.predict(grid), moved.predict(bent))
