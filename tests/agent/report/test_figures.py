"""Pictures: well-formed, the same bytes each time, and drawn whatever the data look like."""

from __future__ import annotations

import re
from collections.abc import Callable
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from vgo_agent.agent.report.figures import Outcomes, distribution, overlay, run_order, scatter, window
from vgo_agent.agent.report.study_files import forest
from vgo_agent.agent.report.tree_figure import tree
from vgo_agent.tools.amount import amount
from vgo_agent.tools.statistics.association.tree import fit_tree
from vgo_agent.tools.study.effects import Effect, EffectRatio

from ...examples import examples

AXIS = Outcomes("wall time", "s")
RNG = np.random.default_rng(11)
SAMPLES = {
    "two runs": np.array([1.0, 2.0]),
    "one run": np.array([0.3]),
    "all equal": np.full(40, 0.2),
    "all zero": np.zeros(5),
    "negative": -RNG.random(30),
    "tiny": 1e-9 * RNG.random(30),
    "outlier": np.r_[RNG.normal(0.2, 0.01, 99), 900.0],
    "very many": RNG.lognormal(-1, 0.2, 10_000),
}


def _all(values: np.ndarray) -> list[str]:
    slow = values > np.median(values)
    return [
        distribution(values, slow, float(np.median(values)), [float(values.min()), float(values.max())], AXIS),
        distribution(values, None, None, [], AXIS),
        overlay(values, values[::-1] * 0.9, AXIS, "SD ratio 0.9"),
        run_order(values, 1, (values, values), AXIS),
        run_order(values, 0, None, AXIS),
        scatter(values * 7, values, slow, Outcomes("minor_faults", "count"), AXIS, "R² 1"),
    ]


@pytest.mark.parametrize("name", list(SAMPLES))
def test_every_picture_is_drawn_from_any_sample(name: str) -> None:
    for svg in _all(SAMPLES[name]):
        ElementTree.fromstring(svg.replace('href="data:', 'src="data:'))
        assert "nan" not in re.sub(r"data:[^\"]*", "", svg).lower()
        assert len(svg) < 400_000


@settings(max_examples=examples(0.1), deadline=None)
@given(arrays(np.float64, st.integers(2, 12), elements=st.floats(-1e9, 1e9, allow_subnormal=False)))
def test_no_finite_sample_breaks_a_picture(values: np.ndarray) -> None:
    assert all(svg.startswith("<svg") for svg in _all(values))


def test_a_picture_has_the_same_bytes_each_time() -> None:
    assert _all(SAMPLES["outlier"]) == _all(SAMPLES["outlier"])


def test_wild_runs_are_left_outside_and_counted() -> None:
    view = window(SAMPLES["outlier"])
    assert view.high < 1
    largest = np.sort(SAMPLES["outlier"])[-2:]
    assert view.note == f"1 run beyond {amount(largest[0], '')}, up to {amount(largest[1], '')}"
    assert "2 runs beyond " in overlay(SAMPLES["outlier"], SAMPLES["outlier"], AXIS, "")


def test_one_outlier_has_a_bin_of_its_own() -> None:
    svg = distribution(SAMPLES["outlier"], None, None, (), AXIS)
    assert "1 run beyond " in svg and "up to 9e+05 ms" in svg
    assert "url(#" in svg  # the hatch


def test_one_far_run_of_few_is_left_outside_and_two_of_few_are_not() -> None:
    few = np.linspace(1.0, 1.2, 12)
    assert window(np.append(few, 99.0)).beyond == 1
    assert window(np.append(few, (99.0, 98.0))).beyond == 0
    assert window(np.append(few[:4], 99.0)).beyond == 0


def test_a_scatter_says_what_it_leaves_out_on_either_axis() -> None:
    values = SAMPLES["outlier"]
    svg = scatter(values, values, values > 1, Outcomes("minor_faults", "count"), AXIS, "R² 1")
    assert svg.count("1 run beyond ") == 2


@given(st.floats(1e-3, 1e3))
def test_the_window_follows_the_unit(factor: float) -> None:
    view, scaled = window(SAMPLES["outlier"]), window(SAMPLES["outlier"] * factor)
    assert scaled.beyond == view.beyond
    assert scaled.high == pytest.approx(view.high * factor)


def test_a_second_mode_is_never_left_outside() -> None:
    assert window(np.r_[np.full(90, 1.0) + RNG.random(90) / 100, np.full(10, 500.0)]).beyond == 0


@pytest.mark.parametrize("draw", [lambda text: scatter(*_xy(), Outcomes(text, "count"), AXIS, text)])
def test_hostile_names_stay_text(draw: Callable[[str], str]) -> None:
    svg = draw('<script>alert("$x$")</script>')
    assert "<script" not in svg
    assert "&lt;script" in svg


def test_themes_colour_the_picture_and_markers_tell_the_classes_apart_without_colour() -> None:
    svg = scatter(*_xy(), Outcomes("migrations", "count"), AXIS, "")
    assert "var(--baseline)" in svg and "var(--mitigated)" in svg
    assert not re.search("#010203|#d55e00|#0072b2", svg)
    marks = re.findall(r'<path id="(m\w+)" d="([^"]*)"', svg)
    assert any("C" in shape for _, shape in marks) and any("L" in shape and "z" in shape for _, shape in marks)


def test_a_tree_shows_its_questions_and_a_stump_its_single_answer() -> None:
    slow = np.arange(60) % 3 == 0
    columns = np.column_stack([np.where(slow, 30, 2) + np.arange(60) % 2, RNG.random(60)])
    svg = tree(fit_tree(columns, ["migrations", "x" * 60], slow))
    assert "migrations" in svg and "of 20 runs slow" in svg
    assert tree(fit_tree(np.zeros((4, 0)), [], np.array([True, False, True, False]))).startswith("<svg")


def _xy() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    x = np.arange(20.0)
    return x, x * 2, x > 10


def test_numbers_of_decades_are_written_out_where_nothing_is_typeset() -> None:
    part = EffectRatio(value=0.3, low=0.02, high=4.0)
    effect = Effect(
        factors=("wait",), levels=("active",), reference=("default",), settings=4, spread=part, mean=part, p_value=0.1
    )
    drawn = forest([effect])
    assert ">0.1<" in drawn and "mathdefault" not in drawn
