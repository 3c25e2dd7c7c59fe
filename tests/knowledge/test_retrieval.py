"""Questions as users ask them find a right entry: nearly always those tuned to, mostly those that were left alone."""

from __future__ import annotations

import statistics

import pytest

from vgo_agent.knowledge.index import Index

from ..evals.retrieval.loader import Half, load_questions
from ..evals.retrieval.question import place


@pytest.mark.parametrize(("half", "least"), [("tuned", 0.9), ("held_out", 0.8)])
def test_a_right_entry_is_among_the_first_five(index: Index, half: Half, least: float) -> None:
    def first(text: str) -> list[str]:
        return [passage.identity for passage in index.search(text, 5)]

    found = [place(question, first(question.text)) is not None for question in load_questions(half)]
    assert statistics.mean(found) >= least
    assert len(found) >= 70
