"""Slow and fast."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.tools.statistics.labels.classes import Classes, label, label_at
from vgo_agent.tools.statistics.shape.describe import describe

steady = settings(max_examples=40, deadline=None, derandomize=True)


def labelled(outcome: ArrayLike, lower_is_better: bool = True) -> Classes:
    return label(outcome, describe(outcome), lower_is_better)


def test_two_modes_are_cut_between_them() -> None:
    rng = np.random.default_rng(1)
    slow = rng.random(100) < 0.3
    classes = labelled(rng.normal(1, 0.02, 100) + 0.5 * slow)
    assert classes.kind == "modes" and classes.slow == tuple(slow)


def test_throughput_is_mirrored() -> None:
    rng = np.random.default_rng(2)
    slow = rng.random(100) < 0.3
    classes = labelled(rng.normal(100, 2, 100) - 50 * slow, lower_is_better=False)
    assert classes.kind == "modes" and classes.slow == tuple(slow)


def test_a_heavy_tail_is_cut_off_between_p75_and_p90() -> None:
    runs = np.random.default_rng(3).lognormal(0, 1, 200)
    classes = labelled(runs)
    assert classes.kind == "right tail" and 20 <= classes.n_slow <= 50
    assert min(run for run, slow in zip(runs, classes.slow, strict=True) if slow) > classes.cut


def test_the_slow_tail_of_a_throughput_is_the_left_one() -> None:
    classes = labelled(-np.random.default_rng(4).lognormal(0, 1, 200), lower_is_better=False)
    assert classes.kind == "left tail" and 20 <= classes.n_slow <= 50


def test_a_tail_of_too_few_runs_is_not_a_class() -> None:
    runs = np.random.default_rng(5).lognormal(0, 1, 30)
    classes = labelled(runs)
    assert min(classes.n_slow, classes.n_fast) >= 8


def test_a_normal_law_is_cut_at_the_median() -> None:
    classes = labelled(np.random.default_rng(6).normal(size=100))
    assert (classes.kind, classes.n_slow, classes.n_fast) == ("median", 50, 50)


def test_a_drifting_series_says_so() -> None:
    rng = np.random.default_rng(7)
    assert labelled(np.linspace(0, 5, 100) + rng.normal(size=100)).kind == "drift"


def test_equal_runs_have_no_slow_ones() -> None:
    assert labelled([1.0] * 20).n_slow == 0


def test_an_outcome_that_is_not_a_number_is_refused() -> None:
    with pytest.raises(VgoError, match="run 1"):
        labelled([1.0, np.nan, 2.0])


@steady
@given(st.lists(st.integers(1, 6), min_size=2, max_size=60))
def test_two_different_values_always_give_two_classes(values: list[int]) -> None:
    classes = labelled(values)
    assert (classes.n_slow > 0) == (len(set(values)) > 1)
    assert classes.n_slow + classes.n_fast == len(values) == len(classes.slow)


@steady
@given(st.integers(0, 1000), st.booleans())
def test_labels_do_not_know_the_unit(seed: int, lower: bool) -> None:
    runs = np.random.default_rng(seed).lognormal(0, 0.6, 70)
    one, other = labelled(runs, lower), labelled(runs * 1000, lower)
    assert (one.kind, one.slow) == (other.kind, other.slow)


@steady
@given(st.integers(0, 1000))
def test_the_mirror_image_of_lower_is_better_has_the_same_labels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    runs = rng.lognormal(0, 0.6, 70) + 9 * (rng.random(70) < 0.2)
    one, other = labelled(runs), labelled(-runs, lower_is_better=False)
    assert one.slow == other.slow and one.cut == pytest.approx(-other.cut)


def test_a_given_cut_is_obeyed_on_both_sides() -> None:
    assert label_at([1, 2, 3], 2.0).slow == (False, False, True)
    assert label_at([1, 2, 3], 2.0, lower_is_better=False).slow == (True, False, False)
