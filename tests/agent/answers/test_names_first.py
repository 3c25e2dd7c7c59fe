"""What a question names is answered about first, and what it takes for granted is never taken over."""

from __future__ import annotations

import re

import pytest

from vgo_agent.agent.answers.answer import objections
from vgo_agent.knowledge.loader import load

from ..report.conftest import MAKERS
from .speakers import obedient

KNOWN = load()
UNTRIED = [
    ("Did you try thp_never?", "thp_never"),
    ("How much faster is it with jemalloc?", "jemalloc"),
    ("Why did jemalloc make it slower?", "jemalloc"),
    ("What is the standard deviation with huge pages?", "glibc_hugetlb"),
    ("how do I reproduce the jemalloc result?", "jemalloc"),
    ("did you put huge pages back?", "glibc_hugetlb"),
    ("how did turning off SMT make it 3 times slower?", "disable_smt"),
    ("how sure are you that jemalloc helped?", "jemalloc"),
    ("would jemalloc help?", "jemalloc"),
]
PREMISES = (
    *(question for question, _ in UNTRIED),
    "Did pinning to a CPU prove that it is better by 40 %?",
    "How sure are you that pin_to_cpu helped?",
    "Was it context switches?",
    "is the GPU the bottleneck?",
    "why is my disk the cause?",
    "did pinning help?",
)
SAID_YES = re.compile(r"made the runs steadier|runs are steadier with|got better with|makes the runs steadier")


@pytest.mark.parametrize(("question", "key"), UNTRIED)
def test_what_was_not_tried_is_said_to_be_untried_before_all_else(talk, question: str, key: str) -> None:
    first = talk().ask(question).spoken[0]
    assert (first.fact.kind in ("untried", "never_tried"), first.fact.key) == (True, key), first.text
    assert "was not tried" in first.text


@pytest.mark.parametrize(
    "question",
    [
        "Did pinning to a CPU prove that it is better by 40 %?",
        "How sure are you that pin_to_cpu helped?",
        "did pinning help?",
    ],
)
def test_what_was_tried_is_told_with_its_numbers_before_all_else(talk, question: str) -> None:
    first = talk().ask(question).spoken[0]
    assert (first.fact.kind, first.fact.key) == ("tried", "pin_to_cpu") and "SD ratio" in first.text


@pytest.mark.parametrize("verdict", ["not visible", "steady", "unusable"])
@pytest.mark.parametrize(
    "question", ["Did pinning to a CPU prove that it is better by 40 %?", "How sure are you that pin_to_cpu helped?"]
)
def test_pinning_that_was_not_tried_has_proved_nothing(talk, verdict: str, question: str) -> None:
    answer = talk(verdict).ask(question)
    assert answer.facts[0].key == "pin_to_cpu" and "was not tried" in answer.spoken[0].text


@pytest.mark.parametrize(
    ("question", "key"),
    [
        ("Was it context switches?", "context_switches"),
        ("is the GPU the bottleneck?", "gpu_contention"),
        ("why is my disk the cause?", "disk_queue"),
    ],
)
@pytest.mark.parametrize("verdict", MAKERS)
def test_a_factor_that_was_not_seen_is_said_to_be_unseen_before_all_else(
    talk, verdict: str, question: str, key: str
) -> None:
    answer = talk(verdict).ask(question)
    assert answer.asked.intent == "suspect" and answer.facts[0].key == key
    assert answer.facts[0].kind in ("not_visible", "not_ranked", "unmeasured", "aside", "grouped")
    assert "verdict" in {fact.kind for fact in answer.facts}


@pytest.mark.parametrize("question", PREMISES)
@pytest.mark.parametrize("verdict", MAKERS)
def test_a_wrong_premise_is_never_answered_with_a_yes(talk, verdict: str, question: str) -> None:
    answer = talk(verdict).ask(question)
    assert objections(answer.prose, answer.facts) == [] and not answer.dropped
    assert answer.facts[0].key in {name.partition(":")[2] for name in answer.asked.names}
    if answer.facts[0].kind != "tried":
        assert not SAID_YES.search(answer.spoken[0].text)
    assert "40 %" not in answer.prose and "3 times" not in answer.prose


@pytest.mark.parametrize("question", PREMISES)
@pytest.mark.parametrize("seed", range(3))
def test_a_model_does_not_put_anything_before_what_is_named(talk, question: str, seed: int) -> None:
    plain, answer = talk().ask(question), talk(speaker=obedient(seed)).ask(question)
    assert answer.by == "dice" and answer.facts[0].key in {name.partition(":")[2] for name in plain.asked.names}


def test_numbers_of_the_question_are_not_confirmed(talk) -> None:
    said = "Numbers in the question are not confirmed"
    assert said in talk().ask("Did pinning to a CPU prove that it is better by 40 %?").text()
    assert said not in talk().ask("did pinning help?").text()


def test_two_that_are_named_are_both_told_of(talk) -> None:
    answer = talk().ask("did jemalloc or pinning help more?")
    assert answer.asked.names == ("mitigation:jemalloc", "mitigation:pin_to_cpu")
    assert {"never_tried", "tried"} <= {fact.kind for fact in answer.facts}


def test_how_what_is_named_was_put_back_comes_before_the_others(talk) -> None:
    kept = [fact.key for fact in talk().ask("how do I undo pinning?").facts if fact.kind == "put_back"]
    assert kept[0] == "pin_to_cpu"


@pytest.mark.parametrize("question", ["did you measure the GPU?", "does the GPU matter?"])
def test_what_was_not_measured_is_said_before_what_it_is(talk, question: str) -> None:
    assert talk().ask(question).facts[0].kind == "unmeasured"


def test_a_general_question_is_answered_as_before(talk) -> None:
    assert talk().ask("why is this slow?").facts[0].kind == "verdict"
