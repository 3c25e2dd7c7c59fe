"""Questions as users ask them find a right entry: nearly always those tuned to, mostly those that were left alone."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

import pytest

from vgo_agent.evals.retrieval.loader import Half, load_questions
from vgo_agent.evals.retrieval.question import place
from vgo_agent.knowledge.index import Index, open_index


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    with open_index(folder=tmp_path_factory.mktemp("index")) as opened:
        yield opened


MISSED = pytest.mark.xfail(strict=True, reason="docs/retrieval.md: the other half is at 0.69, and the target at 0.8")


@pytest.mark.parametrize(("half", "least"), [("tuned", 0.9), pytest.param("held_out", 0.8, marks=MISSED)])
def test_a_right_entry_is_among_the_first_five(index: Index, half: Half, least: float) -> None:
    def first(text: str) -> list[str]:
        return [passage.identity for passage in index.search(text, 5)]

    found = [place(question, first(question.text)) is not None for question in load_questions(half)]
    assert statistics.mean(found) >= least
    assert len(found) >= 70
