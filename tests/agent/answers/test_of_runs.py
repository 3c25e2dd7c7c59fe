"""How slow the slow runs are, how many runs there were in all, and what the answers rest on."""

from __future__ import annotations

import re

import numpy as np
import pytest

from vgo_agent.agent.report.numbers import number, percent, quantity, ratio
from vgo_agent.agent.transcript import Decision

from ..report.conftest import MAKERS

SLOW_HALF = ("how much slower is the slow half?", "how slow are the slow runs?", "how many runs are slow?")


@pytest.mark.parametrize("question", SLOW_HALF)
def test_how_slow_the_slow_runs_are_is_read_off_the_record(talk, question: str) -> None:
    conversation = talk()
    answer, evidence = conversation.ask(question), conversation.facts.evidence
    found, outcome = evidence.labelled.classes, evidence.runs_explained.outcome
    slow = np.array(found.slow)
    worse, better = np.median(outcome[slow]), np.median(outcome[~slow])
    said, total = answer.spoken[0].text, number(outcome.size)
    assert (
        f"{number(slow.sum())} of {total} ({percent(slow.mean())}) slow with a median of {quantity(worse, 's')}" in said
    )
    assert f"{number((~slow).sum())} of {total} ({percent(1 - slow.mean())}) fast with {quantity(better, 's')}" in said
    assert f"ratio of the medians {ratio(worse / better)}, cut at {quantity(found.cut, 's')}" in said
    assert answer.facts[1].kind == "cut" and all(fact.tag.startswith("f") for fact in answer.facts)


@pytest.mark.parametrize("question", SLOW_HALF)
@pytest.mark.parametrize("verdict", MAKERS)
def test_runs_that_were_not_told_apart_have_no_slow_half(talk, verdict: str, question: str) -> None:
    answer = talk(verdict).ask(question)
    labelled = talk(verdict).facts.evidence.labelled
    assert answer.known and answer.facts[0].kind == ("classes" if labelled else "baseline")


@pytest.mark.parametrize("verdict", MAKERS)
def test_all_runs_of_the_program_are_counted_with_where_they_went(talk, verdict: str) -> None:
    conversation = talk(verdict)
    answer = conversation.ask("how many runs did you make")
    said = answer.spoken[0].text
    assert answer.facts[0].kind == "runs" and "for the baseline" in said
    total, *parts = (int(one.replace(",", "")) for one in re.findall(r"([\d,]+) (?:runs|for)\b", said))
    assert total == sum(parts) == conversation.facts.evidence.recorded_runs


def test_how_many_steps_a_planner_chose_rests_on_its_decisions(talk) -> None:
    conversation = talk()
    fact = next(fact for fact in conversation.ask("who decided?").facts if fact.kind == "planner")
    decided = {event.seq: event.body for event in conversation.run.events if isinstance(event.body, Decision)}
    assert set(fact.events) == set(decided) and f'"rules" {len(decided)}' in fact.text
    assert [decided[seq].call_id for seq in fact.events] == list(fact.calls)
    text = " ".join(conversation.ask("who decided?").text().split())
    assert re.search(r"the decisions on c001, c002, .*\(events 1, 4, ", text)
