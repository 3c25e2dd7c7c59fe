"""Columns that not every run has: which runs they are looked at on, what that costs, and what a missing cell does."""

from itertools import count
from typing import Any

import numpy as np
import pytest

from vgo_agent.agent.legal import legal
from vgo_agent.tools.case import Slot
from vgo_agent.tools.findings import Findings
from vgo_agent.tools.profiled import companions
from vgo_agent.tools.record import ToolError
from vgo_agent.tools.results import ConcludeResult
from vgo_agent.tools.verdict import title
from vgo_agent.tools.verdict_words import headline

from .conftest import Draws
from .levels import most
from .profiles import Profiled, layer, outcomes

LIGHT, HEAVY = ("process",), ("process", "strace")
LAYERS = {
    "process": layer("process", ["faults", "noise"]),
    "strace": layer("strace", ["calls"], heavy=True),
    "bpf": layer("bpf", ["waits"], heavy=True),
}


def counted(rng, slow):
    """What goes with slow runs, also divided by their length."""
    return float(rng.integers(40, 60) if slow else rng.integers(5, 15))


def runs_with(seed, cells, sets=(LIGHT, HEAVY), runs=160):
    """Runs whose layers take turns; `cells` gives those of one run."""
    rng = np.random.default_rng(1000 + seed)
    outcome, slow = outcomes(seed, runs)
    return [(on := sets[place % len(sets)], outcome[place], cells(rng, bool(slow[place]), on)) for place in range(runs)]


def test_a_cause_that_only_a_heavy_layer_shows_is_found_on_its_runs():
    def cells(rng, slow, on):
        light = {"faults": float(rng.integers(50, 90)), "noise": float(rng.integers(50, 90))}
        return light | ({"calls": counted(rng, slow)} if "strace" in on else {})

    made = Profiled(LAYERS)
    made.profile(runs_with(1, cells))
    found = made.ranked()
    assert found.factors[0].column == "calls" and found.factors[0].visible
    assert found.factors[0].runs == 80
    assert [(block.layers, block.runs) for block in found.blocks] == [(("process",), 160), (("strace",), 80)]
    assert [factor.column for factor in found.factors if factor.visible] == ["calls"]


def test_a_cause_that_light_layers_show_is_looked_at_on_all_runs():
    def cells(rng, slow, on):
        light = {"faults": counted(rng, slow), "noise": float(rng.integers(50, 90))}
        return light | ({"calls": float(rng.integers(50, 90))} if "strace" in on else {})

    made = Profiled(LAYERS)
    made.profile(runs_with(2, cells))
    found = made.ranked()
    assert (found.factors[0].column, found.factors[0].runs) == ("faults", 160)


@pytest.mark.parametrize(
    "sets", [(LIGHT,), (LIGHT, HEAVY), (LIGHT, HEAVY, ("process", "bpf")), (("strace",), ("bpf",))]
)
def test_the_shares_of_alpha_add_up_to_what_the_order_leaves(sets):
    def cells(rng, slow, on):
        columns = [column.name for spec in on for column in LAYERS[spec].columns]
        return {name: float(rng.integers(50, 90)) for name in columns}

    made = Profiled(LAYERS)
    made.profile(runs_with(3, cells, sets))
    assert sum(block.share for block in made.ranked().blocks) == pytest.approx(0.9)


def test_a_heavy_layer_that_makes_its_own_runs_slow_is_not_their_cause():
    """It adds time and faults to its runs, so they would be the slow ones, and faults what goes with them."""

    def cells(rng, slow, on):
        own = "strace" in on
        light = {"faults": float(rng.integers(50, 90)) + 200 * own, "noise": float(rng.integers(50, 90))}
        return light | ({"calls": float(rng.integers(50, 90))} if own else {})

    made = Profiled(LAYERS)
    made.profile([(on, outcome + 0.09 * ("strace" in on), its) for on, outcome, its in runs_with(4, cells)])
    found = made.ranked()
    assert not found.visible


def test_layers_that_were_set_aside_leave_no_column_and_no_run():
    def cells(rng, slow, on):
        light = {"faults": counted(rng, slow), "noise": float(rng.integers(50, 90))}
        return light | ({"calls": counted(rng, slow)} if "strace" in on else {})

    made = Profiled(LAYERS)
    made.profile(runs_with(5, cells), aside={HEAVY: "it shifts the mean by +90 %"})
    found = made.ranked()
    assert found.factors[0].runs == 80
    assert "calls" not in [factor.column for factor in found.factors]
    assert found.set_aside["calls"] == "layer set aside: it shifts the mean by +90 %"
    assert companions(Findings(made.record), ["faults", "calls"]) == LIGHT
    assert companions(Findings(made.record), ["nothing"]) == ()


