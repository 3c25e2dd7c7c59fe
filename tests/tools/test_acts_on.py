"""A mitigation is tried where it can shorten a state of the time that matters, those that could give most first."""

import dataclasses

import pytest

from vgo_agent.knowledge.loader import load
from vgo_agent.tools.case import Case
from vgo_agent.tools.findings import Findings
from vgo_agent.tools.look_up import LookUpArguments, run
from vgo_agent.tools.results import LookUpResult

from ..agent.report.conftest import invisible, mitigated
from .ledger.test_plausible import ledger

KNOWN = load()


def looked_up(factor, **more_ms):
    """A factor, looked up after a ranking with a ledger of runs that are slow by so much in each state."""
    made = mitigated()
    told = ledger(**more_ms).model_dump(mode="json")
    calls = [
        dataclasses.replace(call, result={**(call.result or {}), "ledger": told})
        if call.tool == "rank_factors"
        else call
        for call in made.record.calls
    ]
    record = dataclasses.replace(made.record, calls=tuple(calls))
    assert Findings(record).ledger is not None
    case = Case("c", made.subject, made.limits, made.machine, KNOWN, record)
    return found_in(factor, case)


def found_in(factor, case):
    found = run(LookUpArguments(factor=factor), case).result
    assert isinstance(found, LookUpResult)
    return found


def away(found: LookUpResult):
    return {one.mitigation for one in found.candidates if any("what it acts on holds" in why for why in one.unmet)}


@pytest.mark.parametrize("priority", ["sched_fifo", "own_autogroup"])
def test_no_priority_is_tried_against_a_wait_or_the_program_itself(priority):
    assert priority in away(looked_up("run_queue_wait", sleep=20.0))
    assert priority in away(looked_up("run_queue_wait", queue_own=20.0))
    assert priority not in away(looked_up("run_queue_wait", queue_others=20.0))


def test_why_it_is_set_aside_is_told_in_milliseconds():
    (fifo,) = (one for one in looked_up("run_queue_wait", sleep=20.0).candidates if one.mitigation == "sched_fifo")
    assert "what it acts on holds 0 of the 20 ms that slow runs take longer" in fifo.unmet


def test_of_equal_harm_the_state_that_could_give_most_comes_first():
    factor = KNOWN.factors["blocking_waits"]
    listed = [one.mitigation for one in looked_up("blocking_waits", sleep=30.0, lock=5.0).candidates]
    assert listed[0] != "omp_active_wait"  # a lock of 5 ms
    assert listed[0] in factor.mitigations and "omp_active_wait" in listed


def test_without_a_ledger_nothing_is_set_aside():
    made = invisible()
    case = Case("c", made.subject, made.limits, made.machine, KNOWN, made.record)
    assert not away(found_in("run_queue_wait", case))


def test_states_of_a_mitigation_are_its_own_or_those_of_its_factors():
    for key, mitigation in KNOWN.mitigations.items():
        factors = [factor for factor in KNOWN.factors.values() if key in factor.mitigations]
        states = KNOWN.states_of(key)
        if all(factor.acts_on for factor in factors):
            assert states and set(states) <= {state for factor in factors for state in factor.acts_on}
        assert not mitigation.acts_on or states == mitigation.acts_on
