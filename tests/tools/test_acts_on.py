"""A mitigation is tried where it can shorten a state of the time that matters, those that could give most first."""

import dataclasses
from functools import cache

import numpy as np
import pytest

from vgo_agent.agent.report.ledger import headline as ledger_headline
from vgo_agent.knowledge.loader import load
from vgo_agent.knowledge.time_states import TimeState
from vgo_agent.tools.case import Case
from vgo_agent.tools.findings import Findings
from vgo_agent.tools.ledger.causes import LedgerCause
from vgo_agent.tools.ledger.recognise import PartSeen, recognised
from vgo_agent.tools.results import LookUpResult
from vgo_agent.tools.steps.conclude import concluded
from vgo_agent.tools.steps.look_up import LookUpArguments, run, uncounted
from vgo_agent.tools.verdict import Diagnosis, Explained, Found, Located, to_json
from vgo_agent.tools.verdict_words import headline

from ..agent.report.conftest import invisible, mitigated, unmitigated
from .ledger.test_plausible import ledger

KNOWN = load()
usual, bare = cache(mitigated), cache(unmitigated)
"""What nobody changes is made once."""


def ranked(made=None, causes=(), **more_ms):
    """The case after a ranking with a ledger of runs that are slow by so much in each state, made of `causes`."""
    made = made or usual()
    told = ledger(**more_ms).model_copy(update={"causes": causes}).model_dump(mode="json")
    calls = [
        dataclasses.replace(call, result={**(call.result or {}), "ledger": told})
        if call.tool == "rank_factors"
        else call
        for call in made.record.calls
    ]
    record = dataclasses.replace(made.record, calls=tuple(calls))
    assert Findings(record).ledger is not None
    return Case("c", made.subject, made.limits, made.machine, KNOWN, record)


def looked_up(factor, **more_ms):
    return found_in(factor, ranked(**more_ms))


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


def test_what_leaves_nearly_all_of_the_spread_is_not_worth_a_trial():
    found = ledger(sleep=20.0, queue_others=3.0)
    assert found.worth_trying([TimeState.SLEEP]) and found.worth_trying([TimeState.QUEUE_OTHERS])
    assert not found.worth_trying([TimeState.DISK]) and not found.worth_trying([TimeState.USER])
    known = uncounted(ranked(), ledger(sleep=20.0))
    assert "memory_layout" not in known and "hash_seed" not in known, "they act on a CPU, and the time lies asleep"


@pytest.mark.parametrize(("unseen", "seen"), [({"unseen": 0.0}, False), ({}, True)])
def test_nothing_is_concluded_where_much_of_the_time_was_not_seen(unseen, seen):
    found = ledger(sleep=20.0, **unseen)  # 10 of 70 ms of each run, alike in slow and fast ones
    assert bool(found.material) == found.concludes == seen
    assert ("nothing is concluded" in ledger_headline(found)) != seen


def test_of_equal_harm_the_state_that_could_give_most_comes_first():
    factor = KNOWN.factors["blocking_waits"]
    listed = [one.mitigation for one in looked_up("blocking_waits", sleep=30.0, lock=5.0).candidates]
    assert listed[0] != "omp_active_wait"  # a lock of 5 ms
    assert listed[0] in factor.mitigations and "omp_active_wait" in listed


def test_the_parts_of_a_cause_and_what_none_explains_add_up_to_the_whole_difference():
    case = ranked(cpu_move=12.0, sleep=20.0, start_and_end=5.0)
    verdict = concluded(case)
    cause = to_json(verdict)["cause"]
    moved, asleep = cause["parts"]
    assert [one["state"] for one in (*moved["held"], asleep)] == ["cpu_move", "sleep"]
    whole_ms, gap_ms, share = case.findings.ledger.shares.gap_ms, cause["rest"]["gap_ms"], cause["rest"]["share"]
    assert (
        gap_ms == pytest.approx(whole_ms - moved["held"][0]["gap_ms"] - asleep["gap_ms"]) == pytest.approx(5, abs=0.2)
    )
    assert share == pytest.approx(1 - moved["held"][0]["share"] - asleep["share"]) and 0.1 < share < 0.2
    assert f"; {gap_ms:.3g} ms more, 14 % of the variance, stay unexplained" in headline(verdict)
    assert "rest" not in to_json(concluded(ranked(sleep=20.0)))["cause"], "of what was found nothing is held"


