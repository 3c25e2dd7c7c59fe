"""What is split stands for the outcome, or nothing is concluded from it."""

import numpy as np
import pytest

from vgo_agent.agent.report.ledger import headline
from vgo_agent.knowledge.errors import VgoError
from vgo_agent.knowledge.loader import load
from vgo_agent.knowledge.time_states import TimeState
from vgo_agent.layers.probes.lanes import RunLanes
from vgo_agent.layers.probes.opened import OpenedPart, OpenedRun
from vgo_agent.layers.probes.shared_lines import LineSamples
from vgo_agent.tools.ledger.ledger import ledger_of
from vgo_agent.tools.ledger.split import SlowRuns, read_cell, split_runs
from vgo_agent.tools.run_table import read_runs, write_runs
from vgo_agent.tools.subject import Subject

RUNS = 40


def table(outcome_s, wall_s, asleep_s):
    """Runs whose whole time a ledger has split into sleep and the rest, on a CPU."""
    rows = [
        {
            **{"order": place, "condition": "baseline", "pair": -1, "ok": 1, "exit_code": 0, "survivors": 0},
            **{"outcome": outcome_s[place], "wall_s": wall_s[place], "layers": "ledger", "failure": ""},
            "ledger.blocked_ms": 1e3 * asleep_s[place],
            "ledger.on_cpu_ms": 1e3 * (wall_s[place] - asleep_s[place]),
        }
        for place in range(RUNS)
    ]
    return read_runs(write_runs(rows), "t.csv")


@pytest.mark.parametrize("set_up_goes_with_it", [False, True])
def test_a_whole_run_stands_for_the_part_that_a_metric_times_only_if_it_follows_it(set_up_goes_with_it):
    chance = np.random.default_rng(3)
    asleep = 0.05 * (chance.random(RUNS) < 0.4)
    timed = 0.02 + asleep + chance.normal(0, 0.0005, RUNS)
    beside = 0.1 + (2 * asleep if set_up_goes_with_it else chance.normal(0, 0.0005, RUNS))
    subject = Subject(command=("x",), argv=("x",), directory="/", metric="t ([0-9.]+)", unit="s")
    found = ledger_of(table(timed, timed + beside, asleep), subject, seed=1)
    assert found is not None and found.whole
    assert found.fits != set_up_goes_with_it
    assert [one.state for one in found.material] == ([] if set_up_goes_with_it else ["blocked"])


def test_a_wait_that_only_stacks_follow_to_who_ends_it_is_no_change_of_the_program():
    chance = np.random.default_rng(4)
    rows = []
    for place in range(2 * RUNS):
        opened, slow = place % 2 == 1, chance.random() < 0.5
        waits, busy, asleep = 20 * slow + chance.normal(5, 0.3), chance.normal(30, 0.3), chance.normal(2, 0.3)
        seconds = (waits + busy + asleep) / 1e3
        row = {
            **{"order": place, "condition": "baseline", "pair": -1, "ok": 1, "exit_code": 0, "survivors": 0},
            **{"outcome": seconds, "wall_s": seconds, "failure": ""},
        }
        if opened:
            via = "a waits in read(socket) for b"
            part = OpenedPart(TimeState.QUEUE_OTHERS, TimeState.SOCKET, "behind c", via, waits, 1, (waits,))
            cells = {"opened": OpenedRun((part,), (), {}, 0, 0).text(), "queue_others_ms": waits, "sleep_ms": asleep}
        else:
            cells = {"blocked_ms": waits, "queue_others_ms": asleep}
        key = "stacks" if opened else "ledger"
        rows.append(row | {"layers": f"process+{key}"} | {f"{key}.{name}": value for name, value in cells.items()})
        rows[-1][f"{key}.on_cpu_ms"] = busy
    subject = Subject(command=("x",), argv=("x",), directory="/")
    found = ledger_of(read_runs(write_runs(rows), "t.csv"), subject, seed=1)
    assert found is not None
    assert (found.layer, found.changed) == ("stacks", ())
    assert found.material[0].state == "queue_others"


