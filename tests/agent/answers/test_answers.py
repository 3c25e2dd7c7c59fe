"""The questions of a sceptical user, without a model: each answer is borne out, and says what it rests on."""

from __future__ import annotations

import re

import pytest

from vgo_agent.agent.answers.answer import objections
from vgo_agent.agent.report.numbers import p_value, percent
from vgo_agent.knowledge.loader import load
from vgo_agent.tools.claim import interval

from ..report.conftest import MAKERS

KNOWN = load()
SCEPTICAL = (
    "why is this slow?",
    "what did you try?",
    "did pin_to_cpu help?",
    "would huge pages help?",
    "what should I do on the cluster?",
    "how sure are you?",
    "how do I reproduce it?",
    "did you put everything back?",
    "what is page_faults?",
    "what was not measured?",
)
MORE = (
    "what next?",
    "what does it cost?",
    "how large is the spread?",
    "summarise the run",
    "what should I do without root?",
)


@pytest.mark.parametrize("question", (*SCEPTICAL, *MORE))
@pytest.mark.parametrize("verdict", MAKERS)
def test_every_sentence_is_borne_out_and_every_reference_resolves(talk, verdict: str, question: str) -> None:
    conversation = talk(verdict)
    answer = conversation.ask(question)
    assert answer.known, question
    assert objections(answer.prose, answer.facts) == [] and not answer.dropped
    for fact in answer.facts:
        assert fact.calls or fact.sources, fact
        assert len(fact.events) == len(fact.calls)
    ends = {event.seq: event for event in conversation.run.events}
    assert all(seq in ends for fact in answer.facts for seq in fact.events)
    assert "Formulated by templates." in answer.text()


@pytest.mark.parametrize("question", ["why is this slow?", "what happened?"])
@pytest.mark.parametrize("verdict", MAKERS)
def test_the_verdict_is_the_first_sentence_of_a_short_answer(talk, verdict: str, question: str) -> None:
    answer = talk(verdict).ask(question)
    assert answer.facts[0].kind == "verdict"
    assert len(answer.spoken) <= 5 and len(answer.prose) <= 1000


def test_the_verdict_is_said_in_plain_words_and_then_come_the_numbers_of_what_helped(talk) -> None:
    conversation = talk()
    first, second = (one.text for one in conversation.ask("why is this slow?").spoken[:2])
    concluded = conversation.facts.evidence.verdict.remedy
    assert first.startswith("The verdict, which is about pin_to_cpu (Pin to one CPU), says: cause explained, remedy")
    assert "CPU migrations" in first and "With 'pin_to_cpu' they take" in first
    assert interval(concluded.claim) in first and interval(concluded.mean) in second
    assert f", {percent(concluded.claim.level)}, adjusted {p_value(concluded.claim.p_value)}" in first
    assert interval(concluded.sd) in second


def test_runs_that_are_all_equal_are_not_said_to_scatter(talk) -> None:
    assert "scatter" not in talk("unusable").ask("how large is the spread?").prose


def test_why_names_the_factor_as_an_association_with_its_numbers(talk) -> None:
    text = talk().ask("why is this slow?").prose
    assert "go with CPU migrations, which is an association and by itself no proof: migrations, AUC" in text
    assert re.search(r"AUC 0\.\d+|AUC 1\b", text) and "family-wise p < 0.001" in text


def test_what_was_tried_is_told_with_what_came_of_it(talk) -> None:
    answer = talk().ask("what did you try?")
    kinds = {fact.key: fact.text for fact in answer.facts if fact.kind == "tried"}
    assert list(kinds) == ["sched_fifo", "own_autogroup", "pin_to_cpu"]
    assert "not proved to be in force" in kinds["sched_fifo"]
    assert "not proved to help" in kinds["own_autogroup"] or "not known" in kinds["own_autogroup"]
    assert "made the runs steadier" in kinds["pin_to_cpu"]


def test_a_mitigation_that_was_tried_is_answered_from_its_pairs(talk) -> None:
    answer = talk().ask("did pin_to_cpu help?")
    first = answer.spoken[0]
    assert "pin_to_cpu (Pin to one CPU) made the runs steadier" in first.text and "SD ratio" in first.text
    assert set(first.fact.calls) >= {"c009", "c010"} or len(first.fact.calls) == 4
    assert any(step.command == "vgo-agent mitigations pin_to_cpu --keep all" for step in answer.steps)