def test_when_every_layer_is_set_aside_there_is_nothing_to_label():
    made = Profiled(LAYERS)
    made.profile(runs_with(6, lambda rng, slow, on: {"faults": 1.0}, (LIGHT,)), aside={LIGHT: "too much"})
    with pytest.raises(ToolError, match="set aside"):
        made.call("label")
    assert companions(Findings(made.record), ["faults"]) == ()


@pytest.mark.parametrize("on", [(LIGHT, HEAVY), (LIGHT,)])
def test_where_no_layer_stands_beside_others_the_first_is_looked_at_alone(on):
    made = Profiled(LAYERS)
    made.measure(outcomes(1, 60)[0].tolist())
    made.profile(runs_with(6, lambda *_: {"faults": 1.0}, on), aside={LIGHT: "too much", HEAVY: "too much"})
    offered = legal(made.record, made.limits).tools.get("profile")
    assert offered == ((Slot(("layers",), ((["process"],),)),) if HEAVY in on else None)


def test_bare_runs_are_neither_labelled_nor_looked_at():
    made = Profiled(LAYERS)
    cells = runs_with(
        7, lambda rng, slow, on: {"faults": counted(rng, slow), "noise": 1.0 * rng.integers(50, 90)}, (LIGHT,)
    )
    bare: list[Any] = [((), 9.9, {}) for _ in range(30)]
    made.profile([run for pair in zip(cells, [*bare, *[None] * 130], strict=True) for run in pair if run])
    found = made.ranked()
    assert found.factors[0].runs == 160 and found.factors[0].column == "faults"


def test_a_few_missing_cells_are_filled_and_told_and_many_set_the_column_aside():
    place = count(1)

    def cells(rng, slow, on):
        run = next(place)
        found = {"faults": counted(rng, slow), "noise": float(rng.integers(50, 90))}
        if run % 32 == 0:
            del found["faults"]
        if run % 8 == 0:
            del found["noise"]
        return found

    made = Profiled(LAYERS)
    made.profile(runs_with(8, cells, (LIGHT,)))
    found = made.ranked()
    assert found.filled == {"faults": 5}
    assert found.set_aside["noise"] == "missing in 20 of 160 runs"
    assert found.factors[0].column == "faults" and found.factors[0].visible


def test_a_text_that_varies_is_tested_value_by_value_and_one_that_does_not_is_a_setting():
    layers = {"process": layer("process", ["host", "input", "noise"], texts=("host", "input"))}
    made = Profiled(layers)
    made.profile(
        runs_with(
            9,
            lambda rng, slow, on: {
                "host": "node1" if slow else "node2",
                "input": "a",
                "noise": float(rng.integers(50, 90)),
            },
            (LIGHT,),
        )
    )
    found = made.ranked()
    assert found.set_aside["input"] == "setting: always a"
    assert found.factors[0].visible and set(found.factors[0].members) == {"host=node1", "host=node2"}


def test_a_second_look_has_what_the_first_left_of_alpha():
    def cells(rng, slow, on):
        names = [column.name for spec in on for column in LAYERS[spec].columns]
        return {name: float(rng.integers(50, 90)) for name in names}

    made = Profiled(LAYERS)
    made.profile(runs_with(10, cells, (LIGHT,)), later=("strace",))
    first = made.ranked()
    made.profile(runs_with(11, cells, (("strace",),)))
    second = made.ranked()
    assert (first.look, first.look_share, second.look, second.look_share) == (1, 0.8, 2, 0.2)
    assert companions(Findings(made.record), ["faults", "calls"]) == ("process",), "strace is heavy"


def test_labels_of_another_profile_are_refused():
    made = Profiled(LAYERS)
    cells = lambda rng, slow, on: {"faults": 1.0 * rng.integers(50, 90), "noise": 1.0 * rng.integers(50, 90)}  # noqa: E731
    made.profile(runs_with(12, cells, (LIGHT,)))
    made.call("label")
    made.profile(runs_with(13, cells, (LIGHT,), runs=120))
    with pytest.raises(ToolError, match="label again"):
        made.call("rank_factors")


