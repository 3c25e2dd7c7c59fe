"""Was a setting switched in mixed order?"""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.tools.analysis.analysis import evidence, mixed

steady = settings(deadline=None, derandomize=True)


def column(values: object) -> np.ndarray:
    return np.asarray(values, dtype=float).reshape(-1, 1)


@steady
@given(st.integers(2, 6), st.integers(4, 30))
def test_one_value_after_the_other_is_no_mixed_order(values: int, each: int) -> None:
    assert not mixed(column(np.repeat(np.arange(values), each)), [0])


@steady
@given(st.integers(2, 6), st.integers(4, 30))
def test_strict_alternation_is_mixed(values: int, each: int) -> None:
    assert mixed(column(np.tile(np.arange(values), each)), [0])


def test_a_random_order_counts_as_mixed_nearly_always() -> None:
    rng = np.random.default_rng(1)
    shuffled = [mixed(column(rng.permutation(np.repeat([0, 1, 2], 20))), [0]) for _ in range(300)]
    assert np.mean(shuffled) > 0.95


def test_only_what_was_set_in_mixed_order_is_an_intervention() -> None:
    alternating, blocks = column(np.tile([0, 1], 20)), column(np.repeat([0, 1], 20))
    assert evidence(alternating, [0], setting=False, ordered=True) == "association"
    assert evidence(alternating, [0], setting=True, ordered=True) == "intervention"
    assert evidence(blocks, [0], setting=True, ordered=True) == "intervention in blocks"
    assert evidence(alternating, [0], setting=True, ordered=False) == "intervention in blocks"
