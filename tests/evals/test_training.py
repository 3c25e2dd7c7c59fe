"""The way from states to a GGUF: the same again, and what JAX computes is what llama.cpp computes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.training.generate import (
    BEGIN,
    END,
    IDS,
    TOKENS,
    TrainingExample,
    question,
    read_pairs,
    reply,
    simulated,
    write_pairs,
)
from vgo_agent.agent.planners.compact import SPOKEN, WORDS

NO_JAX = "the group `train` is not installed (uv sync --group train)"
LIBRARIES = ("jax", "optax", "gguf")


@pytest.fixture(scope="module")
def pairs() -> list[TrainingExample]:
    return simulated(300, seed=3, split="train")


def test_states_come_again_and_no_world_is_in_both_splits(pairs: list[TrainingExample]) -> None:
    assert simulated(300, seed=3, split="train") == pairs
    other = simulated(300, seed=3, split="held-out")
    assert len({pair.line for pair in other} & {pair.line for pair in pairs}) < 100  # all diagnoses begin alike
    assert {pair.answer.split()[0] for pair in pairs} >= {"profile", "apply_mitigation", "look_up", "conclude"}


def test_states_are_written_and_read_back(pairs: list[TrainingExample], tmp_path: Path) -> None:
    write_pairs(tmp_path / "states.tsv", pairs)
    assert read_pairs(tmp_path / "states.tsv") == pairs


def test_every_word_is_a_token_of_its_own_and_every_state_can_be_said(pairs: list[TrainingExample]) -> None:
    assert len(IDS) == len(TOKENS) and {f" {word}" for word in WORDS} | set(SPOKEN) <= IDS.keys()
    for pair in pairs:
        asked, said = question(pair.line), reply(pair.answer)
        assert asked[0] == BEGIN and said[-1] == END
        assert "".join(TOKENS[token].text for token in asked[1:-1]) == f" {pair.line}"
        assert "".join(TOKENS[token].text for token in said[:-1]) == pair.answer


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, pairs: list[TrainingExample]) -> Iterator[tuple[Any, Any, Path]]:
    """A very small model, trained for a few steps, with its size, and its folder with one file of each kind."""
    for library in LIBRARIES:
        pytest.importorskip(library, reason=NO_JAX)
    from benchmarks.training.network import Size, export
    from benchmarks.training.train import TrainingRecipe, train

    size = Size(vocabulary=len(TOKENS), width=64, layers=2, heads=2, hidden=96)
    losses: list[float] = []
    recipe = TrainingRecipe(seed=2, steps=100, batch=8, warm_up=10)
    weights = train(pairs, size, recipe, lambda _, loss: losses.append(loss))
    assert losses and losses[-1] < np.log(len(TOKENS)) / 2
    folder = tmp_path_factory.mktemp("made")
    for kind in ("F32", "F16", "Q8_0"):
        export(weights, size, folder / f"{kind}.gguf", kind)
    yield weights, size, folder


def said_by_llama(path: Path, tokens: list[int]) -> NDArray[np.float32]:
    """Logits after the last token."""
    llama_cpp = pytest.importorskip("llama_cpp", reason="llama-cpp-python is not installed (the extra llm)")
    model = llama_cpp.Llama(str(path), n_ctx=256, n_threads=1, verbose=False)
    model.eval(tokens)
    pointer = llama_cpp.llama_get_logits_ith(model.ctx, -1)
    return np.array(np.ctypeslib.as_array(pointer, shape=(model.n_vocab(),)))


@pytest.mark.parametrize(("kind", "most"), [("F32", 0.02), ("F16", 0.05), ("Q8_0", 0.5)])
def test_llama_cpp_computes_what_jax_computes(made: Any, pairs: list[TrainingExample], kind: str, most: float) -> None:
    from benchmarks.training.network import logits

    weights, size, folder = made
    for pair in (pairs[0], pairs[50], max(pairs, key=lambda pair: len(pair.line))):
        tokens = question(pair.line)
        ours = logits(weights, np.array([tokens]), np.array([[len(tokens) - 1]]), size)[0, 0]
        theirs = said_by_llama(folder / f"{kind}.gguf", tokens)
        assert np.abs(np.asarray(ours) - theirs).max() < most
        if kind == "F32":
            assert int(np.argmax(ours)) == int(np.argmax(theirs))


def test_the_same_seed_gives_the_same_bytes(made: Any, pairs: list[TrainingExample], tmp_path: Path) -> None:
    from benchmarks.training.network import export

    weights, size, folder = made
    export(weights, size, tmp_path / "again.gguf")
    assert (tmp_path / "again.gguf").read_bytes() == (folder / "Q8_0.gguf").read_bytes()
    assert (folder / "Q8_0.gguf").stat().st_size < (folder / "F16.gguf").stat().st_size


def test_agreement_counts_whole_replies(made: Any, pairs: list[TrainingExample]) -> None:
    from benchmarks.training.train import agreement

    weights, size, _ = made
    assert 0.0 <= agreement(weights, pairs[:40], size) <= 1.0
    wrong = [
        TrainingExample(pair.line, "conclude" if pair.answer != "conclude" else "rank_factors") for pair in pairs[:40]
    ]
    assert agreement(weights, pairs[:40], size) + agreement(weights, wrong, size) <= 1.0