def samples_of(seed, linked):
    """Twelve runs of thirty samples; every run has a level of its own, in the outcome and in what it prints."""
    rng = np.random.default_rng(seed)
    rows = []
    for run in range(12):
        level, other = rng.normal(0, 3, 2)
        for place in range(30):
            slow = rng.random() < 0.3
            cells = {"program.run": run, "program.iteration": place, "program.heat": 40 + other + rng.normal()}
            if linked:
                cells["program.phase"] = 20 + 4 * slow + rng.normal(0, 0.3)
            rows.append((("process",), 50 + level + 4 * slow + rng.normal(0, 0.3), cells))
    return rows


def test_what_all_samples_of_a_run_share_is_no_cause(draws: Draws):
    found = []
    for seed in range(draws(5, 12)):
        made = Profiled(LAYERS)
        made.profile(samples_of(seed, linked=False))
        found.append(made.ranked().visible)
    assert sum(found) <= most(len(found), 0.05)


def test_the_phase_of_slow_samples_is_found_whatever_their_runs_share():
    made = Profiled(LAYERS)
    made.profile(samples_of(1, linked=True))
    found = made.ranked()
    assert found.factors[0].column == "program.phase" and found.factors[0].visible
    assert "what all samples of a run share was taken out" in found.warnings[0]


@pytest.mark.parametrize("rate", [True, False])
def test_what_happens_once_a_run_explains_nothing_by_its_rate(rate):
    made = Profiled({"process": layer("process", ["calls_per_s"], rate=rate)})
    outcome, slow = outcomes(20, 120)
    rng = np.random.default_rng(20)
    # Thirty calls a run, however long it is: the short runs have more of them a second.
    calls = rng.normal(30, 0.5, 120) / outcome
    made.profile([(("process",), t, {"calls_per_s": c}) for t, c in zip(outcome, calls, strict=True)])
    assert made.ranked().factors[0].visible is not rate


@pytest.mark.slow
def test_what_thousands_of_runs_show_by_more_than_luck_may_be_too_little_to_matter():
    def cells(rng, slow, on):
        return {"faults": float(rng.normal(8 * slow, 100)), "noise": float(rng.integers(50, 90))}

    columns = tuple(column.model_copy(update={"level": True}) for column in LAYERS["process"].columns)
    made = Profiled({"process": LAYERS["process"].model_copy(update={"columns": columns})})
    made.profile(runs_with(9, cells, (LIGHT,), runs=20_000))
    found = made.ranked()
    assert found.factors[0].column == "faults" and found.factors[0].p_value <= 0.05
    assert not found.visible and 0.5 < found.factors[0].auc < 0.55
    assert "faults" in found.summary and "AUC 0.5" in found.summary


def test_of_what_goes_with_slow_runs_that_which_could_be_lowered_comes_first():
    def cells(rng, slow, on):
        less = float(rng.integers(5, 15) if slow else rng.integers(400, 600))
        return {"faults": less, "noise": counted(rng, slow)}

    made = Profiled(LAYERS)
    made.profile(runs_with(10, cells, (LIGHT,), runs=160))
    found = made.ranked()
    assert [(factor.column, factor.contrary) for factor in found.factors[:2]] == [("noise", False), ("faults", True)]


def marked_runs(seed, runs=300):
    """Two wrappers take turns: each makes maps of its own, and more of the runs are slow under one of them."""
    rng = np.random.default_rng([77, seed])
    for place in range(runs):
        on = HEAVY if place % 2 else ("process", "bpf")
        slow = rng.random() < (0.65 if on is HEAVY else 0.4)
        light = {"faults": float((48 if on is HEAVY else 16) + rng.integers(0, 3)), "noise": float(rng.integers(9))}
        own = "calls" if on is HEAVY else "waits"
        yield on, rng.normal(1.3 if slow else 1.0, 0.03), light | {own: float(rng.integers(50, 90))}


@pytest.mark.cells(3)
@pytest.mark.parametrize("seed", range(6))
def test_a_column_that_tells_which_layer_was_on_is_no_cause(seed):
    made = Profiled(LAYERS | {"process": layer("process", ["faults", "noise"], rate=True)})
    made.profile(list(marked_runs(seed)))
    assert not made.ranked().visible


def test_few_profiled_runs_are_no_word_on_what_is_visible():
    outcome, _ = outcomes(3, 60)
    made = Profiled({"some": layer("some", ["a"])})
    made.measure(outcome.tolist())
    made.profile([(("some",), time, {"a": float(place)}) for place, time in enumerate(outcome[:7])])
    made.ranked()
    found = made.call("conclude")
    assert isinstance(found, ConcludeResult)
    assert title(found.verdict) == "cause not sought, remedy not tried"
    assert headline(found.verdict).startswith("Only 7 runs were profiled, and a counter is")
