"""Where a gain lies: parts of states add up to it, and a gain that a remedy does not act on is said to be one."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.knowledge.loader import load
from vgo_agent.knowledge.time_states import TimeState
from vgo_agent.layers.loader import load_layers
from vgo_agent.tools.findings import Findings
from vgo_agent.tools.ledger.gain import gain_of, halves
from vgo_agent.tools.profiled import companions
from vgo_agent.tools.run_table import artefacts, read_runs, write_runs
from vgo_agent.tools.subject import Subject
from vgo_agent.tools.trial_results import ApplyResult, CompareResult

from ..profiles import Profiled

PAIRS = 40
REMEDY = "disk_scheduler_none"
QUEUE, CPU = TimeState.QUEUE_OTHERS, TimeState.ON_CPU


def rows(states, remedy=REMEDY, missed_ms=0.0, beside_s=None):
    """Pairs of runs from the milliseconds of their states, shape (2, pairs) each; `beside_s` of them is not timed."""
    total = sum(states.values()) + missed_ms
    beside = np.zeros_like(total) if beside_s is None else beside_s
    return [
        {
            **{"order": 2 * pair + arm, "condition": ("baseline", remedy)[arm], "pair": pair, "ok": 1, "exit_code": 0},
            **{"survivors": 0, "layers": "ledger", "outcome": float(total[arm, pair] / 1e3 - beside[arm, pair])},
            **{"wall_s": float(total[arm, pair] / 1e3), "failure": ""},
            **{f"ledger.{state}_ms": float(ms[arm, pair]) for state, ms in states.items()},
        }
        for pair in range(total.shape[1])
        for arm in (0, 1)
    ]


def gain(acts_on, states, metric=None, unit="s", **more):
    table = read_runs(write_runs(rows(states, **more)), "t.csv")
    subject = Subject(command=("x",), argv=("x",), directory="/", metric=metric, unit=unit)
    found = gain_of(table, subject, REMEDY, acts_on, block=1, measure="spread", seed=1)
    assert found is not None
    return found


def steadied(seed=3, own_ms=30.0, others_ms=1.0):
    """Runs of which some are slow on a CPU, and in the queue; the remedy takes both away."""
    chance = np.random.default_rng(seed)
    slow = chance.random(PAIRS) < 0.5

    def arms(level, more):
        made = level + chance.normal(0, 0.3, (2, PAIRS))
        made[0] += more * slow
        return made

    return {CPU: arms(100, own_ms), QUEUE: arms(5, others_ms)}


@settings(deadline=None)
@given(st.integers(0, 2**32), st.integers(10, 41), st.integers(1, 3))
def test_parts_of_states_add_up_to_the_mean_absolute_deviation(seed, runs, hosts):
    chance = np.random.default_rng(seed)
    states, host = chance.lognormal(0, 1, (4, runs)).round(1), chance.integers(0, hosts, runs)
    outcome = states.sum(axis=0)
    off = sum(np.abs(own - np.median(own)).sum() for own in (outcome[host == one] for one in range(hosts)) if own.size)
    assert (states @ halves(outcome, host)).sum() == pytest.approx(off)


def test_a_gain_where_the_remedy_acts_is_told_from_one_elsewhere():
    states = steadied()
    found = gain([TimeState.PAGE_FAULT], states)
    assert found.as_meant and found.total is not None
    assert sum(one.gain.ms for one in found.states) == pytest.approx(found.total.ms)
    told = found.sentence("trim")
    assert (
        told.startswith("Steadier where it was meant to be: of 14.5 ms")
        and "are time on a CPU, part of which trim acts on" in told
    )
    found = gain([QUEUE], states)
    assert found.as_meant is False
    assert found.sentence("sched_rr").startswith("Steadier, but not where it was meant to be: of 14.5 ms")
    assert "are time on a CPU, which sched_rr is not known to act on." in found.sentence("sched_rr")


def test_what_whole_runs_have_less_than_the_metric_is_told_beside_it():
    queue = steadied(others_ms=30, own_ms=0)[QUEUE]
    found = gain([QUEUE], {CPU: queue * 0 + 20, QUEUE: queue}, metric="t (.*)", beside_s=queue / 2e3)
    assert found.as_meant and not found.cpu_time
    assert re.search(
        r"of 14\.\d ms less .* of whole runs, 14.* acts on; the metric has 7\.\d+ ms less\.$", found.sentence("x")
    )


def test_where_one_side_falls_by_more_than_all_the_rest_that_other_states_give_more_is_told():
    states = steadied(own_ms=30, others_ms=0)
    states[QUEUE][1] += 10 * (states[CPU][0] > 115)
    found = gain([TimeState.PAGE_FAULT], states)
    assert found.as_meant and found.meant is not None and found.total is not None
    assert found.meant.ms > 1.2 * found.total.ms
    assert re.search(r"trim acts on, and other states give \d\.?\d* ms more\.$", found.sentence("trim"))


def test_of_a_metric_in_cpu_time_only_time_on_a_cpu_is_divided():
    states = steadied() | {QUEUE: np.random.default_rng(8).exponential(80, (2, PAIRS))}
    found = gain([TimeState.PAGE_FAULT], states, metric="cpu (.*)", beside_s=states[QUEUE] / 1e3)
    assert found.cpu_time and found.as_meant
    assert [one.gain.ms for one in found.states if one.state == QUEUE] == [0]


@pytest.mark.parametrize(
    ("made", "why"),
    [
        ({"states": steadied(own_ms=10, others_ms=10)}, "are in states that it acts on"),
        ({"states": steadied(own_ms=0, others_ms=0)}, "may be none"),
        ({"states": steadied(), "missed_ms": 4.0}, "the states miss the time of a run by 4 ms in the median"),
        ({"states": {one: ms[:, :8] for one, ms in steadied().items()}}, "it is there in 8 pairs"),
        ({"states": steadied() | {QUEUE: np.full((2, PAIRS), np.nan)}}, "it is there in 0 pairs"),
        (
            {"states": steadied(), "metric": "t (.*)", "beside_s": steadied()[CPU] / 1e3 - 0.09},
            "fell outside of what the metric times",
        ),
        ({"states": steadied(), "metric": "t (.*)", "unit": "requests"}, "the outcome is no time"),
    ],
)
def test_what_the_ledger_cannot_tell_it_says_so(made, why):
    found = gain([QUEUE], **made)
    assert found.as_meant is None and why in found.untold
    assert found.sentence("sched_rr").startswith(
        "The time ledger of both arms cannot tell where the gain of sched_rr lies"
    )


def compared(aside=""):
    """The front door: a profile with a ledger, pairs with one, and `compare`."""
    layers, chance = load_layers(), np.random.default_rng(1)
    made = Profiled({"ledger": layers["ledger"]}, knowledge=load())
    on = ("ledger",)
    cells = {f"ledger.{state}_ms": 1.0 for state in (CPU, QUEUE)}
    made.profile([(on, 0.1 + 0.01 * chance.random(), cells) for _ in range(20)], aside={on: aside})
    result = {
        "mitigation": REMEDY,
        "batch": 1,
        "pairs": PAIRS,
        "failed": 0,
        "spent_s": 1.0,
        "summary": "",
        "checks": (),
    }
    applied = ApplyResult.model_validate(result | {"in_force": True, "told": (), "command": ""})
    pairs = [] if aside else rows(steadied())
    pairs = pairs or [{k: v for k, v in row.items() if "." not in k} | {"layers": ""} for row in rows(steadied())]
    call = made.add("apply_mitigation", {}, applied, artefacts(pairs, {} if aside else dict(made.layers)))
    found = made.call("compare", call=call)
    assert isinstance(found, CompareResult)
    return found, made


def test_compare_says_where_the_gain_lies_and_does_not_change_its_claim():
    found, made = compared()
    assert found.gain is not None and found.gain.acts_on and found.by_state in found.summary
    assert found.by_state.startswith("Steadier, but not where it was meant to be")
    assert CompareResult.model_validate(found.model_dump(mode="json")) == found
    assert (
        companions(Findings(made.record), [], ledger=True) == ("ledger",)
        and companions(Findings(made.record), []) == ()
    )


def test_a_ledger_that_was_set_aside_is_left_out_of_the_pairs_and_told():
    found, made = compared(aside="it shifts the mean by +90 %")
    assert "the layer ledger was set aside since it shifts the mean by +90 %" in found.by_state
    assert companions(Findings(made.record), [], ledger=True) == ()