@pytest.mark.parametrize("looking_changes_it", [False, True])
def test_where_stacks_change_the_program_its_runs_without_them_tell(looking_changes_it):
    chance = np.random.default_rng(4)
    rows = []
    for place in range(2 * RUNS):
        opened, slow = place % 2 == 1, chance.random() < 0.5
        asleep, busy = 20 * slow + chance.normal(5, 0.3), chance.normal(30, 0.3)
        if looking_changes_it and opened:
            asleep, busy = chance.normal(5, 0.3), busy + 20 * slow
        key = "stacks" if opened else "ledger"
        rows.append(
            {
                **{"order": place, "condition": "baseline", "pair": -1, "ok": 1, "exit_code": 0, "survivors": 0},
                **{"outcome": (asleep + busy) / 1e3, "wall_s": (asleep + busy) / 1e3, "failure": ""},
                **{"layers": "process+ledger+stacks" if opened else "process+ledger"},
                **{f"{key}.sleep_ms" if opened else f"{key}.blocked_ms": asleep, f"{key}.on_cpu_ms": busy},
            }
        )
    subject = Subject(command=("x",), argv=("x",), directory="/")
    found = ledger_of(read_runs(write_runs(rows), "t.csv"), subject, seed=1)
    assert found is not None
    assert (found.layer, found.changed) == (("ledger", ("blocked", "on_cpu")) if looking_changes_it else ("stacks", ()))
    assert [one.state for one in found.material] == ["blocked" if looking_changes_it else "sleep"]


@pytest.mark.parametrize(("behind", "layer"), [("vgo-agent (this one)", "stacks"), ("make", "ledger")])
def test_what_we_take_ourselves_is_told_and_what_others_take_with_stacks_on_alone_changes_the_program(behind, layer):
    chance = np.random.default_rng(4)
    rows = []
    for place in range(2 * RUNS):
        opened, slow = place % 2 == 1, chance.random() < 0.5
        asleep, busy = 20 * slow + chance.normal(5, 0.3), chance.normal(30, 0.3)
        waited = 12 * slow + chance.normal(3, 0.1) if opened else chance.uniform(0, 0.02)
        queue = (TimeState.QUEUE_OTHERS, TimeState.QUEUE_OTHERS, f"behind {behind}", "", waited, 4, (waited,))
        cell = OpenedRun((OpenedPart(*queue),), (), {}, 0, 0).text()
        key = "stacks" if opened else "ledger"
        rows.append(
            {
                **{"order": place, "condition": "baseline", "pair": -1, "ok": 1, "exit_code": 0, "survivors": 0},
                **{"outcome": (asleep + busy + waited) / 1e3, "wall_s": (asleep + busy + waited) / 1e3, "failure": ""},
                **{"layers": "process+ledger+stacks" if opened else "process+ledger"},
                **{f"{key}.sleep_ms" if opened else f"{key}.blocked_ms": asleep, f"{key}.on_cpu_ms": busy},
                **{f"{key}.queue_others_ms": waited, **({"stacks.opened": cell} if opened else {})},
            }
        )
    subject = Subject(command=("x",), argv=("x",), directory="/")
    found = ledger_of(read_runs(write_runs(rows), "t.csv"), subject, 1, load().factors)
    assert found is not None and found.layer == layer


def found_table(found_by, beside_ms=0.0):
    """Runs of 20 to 60 ms, each split into a sleep and 15 ms on a CPU, between ends that were found so."""
    chance = np.random.default_rng(6)
    rows = []
    for place, found in enumerate(found_by):
        asleep = chance.uniform(5, 45)
        beside = beside_ms * chance.random()
        rows.append(
            {
                **{"order": place, "condition": "baseline", "pair": -1, "ok": 1, "exit_code": 0, "survivors": 0},
                **{"outcome": (15 + asleep) / 1e3, "wall_s": (100 + asleep) / 1e3, "layers": "stacks", "failure": ""},
                **{"stacks.sleep_ms": asleep + beside, "stacks.on_cpu_ms": 15.0, "stacks.region": found},
            }
        )
    return read_runs(write_runs(rows), "t.csv")


METRIC = Subject(command=("x",), argv=("x",), directory="/", metric="t ([0-9.]+)", unit="s")


def test_runs_are_split_by_what_was_found_in_most_of_them():
    some = [*["clock"] * 20, *["write"] * 14, *["CPU clock"] * 3, *["run: too many readings"] * 3]
    found = ledger_of(found_table(some), METRIC, seed=1)
    assert found is not None and (found.found_by, found.whole, found.shares.runs) == ("clock", False, 34)
    assert found.left_out == 6 and found.sums.hold and found.fits
    rarely = [*["clock"] * 15, *["run: too many readings"] * 25]
    found = ledger_of(found_table(rarely), METRIC, seed=1)
    assert found is not None and (found.found_by, found.whole) == ("run: too many readings", True)


