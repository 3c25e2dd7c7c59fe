"""Which columns explain most of the spread."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.tools.statistics.strata import MOST, strata
from vgo_agent.tools.statistics.values import IntArray

steady = settings(deadline=None, derandomize=True)
RUNS = 240


def drawn(seed: int) -> tuple[np.random.Generator, IntArray, dict[str, IntArray]]:
    """Two arms, and columns without meaning."""
    rng = np.random.default_rng(seed)
    return rng, np.arange(RUNS) % 2, {f"c{place}": rng.integers(0, 2 + place, RUNS) for place in range(8)}


def test_columns_without_meaning_are_never_taken() -> None:
    for seed in range(100):
        rng, arms, columns = drawn(seed)
        for outcome in (rng.normal(size=RUNS), rng.lognormal(0, 2, RUNS), 5.0 * arms + rng.normal(size=RUNS)):
            assert strata(outcome, columns, arms, (), 10) is None


@pytest.mark.parametrize(("distance", "taken"), [(4.0, True), (1.0, False)])
def test_a_column_is_taken_where_it_makes_more_than_half_of_the_spread(distance: float, taken: bool) -> None:
    """Of two kinds that are `distance` SDs apart, distance^2 / (4 + distance^2) of the variance is between them."""
    for seed in range(20):
        rng, arms, columns = drawn(seed)
        found = strata(distance * (columns["c0"] > 0) + rng.normal(size=RUNS), columns, arms, (), 10)
        assert (found is not None) == taken
        if found:
            assert found.columns == ("c0",) and found.share > MOST and found.cells == 2


def test_what_makes_most_of_what_is_left_is_taken_too() -> None:
    for seed in range(20):
        rng, arms, columns = drawn(seed)
        outcome = 100.0 * columns["c2"] + 8.0 * columns["c0"] + rng.normal(size=RUNS)
        found = strata(outcome, columns, arms, (), 10)
        assert found is not None and found.columns == ("c2", "c0")
        left = strata(outcome, columns, arms, (columns["c2"],), 10)
        assert left is not None and left.columns == ("c0",)
        assert strata(outcome, columns, arms, (columns["c2"], columns["c0"]), 10) is None


def test_cells_hold_as_many_runs_as_a_claim_needs() -> None:
    rng, arms, columns = drawn(1)
    many = {"many": np.arange(RUNS) // 4, **columns}
    outcome = many["many"] + 0.01 * rng.normal(size=RUNS)
    assert strata(outcome, many, arms, (), 10) is None
    found = strata(outcome, many, np.zeros_like(arms), (), 4)
    assert found is not None and found.columns == ("many",)


@steady
@given(st.integers(0, 1000), st.sampled_from([1e-9, 1.0, 1e6]))
def test_neither_unit_nor_order_nor_what_the_arms_differ_by_moves_the_choice(seed: int, unit: float) -> None:
    rng, arms, columns = drawn(seed)
    outcome = 3.0 * columns["c1"] + rng.normal(size=RUNS)
    shuffled = rng.permutation(RUNS)
    moved = {name: codes[shuffled] for name, codes in columns.items()}
    one, other = (
        strata(outcome, columns, arms, (), 10),
        strata(unit * (outcome + 50 * arms)[shuffled], moved, arms[shuffled], (), 10),
    )
    assert one is not None and other is not None
    assert one.columns == other.columns and one.share == pytest.approx(other.share)
