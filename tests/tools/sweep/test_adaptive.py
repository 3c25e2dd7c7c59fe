"""The next cells: never one that was run or may not be, towards the least or the least known, the same by seed."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from vgo_agent.tools.sweep.adaptive import WORTHWHILE, MeasuredCell, expected_improvement, points, propose, scaled
from vgo_agent.tools.sweep.cell import identity, response_of
from vgo_agent.tools.sweep.space import Space

from ...examples import examples

LINE = Space.model_validate({"parameters": {"x": {"range": {"low": 0, "high": 10}}}})


def told(values, function):
    return [MeasuredCell({"x": x}, function(x)) for x in values]


def test_it_goes_where_a_valley_is_expected():
    seen = told([0, 2, 4, 6, 8, 10], lambda x: 1 + (x - 7) ** 2)
    (one,) = propose(LINE, seen, 1, "best", 1)
    assert 6 < float(one.values["x"]) < 8
    assert one.why.startswith("expected improvement")


def test_it_goes_into_the_gap_where_the_least_is_known():
    seen = told([0, 1, 2, 3, 9, 10], lambda x: 5 + np.sin(x))
    (one,) = propose(LINE, seen, 1, "unknown", 1)
    assert 3.5 < float(one.values["x"]) < 8.5


def test_several_at_once_are_not_the_same_place():
    seen = told([0, 5, 10], lambda x: 5 + np.sin(x))
    places = sorted(float(one.values["x"]) for one in propose(LINE, seen, 3, "unknown", 1))
    assert min(np.diff(places)) > 0.5


def test_the_same_seed_gives_the_same_cells():
    seen = told([0, 3, 6, 9], lambda x: 1 + x)
    assert propose(LINE, seen, 2, "best", 4) == propose(LINE, seen, 2, "best", 4)


@settings(max_examples=examples(0.1), deadline=None)
@given(st.data())
def test_of_levels_every_allowed_cell_comes_once_and_then_none(data):
    space = Space.model_validate(
        {"parameters": {"a": {"levels": [1, 2, 4]}, "b": {"levels": ["x", "y"]}}, "where": ["a < 4 or b == 'x'"]}
    )
    numbers = st.floats(0.1, 10)
    seen: list[MeasuredCell] = []
    for _ in range(5):
        (one,) = propose(space, seen, 1, data.draw(st.sampled_from(["best", "unknown"])), 3)
        seen.append(MeasuredCell(one.values, data.draw(numbers)))
    assert len({identity(one.values) for one in seen}) == 5
    assert propose(space, seen, 1, "best", 3) == []


@settings(deadline=None)
@given(st.floats(-3, 3), st.floats(0.05, 3), st.floats(-3, 3))
def test_the_expected_improvement_is_the_mean_of_what_lies_below_the_best(mean, sd, best):
    (found,) = expected_improvement(np.array([mean]), np.array([sd]), best)
    values = norm(mean, sd).ppf((np.arange(20_000) + 0.5) / 20_000)
    assert found == pytest.approx(np.maximum(best - WORTHWHILE - values, 0).mean(), abs=1e-3 * sd)


def test_where_all_is_known_no_improvement_is_expected():
    assert expected_improvement(np.array([1.0, 5.0]), np.zeros(2), 3.0).tolist() == [0, 0]


@pytest.mark.parametrize("response", [None, 1.0])
def test_without_responses_or_with_equal_ones_it_still_proposes(response):
    seen = [MeasuredCell({"x": x}, response) for x in (0, 5, 10)]
    assert len(propose(LINE, seen, 2, "best", 1)) == 2


def test_a_range_on_a_log_scale_has_even_coordinates():
    space = Space.model_validate({"parameters": {"x": {"range": {"low": 1, "high": 100, "log": True}}}})
    assert points(space, [{"x": 1}, {"x": 10}, {"x": 100}]).ravel().tolist() == pytest.approx([0, 0.5, 1])


def test_words_are_as_far_apart_and_one_level_has_no_coordinate():
    space = Space.model_validate({"parameters": {"w": {"levels": ["p", "q", 3]}, "one": {"levels": [3]}}})
    placed = points(space, [{"w": word, "one": 3} for word in ("p", "q", 3)])
    assert [np.linalg.norm(placed[a] - placed[b]) for a, b in ((0, 1), (0, 2), (1, 2))] == pytest.approx([1, 1, 1])


def test_spreads_are_compared_by_their_ratio_and_signed_numbers_as_they_are():
    assert scaled([1.0, math.e]).tolist() == pytest.approx([0, 1])
    assert scaled([-1.0, 3.0]).tolist() == [-1, 3]


def test_a_higher_mean_can_be_the_better_one_but_never_a_higher_spread():
    statistics = {"mean": 5.0, "sd": 2.0, "p99": None}
    assert response_of(statistics, "mean", lower_is_better=False) == -5
    assert response_of(statistics, "sd", lower_is_better=False) == 2
    assert response_of(statistics, "p99", lower_is_better=True) is None
