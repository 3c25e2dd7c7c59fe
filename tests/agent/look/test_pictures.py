"""What a picture says, letter by letter."""

import numpy as np
import pytest

from vgo_agent.agent.look.canvas import ASCII, FANCY, AxisWindow, TextCanvas
from vgo_agent.agent.look.distribution import Histogram, Overlay, SpreadRatio
from vgo_agent.agent.look.dots import RunChart, Scatter
from vgo_agent.agent.look.scenes import PlottedOutcomes
from vgo_agent.agent.look.timeline import LETTERS, cores_pages, rates, read_cores
from vgo_agent.agent.look.tree_lines import lines, tree_pages
from vgo_agent.knowledge.time_states import MEASURED
from vgo_agent.tools.ledger.exports import ON_CPU
from vgo_agent.tools.statistics.association.tree import fit_tree

FAST, SLOW = np.linspace(1.0, 1.2, 30), np.linspace(2.0, 2.1, 10)
TIMES = PlottedOutcomes(np.concatenate((FAST, SLOW)), "s", "time")


def drawn(figure, width=60, height=12, fancy=False, window=None, cursor=None):
    canvas = TextCanvas(width, height, fancy)
    figure.draw(canvas, window, cursor)
    return canvas.text()


def test_slow_and_fast_differ_without_colour():
    for fancy, marks in ((True, FANCY), (False, ASCII)):
        text = drawn(Histogram(TIMES, 1.5), fancy=fancy)
        assert marks.bar in text and marks.slow_bar in text and marks.cut in text
        assert "cut at 1.5 s: 10 of 40 runs are slow" in text


@pytest.mark.parametrize("width", [54, 59, 80, 120, 200])
def test_no_entry_of_a_legend_is_cut(width):
    told = [drawn(Histogram(TIMES, 1.5, (1.1,)), width, 20)]
    told.append(drawn(RunChart(TIMES, 1.5), width, 20))
    told.append(drawn(Scatter("misses", TIMES.values, TIMES, cut=1.5), width, 20))
    marks = ASCII
    for text, entries in zip(
        told,
        (
            (f"{marks.bar} fast", f"{marks.slow_bar} slow", "density", f"{marks.cut} cut", "M mode", "q p5 p50 p95"),
            ("upwards: time", f"{marks.slow_dot} slow", f"{marks.cut_row} cut"),
            ("upwards: time", f"{marks.slow_dot} slow", f"{marks.level} fit"),
        ),
        strict=True,
    ):
        assert all(entry in text for entry in entries), text


def test_a_bar_stays_behind_the_density():
    canvas = TextCanvas(60, 20, True)
    Histogram(TIMES, 1.5).draw(canvas)
    inks = {run.ink for row in range(20) for run in canvas.runs(row)}
    assert {"curve", "curve-on-fast", "curve-on-slow"} <= inks
    bare = TextCanvas(60, 20, True)
    bare.bar(5, 0, 19, 0.5, "fast")
    bare.line(5, 0, 19, np.array([0.2]), "*", "curve")
    assert [run.ink for row in range(20) for run in bare.runs(row) if run.text == "*"] == ["curve-on-fast"]


def test_numbers_of_an_axis_stand_at_their_values():
    text = drawn(Histogram(PlottedOutcomes(np.linspace(4, 42, 90), "ms", "time")), 59, 20)
    numbers = text.split("\n")[-2]
    assert numbers.endswith("time (ms)") and numbers.split()[:3] == ["10", "20", "30"]
    ten, thirty = numbers.index("10"), numbers.index("30")
    assert abs(numbers.index("20") - (ten + thirty) / 2) <= 1


def test_the_cursor_reads_a_value():
    text = drawn(Histogram(TIMES, 1.5), cursor=1.5)
    assert "1.5 s: 0 runs here, 75.0% at or below" in text


def test_what_cannot_be_drawn_is_a_sentence():
    for values, sentence in (
        ([], "There is no run to show yet."),
        ([np.nan], "None of 1 runs has a finite time"),
        ([2.0], "One run so far: 2 s."),
        ([2.0] * 9, "All 9 runs gave 2 s: there is no spread to show."),
    ):
        outcomes = PlottedOutcomes(np.array(values), "s", "time")
        assert sentence in " ".join(drawn(Histogram(outcomes)).split())
    assert "Too small for" in drawn(Histogram(TIMES), 20, 5)


def test_a_failed_run_is_told_in_run_order():
    values = np.array([1.0, np.nan, 3.0])
    text = drawn(RunChart(PlottedOutcomes(values, "s", "time"), 2.0), cursor=2.0)
    assert "3 runs in order, 1 without a finite time" in text
    assert "run 2: no finite time" in text


