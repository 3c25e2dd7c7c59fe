"""What is cited of a passage begins and ends where a sentence does."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.agent.answers.near import ENDS, LENGTH, excerpt, sentences
from vgo_agent.knowledge.loader import load
from vgo_agent.knowledge.passages import passages

PASSAGES = passages(load())


def test_every_passage_is_cited_in_whole_sentences() -> None:
    for identity, passage in PASSAGES.items():
        whole, said = sentences(passage.text), excerpt(passage.text, passage.title)
        assert said and said.rstrip("\"')`")[-1] in ENDS, identity
        place = next(n for n, one in enumerate(whole) if said.startswith(one))
        kept = [" ".join(whole[place : place + count]) for count in range(1, len(whole) + 1)]
        assert said in kept and (len(said) <= LENGTH or said in whole), identity


@pytest.mark.parametrize("text", ["", "a heading", "first:\n- a point\n- another point"])
def test_a_fragment_is_dropped(text: str) -> None:
    assert excerpt(text, "point") == ""


@settings(max_examples=50, deadline=None)
@given(st.text(alphabet="ab .?!\n-\"')", max_size=80), st.text(alphabet="ab ", max_size=10))
def test_nothing_is_cut_inside_a_sentence(text: str, question: str) -> None:
    said = excerpt(text, question)
    assert said == "" or said.rstrip("\"')`")[-1:] in tuple(ENDS)


@pytest.mark.parametrize("question", ["how do I stop migrations?", "what about background processes?"])
def test_an_answer_of_the_index_has_no_fragment(talk, question: str) -> None:
    answer = talk().ask(question)
    for fact in answer.facts:
        assert fact.kind != "entry" or any(
            f"{fact.text.partition(': ')[2]}." in " ".join(sentences(one.text)) for one in PASSAGES.values()
        )
