"""Decoding finds what llama.cpp's own chain finds, and the same again, whatever was decoded before."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import llama_cpp
import numpy as np
import pytest
from llama_cpp.llama_grammar import LlamaGrammar
from numpy.typing import NDArray

from vgo_agent.agent.model.decode import Decoder, Stuck
from vgo_agent.agent.model.language_model import ModelProcess
from vgo_agent.agent.model.served import load

from ...tiny_gguf import tiny

GRAMMARS = {
    "words": 'root ::= "yes" | "no" | "perhaps so"\n',
    "call": 'root ::= "{\\"tool\\":\\"" name "\\",\\"runs\\":" runs "}"\n'
    'name ::= "measure" | "profile"\nruns ::= [1-9] [0-9]?\n',
    "prose": 'root ::= [a-z ]{1,12} "."\n',
}
PROMPTS = ["", "a", "Why are some runs slow?", "x" * 700, "y" * 1300]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tiny(tmp_path_factory.mktemp("model") / "tiny.gguf", words=("yes", "measure", '":"'))
    return load(path, context=4096, threads=1)


def chain(model: Any, prompt: list[int], grammar: str, most: int) -> str:
    model.reset()
    found = model.create_completion(
        prompt, max_tokens=most, temperature=0.0, grammar=LlamaGrammar.from_string(grammar, verbose=False)
    )
    return str(found["choices"][0]["text"])


def tokens_of(model: Any, text: str) -> list[int]:
    found: list[int] = model.tokenize(text.encode(), add_bos=True, special=False)
    return found


@pytest.mark.parametrize("grammar", GRAMMARS)
@pytest.mark.parametrize("prompt", PROMPTS, ids=len)
def test_the_same_text_as_with_the_chain_of_llama_cpp(model: Any, grammar: str, prompt: str) -> None:
    decoder, tokens = Decoder(model), tokens_of(model, prompt)
    found = decoder.decode(tokens, GRAMMARS[grammar], 60, 0.0, 1)
    assert found.ended == "stop"
    assert decoder.text(found.tokens) == chain(model, tokens, GRAMMARS[grammar], 60)


def test_what_was_decoded_before_changes_nothing(model: Any, tmp_path: Path) -> None:
    """Prompts that share a beginning reuse what was evaluated of it: the logits are those of a cold start."""
    warm, chance = Decoder(model), random.Random(1)
    beginning = "".join(chance.choice("abc ") for _ in range(1500))
    for length in (1400, 1500, 600, 1100, 20):
        tokens = tokens_of(model, beginning[:length] + str(length))
        warm.decode(tokens, "", 8, 0.0, 1)
        after = logits(model)
        cold = Decoder(model)
        cold.decode(tokens, "", 8, 0.0, 1)
        assert logits(model) == after


def logits(model: Any) -> bytes:
    pointer = llama_cpp.llama_get_logits_ith(model.ctx, -1)
    return ctypes.string_at(pointer, 4 * model.n_vocab())


@pytest.mark.parametrize("temperature", [0.5, 2.0])
def test_a_seed_draws_the_same_legal_text_again(model: Any, temperature: float) -> None:
    decoder, tokens = Decoder(model), tokens_of(model, "a")
    drawn = [decoder.decode(tokens, GRAMMARS["words"], 60, temperature, seed) for seed in range(1, 30)]
    again = [decoder.decode(tokens, GRAMMARS["words"], 60, temperature, seed) for seed in range(1, 30)]
    assert drawn == again
    assert {decoder.text(one.tokens) for one in drawn} <= {"yes", "no", "perhaps so"}
    assert len(set(drawn)) > 1


def test_what_has_no_room_is_cut(model: Any) -> None:
    decoder = Decoder(model)
    found = decoder.decode(tokens_of(model, "a"), GRAMMARS["call"], 5, 0.0, 1)
    assert (len(found.tokens), found.ended) == (5, "length")


@pytest.mark.parametrize("grammar", ['root ::= "a', "start ::= [a-z]", "root ::= missing"])
def test_a_grammar_that_llama_cpp_cannot_read_is_refused(model: Any, grammar: str) -> None:
    with pytest.raises(ValueError, match="does not understand"):
        Decoder(model).decode(tokens_of(model, "a"), grammar, 5, 0.0, 1)


def test_letters_that_no_token_has_are_told(tmp_path: Path, model: Any) -> None:
    class Deaf(Decoder):
        """Knows no token but the first, which is no letter."""

        @property
        def _every(self) -> NDArray[np.int32]:
            return np.zeros(1, np.int32)

    with pytest.raises(Stuck):
        Deaf(model).decode(tokens_of(model, "a"), GRAMMARS["words"], 5, 0.0, 1)


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelProcess]:
    with ModelProcess(tiny(tmp_path_factory.mktemp("model") / "tiny.gguf"), 4096, 1) as process:
        yield process


def asked(**more: Any) -> dict[str, Any]:
    usual = {"messages": [{"role": "user", "content": "why"}], "grammar": "", "schema": None}
    return usual | {"most": 20, "temperature": 0.0, "seed": 1} | more


def test_a_process_says_the_same_as_another(process: ModelProcess, tmp_path: Path) -> None:
    questions = [asked(messages=[{"role": "user", "content": f"why {n}"}], grammar=GRAMMARS["prose"]) for n in range(5)]
    first = [without_times(process.ask(question, 60)) for question in questions]
    with ModelProcess(tiny(tmp_path / "tiny.gguf"), 4096, 1) as other:
        assert [without_times(other.ask(question, 60)) for question in reversed(questions)][::-1] == first
    assert all(answer["ended"] == "stop" for answer in first)


def without_times(answer: dict[str, Any]) -> dict[str, Any]:
    assert answer["seconds"]["all"] >= answer["seconds"]["model"] >= answer["seconds"]["prompt"] > 0
    return {name: value for name, value in answer.items() if name != "seconds"}
