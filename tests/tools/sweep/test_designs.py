"""Designs: a grid is complete, a Latin hypercube has one cell in every part, nothing is run twice."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.tools.sweep.cell import Cell, grid, identity, latin_hypercube, sifted
from vgo_agent.tools.sweep.space import Space, shown

LEVELS = st.lists(st.integers(-50, 50) | st.sampled_from(["x", "y z", "0-1", "max"]), min_size=1, max_size=5)


def space(parameters, **more):
    return Space.model_validate({"parameters": parameters, **more})


@given(st.lists(LEVELS, min_size=1, max_size=4))
def test_a_grid_has_every_combination_once(levels):
    drawn = grid(space({f"p{at}": {"levels": each} for at, each in enumerate(levels)}))
    assert len(drawn.cells) == math.prod(len(set(map(str, each))) for each in levels)
    assert len({identity(values) for values in drawn.cells}) == len(drawn.cells)
    assert bool(drawn.told) == any(len(set(map(str, each))) < len(each) for each in levels)


@settings(deadline=None)
@given(st.integers(1, 60), st.integers(1, 4), st.integers(0, 2**31))
def test_a_latin_hypercube_has_one_cell_in_each_part_of_each_range(cells, count, seed):
    asked = space({f"p{at}": {"range": {"low": 0, "high": cells}} for at in range(count)})
    drawn = latin_hypercube(asked, cells, seed)
    for name in asked.parameters:
        # Six digits can carry a number over the edge of its part.
        parts = sorted(float(values[name]) for values in drawn.cells)
        assert all(place - 1e-3 <= value <= place + 1 + 1e-3 for place, value in enumerate(parts))
    assert drawn == latin_hypercube(asked, cells, seed)


@settings(deadline=None)
@given(st.integers(1, 5), st.integers(1, 8), st.integers(0, 2**31))
def test_each_level_has_an_equal_part_of_a_latin_hypercube(levels, times, seed):
    asked = space({"p": {"levels": list(range(levels))}, "q": {"range": {"low": 1, "high": 1e6, "log": True}}})
    drawn = latin_hypercube(asked, levels * times, seed)
    for level in range(levels):
        assert sum(values["p"] == level for values in drawn.cells) == times


@settings(deadline=None)
@given(st.integers(-100, 100), st.integers(1, 100), st.integers(0, 2**31))
def test_whole_numbers_of_a_range_stay_within_it_and_each_can_come(low, more, seed):
    asked = space({"p": {"range": {"low": low, "high": low + more, "integer": True}}})
    drawn = latin_hypercube(asked, more + 1, seed)
    assert [values["p"] for values in sorted(drawn.cells, key=lambda one: one["p"])] == list(range(low, low + more + 1))


@pytest.mark.parametrize(
    ("given_range", "levels"),
    [
        ({"low": 1, "high": 100, "log": True}, (1, 10, 100)),
        ({"low": 4, "high": 4096, "log": True, "integer": True, "steps": 6}, (4, 16, 64, 256, 1024, 4096)),
        ({"low": 0, "high": 1, "steps": 5}, (0, 0.25, 0.5, 0.75, 1)),
        ({"low": 1, "high": 2, "integer": True, "steps": 3}, (1, 2)),
    ],
)
def test_a_range_has_even_steps_in_a_grid(given_range, levels):
    assert tuple(values["p"] for values in grid(space({"p": {"range": given_range}})).cells) == levels


def test_what_may_not_be_is_left_out_of_any_design():
    asked = space({"a": {"levels": [1, 2, 3]}, "b": {"levels": [1, 2, 3]}}, where=["a <= b", "a + b < 6"])
    assert {(one["a"], one["b"]) for one in grid(asked).cells} == {(1, 1), (1, 2), (1, 3), (2, 2), (2, 3)}
    assert all(int(one["a"]) <= int(one["b"]) for one in latin_hypercube(asked, 30, 1).cells)
    same, outside = latin_hypercube(asked, 60, 1).told
    assert same.endswith("cells are the same as another: dropped")
    assert outside.endswith("cells are left out, since `where` does not hold of them")


def test_a_grid_of_too_many_cells_is_refused_with_the_cure():
    asked = space({f"p{at}": {"levels": list(range(10))} for at in range(6)})
    with pytest.raises(VgoError, match=r"1,000,000 cells, more than 100,000.*--design lhs"):
        grid(asked)


def test_sifting_twice_changes_nothing():
    asked = space({"a": {"levels": [1, 2]}})
    once = sifted(asked, [{"a": 1}, {"a": 1.0}, {"a": 2}])
    assert [dict(one) for one in once.cells] == [{"a": 1}, {"a": 2}]
    assert sifted(asked, once.cells).cells == once.cells


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_written_without_an_exponent_and_reads_back(value):
    assert "e" not in shown(value).lower()
    assert float(shown(value)) == value


def test_a_cell_has_the_name_of_its_levels():
    assert Cell("c0001", {"a": 1.50, "b": "x"}).name == "a=1.5 b=x"