def test_a_mitigation_that_was_not_tried_is_not_promised(talk) -> None:
    answer = talk().ask("would huge pages help?")
    assert "mitigation:thp_always" in answer.asked.names or "mitigation:glibc_hugetlb" in answer.asked.names
    assert "nothing in this run is a sign that" in answer.prose.lower()
    assert "Taken to be about" in answer.text()
    assert any(fact.tag.startswith("k") and fact.sources for fact in answer.facts)


def test_on_the_cluster_what_was_proved_has_to_be_measured_again(talk) -> None:
    answer = talk().ask("what should I do on the cluster?")
    assert "for another one it has to be measured again" in answer.prose
    assert [step.command for step in answer.steps][0] == "vgo-agent mitigations pin_to_cpu --keep slurm"


def test_what_touched_only_the_program_left_nothing_to_put_back(talk) -> None:
    answer = talk().ask("did you put everything back?")
    assert "touched only the program that was measured, so that there was nothing to put back" in answer.prose
    assert answer.steps[0].command == "vgo-agent restore"


def test_whether_it_was_run_as_root_is_known(talk) -> None:
    answer = talk().ask("Did you run it as root?")
    assert answer.spoken[0].text.startswith("The run was made without root [f")
    assert "Root no" in answer.prose and answer.spoken[0].fact.calls == ("start",)


def test_what_this_machine_hides_is_named_with_the_reason(talk) -> None:
    text = talk().ask("what was not measured?").prose
    assert "rapl" in text and "no energy counter" in text and "no hardware counters" in text


def test_a_factor_is_explained_from_what_is_known_and_held_against_the_run(talk) -> None:
    answer = talk().ask("what is page_faults?")
    assert "What is known of Minor page faults: The program touches a page" in answer.prose
    assert any("Frachtenberg" in source for fact in answer.facts for source in fact.sources)
    assert {"not_visible", "not_ranked", "aside", "suspect"} & {fact.kind for fact in answer.facts}


def test_a_proposal_is_a_whole_command_of_this_program(talk) -> None:
    answer = talk("not visible").ask("what next?")
    assert answer.steps[-1].command == "vgo-agent diagnose -- ./bench.sh --size 12"
    answer = talk("refuted").ask("what next?")
    assert any(step.command.startswith("vgo-agent ") for step in answer.steps)


@pytest.mark.parametrize(
    "question", ["who won the world cup", "why is the sky blue", "なぜ遅いのですか", "\x00\xff\x1b[2J"]
)
def test_what_is_not_known_is_said_to_be_unknown_with_what_can_be_asked(talk, question: str) -> None:
    answer = talk().ask(question)
    assert not answer.known
    assert answer.text().startswith("I do not know") and "why is this slow?" in answer.text()


def test_ten_thousand_characters_are_answered_and_the_cut_is_told(talk) -> None:
    answer = talk().ask("why is this slow? " + "really " * 2000)
    assert answer.known and "characters of the question were read" in answer.text()


def test_a_conversation_remembers_what_it_spoke_of(talk) -> None:
    conversation = talk()
    conversation.ask("did pin_to_cpu help?")
    again = conversation.ask("and own_autogroup?")
    assert again.asked.intent == "effect" and again.spoken[0].fact.key == "own_autogroup"
    assert conversation.ask("is it safe?").spoken[0].fact.key == "own_autogroup"


def test_the_same_reference_means_the_same_in_every_answer(talk) -> None:
    conversation = talk()
    seen: dict[str, str] = {}
    for question in SCEPTICAL:
        for fact in conversation.ask(question).facts:
            if fact.tag.startswith("f"):
                assert seen.setdefault(fact.tag, fact.text) == fact.text


def test_lines_fit_a_terminal(talk) -> None:
    for question in SCEPTICAL:
        lines = talk().ask(question).text().splitlines()
        assert all(len(line) <= 130 for line in lines if "http" not in line and "vgo-agent" not in line), question
