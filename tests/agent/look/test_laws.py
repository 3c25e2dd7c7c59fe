"""Laws of what is drawn: nothing is lost or invented on the way from runs to cells."""

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from vgo_agent.agent.look.canvas import AxisWindow, CellScale, TextCanvas, counts, extent, ticks
from vgo_agent.agent.look.distribution import Histogram, Overlay, SpreadRatio, density
from vgo_agent.agent.look.dots import RunChart, Scatter
from vgo_agent.agent.look.scenes import PlottedOutcomes, slow_of
from vgo_agent.agent.look.stacked import stacked_runs
from vgo_agent.agent.tui.widgets.sorted_table import SortOrder, ordered
from vgo_agent.tools.statistics.labels.classes import label_at

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

NUMBERS = st.floats(-1e9, 1e9)
ANY = st.floats(allow_nan=True, allow_infinity=True)
SAMPLES = st.lists(NUMBERS, min_size=2, max_size=60).map(lambda values: np.array(values, dtype=np.float64))
WILD = st.lists(ANY, max_size=40).map(lambda values: np.array(values, dtype=np.float64))
SIZES = st.tuples(st.integers(0, 120), st.integers(0, 40))


@given(SAMPLES, st.integers(1, 200))
def test_every_run_is_in_one_cell(values, cells):
    window = extent(values)
    assert window is not None
    assert counts(values, CellScale(window, cells)).sum() == values.size


@given(SAMPLES, st.integers(1, 60), NUMBERS, st.floats(1.01, 50))
def test_a_part_of_the_axis_holds_the_runs_between_its_ends(values, cells, about, factor):
    whole = extent(values)
    assert whole is not None
    part = whole.zoomed(factor, about)
    inside = ((values >= part.low) & (values <= part.high)).sum()
    assert counts(values, CellScale(part, cells)).sum() == inside <= values.size


@given(SAMPLES, NUMBERS, st.booleans())
def test_the_drawn_classes_are_those_of_the_label(values, cut, lower_is_better):
    outcomes = PlottedOutcomes(values, "s", "time", lower_is_better)
    labelled = label_at(values, cut, lower_is_better)
    assert slow_of(values, outcomes, cut).tolist() == labelled.slow.tolist()


@example(np.array([0.0, 5e-324]), 8)
@given(SAMPLES, st.integers(8, 80))
def test_a_density_over_all_that_is_there_adds_up_to_the_runs(values, cells):
    span = extent(values)
    assert span is not None
    wide = AxisWindow(span.low - 20 * span.width, span.high + 20 * span.width)
    smooth = density(values, CellScale(wide, 41 * cells))
    assert np.all(smooth >= 0)
    assert smooth.sum() == pytest.approx(values.size, rel=0.02)


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(1, 300))
def test_a_cell_is_where_its_value_lies(low, width, cells):
    scale = CellScale(AxisWindow(low, low + width), cells)
    assert [scale.place(scale.value(cell)) for cell in range(cells)] == list(range(cells))


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.floats(0, 1), st.floats(1.1, 10))
def test_zooming_in_and_out_is_nothing(low, width, share, factor):
    assume(width > 1e-6 * abs(low))  # closer the window is held open: below it only rounding differs
    window = AxisWindow(low, low + width)
    about = low + share * width
    again = window.zoomed(factor, about).zoomed(1 / factor, about)
    assert again.low == pytest.approx(window.low, abs=1e-6 * width + 1e-9 * abs(low))
    assert again.width == pytest.approx(width, rel=1e-5)


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), NUMBERS)
def test_a_window_moves_no_further_than_to_show_a_value(low, width, value):
    window = AxisWindow(low, low + width)
    moved = window.holding(value)
    assert moved.low <= value <= moved.high or np.isclose(value, [moved.low, moved.high]).any()
    if window.low <= value <= window.high:
        assert moved == window


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.integers(1, 20), st.sampled_from(["s", "ms", ""]))
def test_round_numbers_lie_on_the_axis_and_differ(low, width, most, unit):
    window = AxisWindow(low, low + width)
    found = ticks(window, most, unit)
    slack = 1e-9 * max(abs(low), width)
    assert len(found) <= most
    assert all(window.low - slack <= tick.value <= window.high + slack for tick in found)
    if width > 1e-6 * abs(low):
        assert len({tick.words for tick in found}) == len(found)