def test_a_straight_line_has_an_r2_of_one():
    scatter = Scatter("misses", 3 * TIMES.values - 1, TIMES, cut=1.5)
    assert "misses: R2 1.00, 40 runs" in drawn(scatter)


def test_an_interval_below_one_lies_left_of_the_one():
    shown = Overlay(TIMES, PlottedOutcomes(FAST, "s"), "pin_to_cpu", SpreadRatio(0.2, 0.15, 0.3), "steadier")
    text = drawn(shown)
    title, arms, legend, ruler = text.split("\n")[:4]
    assert title == "pin_to_cpu: spread ratio 0.2 [0.15, 0.3], steadier"
    assert arms == "% of runs: . baseline  o pin_to_cpu" and legend == "= interval of the ratio, 1 no change"
    assert ruler.index("=") < ruler.rindex("=") < ruler.rindex("1")


def test_every_node_of_a_tree_has_a_line():
    rng = np.random.default_rng(3)
    columns = rng.normal(size=(200, 3))
    tree = fit_tree(columns, ("a", "b", "c"), columns[:, 0] + columns[:, 1] > 0.5)
    found = lines(tree, ASCII)
    assert len(found) == len(tree.nodes) > 3
    assert [line.column for line in found if line.column] and found[0].column == tree.nodes[0].column
    leaves = [node.n for node in tree.nodes if node.column is None]
    assert sum(leaves) == 200
    last = drawn(tree_pages(tree)[-1], 70, 4).split("\n")
    assert last[-1].startswith("> ") and last[-1].split()[-1] == "slow"


STAT = "cpu  9 0 0 9 0 0 0 0 0 0\ncpu0 {} 0 10 {} 0 0 0 {} 0 0\ncpu1 50 0 0 50 0 0 0 0 0 0\nintr 1\n"
INTERRUPTS = "           CPU0       CPU1\n  0:  {}  7  IO-APIC timer\nERR:          0\nLOC: 1 2 Local timer\n"


def machine(root, user, idle, steal, timer):
    for path, text in (
        ("proc/stat", STAT.format(user, idle, steal)),
        ("proc/interrupts", INTERRUPTS.format(timer)),
        ("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "2400000\n"),
    ):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def test_cores_are_told_from_two_readings(tmp_path):
    before = read_cores(10.0, machine(tmp_path, 100, 100, 0, 1000))
    after = read_cores(12.0, machine(tmp_path, 150, 130, 20, 1500))
    first, second = rates(before, after)
    assert (first.core, first.busy, first.steal, first.mhz) == (0, 0.7, 0.2, 2400.0)
    assert first.interrupts_s == 250.0
    assert (second.busy, second.steal, second.mhz) == (None, None, None)
    text = drawn(cores_pages((first, second), True)[0], 60, 5)
    assert text.split("\n")[1].startswith("    0    70%    20%       250   2400  ##########xxxx")


def test_a_machine_that_does_not_tell_about_its_cores_is_no_error(tmp_path):
    assert read_cores(1.0, tmp_path).cores == {}
    text = drawn(cores_pages((), known=False)[0])
    assert text.startswith("No per-core figures here")


def test_one_outlier_does_not_press_the_others_into_a_bar():
    values = PlottedOutcomes(np.append(TIMES.values, 540.0), "s", "time")
    text = drawn(Histogram(values, 1.5), width=90)
    assert "> 1 run beyond 2.1 s, up to 540 s" in text
    bars = [row for row in text.splitlines() if "|" in row]
    assert max(len(row.split("|")[1].split()) for row in bars) > 1
    axis = next(row for row in text.splitlines() if "+-" in row)
    assert axis.rstrip().endswith(">")


def test_zooming_out_shows_the_outlier_where_it_lies():
    values = PlottedOutcomes(np.append(TIMES.values, 540.0), "s", "time")
    text = drawn(Histogram(values, 1.5), window=AxisWindow(0.0, 600.0), width=90)
    assert "beyond" not in text and "500 s" in text


def test_both_arms_lie_over_each_other_without_their_outlier():
    values = PlottedOutcomes(np.append(TIMES.values, 540.0), "s", "time")
    text = drawn(Overlay(values, TIMES, "pin"), width=110)
    assert "> 1 run beyond 2.1 s, up to 540 s" in text


def test_each_state_of_a_timeline_has_a_letter_of_its_own():
    assert LETTERS.keys() == set(MEASURED) - set(ON_CPU) and len(set(LETTERS.values())) == len(LETTERS)
