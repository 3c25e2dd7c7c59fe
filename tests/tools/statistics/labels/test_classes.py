"""Slow and fast."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.tools.statistics.labels.classes import Labelled, label, label_at
from vgo_agent.tools.statistics.labels.cut_search import AUTOMATIC, CutRule, parse
from vgo_agent.tools.statistics.shape.describe import describe

steady = settings(deadline=None, derandomize=True)


def labelled(outcome: ArrayLike, lower_is_better: bool = True, cut: CutRule = AUTOMATIC) -> Labelled:
    return label(outcome, describe(outcome), lower_is_better, cut)


def test_two_modes_are_cut_between_them() -> None:
    rng = np.random.default_rng(1)
    slow = rng.random(100) < 0.3
    found = labelled(rng.normal(1, 0.02, 100) + 0.5 * slow)
    assert found.classes.kind == "modes" and (found.slow == slow).all()


def test_throughput_is_mirrored() -> None:
    rng = np.random.default_rng(2)
    slow = rng.random(100) < 0.3
    found = labelled(rng.normal(100, 2, 100) - 50 * slow, lower_is_better=False)
    assert found.classes.kind == "modes" and (found.slow == slow).all()


def test_a_heavy_tail_is_cut_off_between_p75_and_p90() -> None:
    runs = np.random.default_rng(3).lognormal(0, 1, 200)
    found = labelled(runs)
    assert found.classes.kind == "right tail" and 20 <= found.classes.n_slow <= 50
    assert runs[found.slow].min() > found.classes.cut > runs[~found.slow].max()


def test_the_slow_tail_of_a_throughput_is_the_left_one() -> None:
    classes = labelled(-np.random.default_rng(4).lognormal(0, 1, 200), lower_is_better=False).classes
    assert classes.kind == "left tail" and 20 <= classes.n_slow <= 50


def test_a_tail_of_too_few_runs_is_not_a_class() -> None:
    runs = np.random.default_rng(5).lognormal(0, 1, 30)
    classes = labelled(runs).classes
    assert min(classes.n_slow, classes.n_fast) >= 8


def test_a_normal_law_is_cut_at_the_median() -> None:
    classes = labelled(np.random.default_rng(6).normal(size=100)).classes
    assert (classes.kind, classes.n_slow, classes.n_fast) == ("median", 50, 50)


def test_a_drifting_series_says_so() -> None:
    rng = np.random.default_rng(7)
    assert labelled(np.linspace(0, 5, 100) + rng.normal(size=100)).classes.kind == "drift"


def test_equal_runs_have_no_slow_ones() -> None:
    assert labelled([1.0] * 20).classes.n_slow == 0


def test_an_outcome_that_is_not_a_number_is_refused() -> None:
    with pytest.raises(VgoError, match="run 1"):
        labelled([1.0, np.nan, 2.0])


@steady
@given(st.lists(st.integers(1, 6), min_size=2, max_size=60))
def test_two_different_values_always_give_two_classes(values: list[int]) -> None:
    found = labelled(values)
    assert (found.classes.n_slow > 0) == (len(set(values)) > 1)
    assert found.classes.n_slow + found.classes.n_fast == len(values) == found.slow.size


@steady
@given(st.integers(0, 1000), st.booleans())
def test_labels_do_not_know_the_unit(seed: int, lower: bool) -> None:
    runs = np.random.default_rng(seed).lognormal(0, 0.6, 70)
    one, other = labelled(runs, lower), labelled(runs * 1000, lower)
    assert one.classes.kind == other.classes.kind and (one.slow == other.slow).all()


@steady
@given(st.integers(0, 1000))
def test_the_mirror_image_of_lower_is_better_has_the_same_labels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    runs = rng.lognormal(0, 0.6, 70) + 9 * (rng.random(70) < 0.2)
    one, other = labelled(runs), labelled(-runs, lower_is_better=False)
    assert (one.slow == other.slow).all() and one.classes.cut == pytest.approx(-other.classes.cut)


def test_a_given_cut_is_obeyed_on_both_sides() -> None:
    assert label_at([1, 2, 3], 2.0).slow.tolist() == [False, False, True]
    assert label_at([1, 2, 3], 2.0, lower_is_better=False).slow.tolist() == [True, False, False]


def test_several_cuts_give_ordered_classes_of_which_the_worst_is_slow() -> None:
    found = labelled([1, 2, 3, 4, 5, 6], cut=parse("2.5,4.5"))
    assert found.worse.tolist() == [0, 0, 1, 1, 2, 2]
    assert (found.classes.sizes, found.classes.cut, found.classes.cuts) == ((2, 2, 2), 4.5, (2.5, 4.5))
    mirrored = labelled([1, 2, 3, 4, 5, 6], lower_is_better=False, cut=parse("2.5,4.5"))
    assert mirrored.worse.tolist() == [2, 2, 1, 1, 0, 0] and mirrored.classes.cut == 2.5


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("median", (60, 60)),
        ("tertiles", (40, 40, 40)),
        ("quartiles", (30, 30, 30, 30)),
        ("p90", (108, 12)),
        ("p50,p95", (60, 54, 6)),
    ],
)
def test_quantiles_have_their_share_of_runs(text: str, sizes: tuple[int, ...]) -> None:
    found = labelled(np.random.default_rng(8).permutation(120), cut=parse(text))
    assert found.classes.sizes == sizes == tuple(np.bincount(found.worse).tolist())


def test_each_mode_can_be_a_class() -> None:
    rng = np.random.default_rng(9)
    mode = rng.integers(3, size=200)
    found = labelled(rng.normal(size=200) + 12 * mode, cut=parse("between-modes"))
    assert (found.worse == mode).all() and "modes" in found.classes.how


def test_one_mode_has_nothing_between() -> None:
    with pytest.raises(VgoError, match="--cut median"):
        labelled(np.random.default_rng(10).normal(size=100), cut=parse("between-modes"))


def test_a_tail_can_be_asked_for_where_it_is_not_heavy() -> None:
    runs = np.random.default_rng(11).normal(size=100)
    assert labelled(runs, cut=parse("before-tail")).classes.kind == "right tail"
    assert labelled(runs, lower_is_better=False, cut=parse("before-tail")).classes.kind == "left tail"


def test_the_mean_is_the_mean() -> None:
    assert labelled([1, 2, 9], cut=parse("mean")).classes.cut == 4.0


def test_a_cut_outside_leaves_an_empty_class_that_is_counted() -> None:
    assert labelled([1.0, 2.0, 3.0], cut=parse("7")).classes.sizes == (3, 0)


def test_drift_does_not_hide_a_tail() -> None:
    rng = np.random.default_rng(12)
    runs = np.linspace(0, 2, 200) + rng.normal(size=200) + 15 * rng.exponential(1, 200) * (rng.random(200) < 0.12)
    shape = describe(runs)
    assert shape.drift and label(runs, shape).classes.kind in ("right tail", "modes")


def test_a_coarse_clock_and_wild_runs_leave_no_tiny_class() -> None:
    rng = np.random.default_rng(13)
    for _ in range(30):
        runs = np.round(rng.normal(10, 1, 100))
        runs[:3] = 500.0
        assert min(labelled(rng.permutation(runs)).classes.sizes) >= 5


WAYS = ("auto", "median", "mean", "tertiles", "quartiles", "p90", "p10,p50", "before-tail")


@steady
@given(st.integers(0, 1000), st.sampled_from(WAYS), st.integers(30, 90))
def test_classes_know_neither_unit_nor_order_nor_sign(seed: int, way: str, size: int) -> None:
    rng = np.random.default_rng(seed)
    runs = rng.lognormal(0, 0.6, size)
    shuffled = rng.permutation(size)
    one = label(runs, describe(runs, ordered=False), cut=parse(way))
    other = label(runs[shuffled] * 1024, describe(runs[shuffled] * 1024, ordered=False), cut=parse(way))
    assert (one.worse[shuffled] == other.worse).all()
    if not way.startswith("p"):
        mirrored = label(-runs, describe(-runs, ordered=False), lower_is_better=False, cut=parse(way))
        assert (one.worse == mirrored.worse).all()


@steady
@given(st.lists(st.integers(1, 30), min_size=2, max_size=40), st.sampled_from(WAYS[1:7]))
def test_measuring_every_run_twice_moves_no_cut(values: list[int], way: str) -> None:
    one, two = labelled(values, cut=parse(way)), labelled(values * 2, cut=parse(way))
    assert one.classes.cuts == pytest.approx(two.classes.cuts)
    assert tuple(2 * size for size in one.classes.sizes) == two.classes.sizes
