"""The model that comes along: what it is, that llama.cpp reads its words whole, and how its diagnoses end."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

from benchmarks.training.generate import IDS, TEMPLATE, TOKENS, places_of, question, simulated
from benchmarks.training.judge import judge, shipped, worlds
from vgo_agent.agent.model.chosen import SHIPPED_FILE
from vgo_agent.agent.model.facts import NOTATION
from vgo_agent.agent.planners.base import Rules, calls, menu
from vgo_agent.agent.planners.compact import ASK, SPOKEN, WORDS, digest, line
from vgo_agent.agent.planners.grammar import PLACES, grammar, longest, read
from vgo_agent.agent.planners.llama import Llama
from vgo_agent.evals.contest.contestants import RandomLegal

from .simulated import views

llama_cpp = pytest.importorskip("llama_cpp", reason="llama-cpp-python is not installed (the extra llm)")
MOST_BYTES = 2_000_000
LEAST_AGREEMENT = 0.9
LEAST_OF_CURES = 0.85
"""Of what the rule policy cures in the same worlds."""


@pytest.fixture(scope="module")
def vocabulary() -> Any:
    return llama_cpp.Llama(str(SHIPPED_FILE), vocab_only=True, verbose=False)


@pytest.fixture(scope="module")
def model() -> Iterator[Llama]:
    with shipped() as opened:
        yield opened


def test_it_is_small_and_says_what_it_is(vocabulary: Any) -> None:
    assert SHIPPED_FILE.stat().st_size < MOST_BYTES
    said = vocabulary.metadata
    assert said["general.architecture"] == "llama" and said["general.license"] == "MIT"
    assert said[NOTATION] == "places" and said["tokenizer.chat_template"] == TEMPLATE
    assert said["vgo.vocabulary"] == digest(), "the words have changed: train it again (benchmarks/training)"


def test_llama_cpp_reads_every_word_as_one_token(vocabulary: Any) -> None:
    for word in WORDS:
        assert vocabulary.tokenize(f" {word}".encode(), add_bos=False, special=False) == [IDS[f" {word}"]]
    for tool in SPOKEN:
        assert vocabulary.tokenize(tool.encode(), add_bos=False, special=False) == [IDS[tool]]
    assert vocabulary.n_vocab() == len(TOKENS)


def test_llama_cpp_reads_every_line_word_by_word(vocabulary: Any) -> None:
    for pair in simulated(200, seed=5, split="held-out"):
        text = f"<s> {pair.line} {ASK}"
        assert vocabulary.tokenize(text.encode(), add_bos=False, special=True) == question(pair.line)


def test_what_is_no_word_does_not_end_the_process(vocabulary: Any) -> None:
    for text in ("now is the time", "\n", "é 你好", "now0spent", ""):
        assert isinstance(vocabulary.tokenize(text.encode(), add_bos=True, special=True), list)


def test_every_answer_is_legal_and_most_agree_with_the_rule_policy(model: Llama) -> None:
    agreed = asked = 0
    for world in islice(worlds(10_000, seed=3), 12):
        for view in views(world, 0.2):
            listed, usual = menu(view), Rules().choose(view)
            if calls(listed) == 1:
                continue
            request = {
                "messages": [{"role": "user", "content": line(view, listed)}],
                "grammar": grammar(listed, PLACES),
                "schema": None,
                "most": longest(listed, PLACES),
                "temperature": 0.0,
                "seed": 1,
            }
            answer = model.model.ask(request, 60.0)
            choice = read(answer["text"], listed, "", PLACES)
            view.legal.check(choice.tool, choice.arguments)
            assert answer["ended"] == "stop" and answer["prompt_tokens"] == len(line(view, listed).split()) + 2
            asked += 1
            agreed += choice.tool == usual.tool and places_of(choice, listed) == places_of(usual, listed)
    assert asked > 60
    assert agreed >= LEAST_AGREEMENT * asked


@pytest.mark.slow
def test_its_diagnoses_end_nearly_as_well_as_those_of_the_rule_policy(model: Llama) -> None:
    some = list(worlds(60, seed=4))
    score, usual, chance = (judge(planner, some) for planner in (model, Rules(), RandomLegal(1)))
    assert usual.cured > chance.cured
    assert score.cured >= LEAST_OF_CURES * usual.cured and score.cured > chance.cured
    assert score.wrong <= usual.wrong + 3
    assert score.passed_over <= 0.05 * score.asked