@pytest.mark.parametrize(("beside_ms", "fits"), [(2, True), (90, False)])
def test_what_lies_between_marks_is_as_long_as_it_is_and_must_go_with_the_metric(beside_ms, fits):
    found = ledger_of(found_table(["marks"] * RUNS, beside_ms), METRIC, seed=1)
    assert found is not None and found.found_by == "marks" and not found.whole
    assert found.sums.hold and found.sums.worst_ms < 1e-9
    assert found.fits == fits and bool(found.material) == fits


@pytest.mark.parametrize("goes_with_it", [True, False])
def test_what_is_split_must_go_with_a_metric_that_is_no_time(goes_with_it):
    chance = np.random.default_rng(8)
    asleep = chance.uniform(0.005, 0.05, RUNS)
    took = 0.02 + asleep
    rate = (1e4 if goes_with_it else chance.uniform(5e3, 2e4, RUNS)) / took
    subject = Subject(command=("x",), argv=("x",), directory="/", metric="([0-9.]+) op/s", unit="op/s")
    found = ledger_of(table(rate, took, asleep), subject, seed=1)
    assert found is not None and (found.timeless, found.fits) == (True, goes_with_it)
    assert [one.state for one in found.material] == (["blocked"] if goes_with_it else [])
    assert goes_with_it or "say in which unit" in headline(found)


def test_slow_runs_are_those_of_the_whole_diagnosis_where_both_are_among_the_ones_that_were_split():
    chance = np.random.default_rng(9)
    asleep = 0.1 * (np.arange(RUNS) % 4 == 0) + chance.normal(0.02, 0.0005, RUNS)
    took, slow = 0.02 + asleep, np.arange(RUNS) % 4 == 0
    subject = Subject(command=("x",), argv=("x",), directory="/")
    runs = table(took, took, asleep)
    found = ledger_of(runs, subject, seed=1, told=SlowRuns(slow, "as told"))
    assert found is not None and (found.shares.n_slow, found.shares.how) == (10, "as told")
    assert found.shares.gap_ms == pytest.approx(100, abs=2)
    own = ledger_of(runs, subject, seed=1, told=SlowRuns(np.ones(RUNS, dtype=bool), "all are slow"))
    assert own is not None and own.shares.how != "all are slow"


@pytest.mark.parametrize(
    ("found", "whole", "runs"),
    [
        ({"CPU clock": 21, "run: too many readings": 9}, False, 21),
        ({"CPU clock": 21, "clock": 8, "write": 1}, False, 21),
        ({"clock": 8, "write": 22}, False, 30),
        ({"clock": 1, "run: too many readings": 29}, True, 29),
        ({"clock": 18, "run: no pair of readings": 12}, True, 12),
    ],
)
def test_runs_of_one_kind_are_looked_at_and_bare_ones_are_none_of_them(found, whole, runs):
    chance = np.random.default_rng(5)
    kinds = [*(kind for kind, count in found.items() for _ in range(count)), *[""] * 20]
    rows = []
    for place, kind in enumerate(kinds):
        busy = 20 + chance.normal(0, 3)
        looked = {"layers": "stacks", "stacks.on_cpu_ms": busy, "stacks.sleep_ms": 1.0, "stacks.region": kind}
        rows.append(
            {
                **{"order": place, "condition": "baseline", "pair": -1, "ok": 1, "exit_code": 0, "survivors": 0},
                **{"outcome": (busy + 1) / 1e3, "wall_s": (busy + 1) / 1e3, "failure": "", "layers": ""},
                **(looked if kind else {}),
            }
        )
    subject = Subject(command=("x",), argv=("x",), directory="/", metric="t ([0-9.]+)", unit="s")
    split = split_runs(read_runs(write_runs(rows), "t.csv"), "stacks", subject)
    assert split is not None and (split.whole, split.time_ms.size) == (whole, runs)


@pytest.mark.parametrize("read", [OpenedRun.read, LineSamples.read, RunLanes.read])
@pytest.mark.parametrize("text", ["", "x", "{}", "[1]", "[[], [1]]", "eJw"])
def test_a_cell_that_somebody_has_changed_is_refused_in_a_sentence(read, text):
    with pytest.raises(VgoError, match="of the ledger cannot be read .*measure again"):
        read_cell(read, text, "lanes")