@settings(max_examples=60)
@example(
    np.array([0.0, 5e-324, 1.7e308, -1.7e308]), np.array([1e301, 1e302, -1.7e308, 1.7e308]), (40, 20), True, None, None
)
@example(np.array([0.0, 1e308]), np.array([1e301, 1e302]), (40, 20), True, None, None)
@given(WILD, WILD, SIZES, st.booleans(), st.none() | ANY, st.none() | NUMBERS)
def test_any_runs_are_drawn_in_any_size(values, others, size, fancy, cut, cursor):
    """Empty, one, constant, not finite, enormous: a picture or a sentence, never more than there is room for."""
    width, height = size
    outcomes = PlottedOutcomes(values, "s", "time")
    n = min(values.size, others.size)
    figures = (
        Histogram(outcomes, cut, moved=True),
        RunChart(outcomes, cut),
        Scatter("misses", others[:n], PlottedOutcomes(values[:n], "s", "time"), cut=cut),
        Overlay(outcomes, PlottedOutcomes(others, "s"), "pin", SpreadRatio(cut, 0.2, 0.9)),
    )
    for figure in figures:
        canvas = TextCanvas(width, height, fancy)
        figure.draw(canvas, None, cursor)
        lines = canvas.text().split("\n")
        assert len(lines) <= max(height, 1) and all(len(line) <= width for line in lines)
        assert fancy or canvas.text().isascii()


TIMES = st.lists(st.floats(0, 1e12) | st.just(float("nan")), min_size=6, max_size=6)


@settings(max_examples=40)
@given(st.lists(TIMES, min_size=1, max_size=200), SIZES, st.booleans())
def test_runs_by_state_are_drawn_in_any_size(rows, size, fancy):
    states = ("on_cpu", "queue_own", "disk", "sleep", "poll", "unseen")
    columns = {
        f"stacks.{state}_ms": np.array(values) for state, values in zip(states, zip(*rows, strict=True), strict=True)
    }
    figure = stacked_runs({"outcome": np.ones(len(rows)), **columns}, np.arange(len(rows)) % 3 == 0)
    told = np.isfinite(list(columns.values())).all(axis=0)
    assert bool(figure.parts) == bool(np.array(list(columns.values()))[:, told].any())
    canvas = TextCanvas(size[0], size[1], fancy)
    if figure.parts:
        assert told.sum() / 2 < len(figure.slow) <= told.sum()
        figure.draw(canvas)
    assert all(len(line) <= size[0] for line in canvas.text().split("\n"))


def test_runs_whose_part_is_not_known_are_not_drawn_beside_those_of_which_it_is():
    sleep, outcome = np.array([10.0, 71.0, 12.0, 84.0, 11.0]), np.array([1.0, 1.1, 1.2, 1.2, 1.1])
    figure = stacked_runs({"outcome": outcome, "stacks.sleep_ms": sleep}, np.ones(5, dtype=bool))
    assert [values.tolist() for values in figure.parts.values()] == [[10, 12, 11]] and figure.slow.size == 3


ROWS = st.lists(st.tuples(st.none() | st.floats(allow_nan=True) | st.text(max_size=3), st.integers()), max_size=30)


@given(ROWS, st.booleans())
def test_sorting_keeps_every_row_and_puts_what_is_missing_last(rows, descending):
    found = ordered(rows, 0, descending)
    assert sorted(map(repr, found)) == sorted(map(repr, rows))
    missing = [cell is None or cell != cell for cell, _ in found]
    assert missing == sorted(missing)
    numbers = [cell for cell, _ in found if isinstance(cell, float) and cell == cell]
    assert numbers == sorted(numbers, reverse=descending)


@given(st.sampled_from([SortOrder(), SortOrder("a"), SortOrder("a", True), SortOrder("b")]))
def test_a_column_chosen_three_times_is_as_the_table_stands(order):
    assert order.toggled("c").toggled("c").toggled("c") == SortOrder()