def parts(case):
    verdict = concluded(case)
    assert isinstance(verdict, Diagnosis) and isinstance(verdict.cause, Explained)
    return verdict.cause.parts


def test_a_state_whose_milliseconds_are_known_comes_before_a_factor_of_which_they_are_not():
    asleep, moved = parts(ranked(bare(), sleep=20.0))
    assert isinstance(asleep, Located) and isinstance(moved, Found) and not moved.held
    moved, asleep = parts(ranked(bare(), cpu_move=12.0, sleep=20.0))
    assert isinstance(moved, Found) and moved.held and isinstance(asleep, Located)


@pytest.mark.parametrize(
    ("user", "sleep", "kind", "states"),
    [(20.0, 5.0, "not visible", ["user", "sleep"]), (5.0, 20.0, "explained", ["sleep"])],
)
def test_a_state_beside_more_of_the_programs_own_work_explains_nothing_and_both_are_told(user, sleep, kind, states):
    verdict = concluded(ranked(invisible(), user=user, sleep=sleep))
    told = to_json(verdict)["cause"]
    assert (told["kind"], [one["state"] for one in told.get("held") or told["parts"]]) == (kind, states)
    assert "spend more time on a CPU, in the program" in headline(verdict) or kind == "explained"


def test_beside_a_counter_a_state_is_told_however_much_own_work_there_is():
    assert [one.state for one in parts(ranked(bare(), user=20.0, sleep=5.0)) if isinstance(one, Located)] == ["sleep"]


@pytest.mark.parametrize("taken", ["stolen", "queue_others"])
def test_what_others_take_is_taken_out_where_it_matters(taken):
    found = ledger(**{taken: 30.0, "sleep": 1.0})
    assert found.net is not None and found.net.material[0].state == "sleep"
    # The host comes last, since nothing on this machine changes it.
    assert [one.state for one in found.material] == (["sleep", taken] if taken == "stolen" else [taken, "sleep"])
    assert "Without what others took of the CPUs they take 0.99" in ledger_headline(found)
    assert ledger(sleep=30.0, **{taken: 1.0}).net is None


def test_what_can_be_changed_here_is_named_before_what_the_host_takes():
    case = ranked(stolen=30.0, sleep=5.0)
    assert [one.state for one in parts(case) if isinstance(one, Located)] == ["sleep", "stolen"]


@pytest.mark.parametrize("made", [bare, cache(invisible)], ids=["located", "not visible"])
@pytest.mark.parametrize("who", ["vgo-agent (this one)", "make"])
def test_what_our_own_looking_takes_is_no_finding_about_the_program(made, who):
    known = [KNOWN.factors["profiling_tools"]]
    words, slow = f"behind {who}", np.arange(60) % 2 == 0
    seen = recognised(PartSeen("queue_others", f" < {words}", np.full(60, 4.0), np.ones(60), (), slow), known)
    share = (
        ledger(sleep=30.0, queue_others=10.0)
        .shares.state("queue_others")
        .model_dump(include={"gap_ms", "gap_interval", "share", "share_interval"})
    )
    counts = {"episodes_slow": 1.0, "episodes_fast": 1.0, "each_slow_ms": 4.0, "each_fast_ms": 4.0, "timer": ""}
    cause = LedgerCause(state="queue_others", what=words, via="", recognised=seen, **share, **counts)
    told = to_json(concluded(ranked(made(), causes=(cause,), sleep=30.0, queue_others=10.0)))["cause"]
    parts = told["held"] if told["kind"] == "not visible" else told["parts"]
    places = {place["state"] for part in parts for place in part.get("held", (part,) if "state" in part else ())}
    assert places == ({"sleep"} if "this one" in who else {"sleep", "queue_others"})


def test_of_steady_runs_nothing_is_claimed():
    found = ledger(sleep=20.0)
    assert found.material and not (steady := found.model_copy(update={"steady": True})).material
    assert "The runs are steady" in ledger_headline(steady)


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
