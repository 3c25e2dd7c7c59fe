"""A word of the report is defined before all else, from the file of terms, and then shown in the run."""

from __future__ import annotations

import pytest

from vgo_agent.agent.answers.answer import objections
from vgo_agent.agent.answers.of_terms import meant
from vgo_agent.knowledge.loader import HERE, load
from vgo_agent.knowledge.terms import read_terms, spelt

from ..report.conftest import MAKERS

KNOWN = load()
TERMS = {term.key: term for term in read_terms(HERE)}


@pytest.mark.parametrize("key", TERMS)
def test_every_term_is_defined_first_and_every_sentence_is_borne_out(talk, key: str) -> None:
    for question in (f"what is {TERMS[key].names[0]}?", f"What does '{TERMS[key].names[-1]}' mean?"):
        answer = talk().ask(question)
        assert answer.asked.names == (f"term:{key}",) and not answer.dropped
        assert answer.facts[0].kind == "term" and TERMS[key].text.rstrip(".") in answer.spoken[0].text
        assert TERMS[key].formula in answer.spoken[0].text and answer.facts[0].sources
        assert objections(answer.prose, answer.facts) == []


@pytest.mark.parametrize("verdict", MAKERS)
def test_every_verdict_has_a_definition(verdict: str) -> None:
    assert meant(f"what does {spelt(verdict)} mean")


@pytest.mark.parametrize(
    "question",
    [
        "what is the standard deviation of the baseline",
        "what is the spread",
        "what was confirmed",
        "how many pairs",
        "is it in force",
        "what is page_faults",
        "",
    ],
)
def test_a_question_for_more_than_a_meaning_is_no_question_for_a_meaning(question: str) -> None:
    assert meant(question) == ()


def test_two_terms_are_both_defined_and_shown_in_the_run(talk) -> None:
    kinds = [fact.kind for fact in talk().ask("what is the difference between SD and CV?").facts]
    assert kinds == ["term", "term", "baseline"]


def test_it_is_not_a_term_that_was_spoken_of(talk) -> None:
    conversation = talk()
    conversation.ask("what is AUC?")
    assert not any(name.startswith("term:") for name in conversation.ask("did it help?").asked.names)
