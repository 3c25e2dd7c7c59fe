"""Vectors of n-grams are those of scikit-learn; a file keeps them; a model of the user takes their place."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.knowledge.index import open_index
from vgo_agent.knowledge.vectors import CharacterVectors, GgufVectors, ngrams

TEXTS = st.lists(
    st.text("abcdefg", min_size=1, max_size=9).flatmap(lambda one: st.text("abc ", max_size=12).map(f"{one} ".__add__)),
    min_size=2,
    max_size=8,
)


@settings(deadline=None)
@given(texts=TEXTS, question=st.text("abcdefgh ", max_size=20))
def test_products_of_a_question_with_all_texts_are_those_of_scikit_learn(texts: list[str], question: str) -> None:
    theirs = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True)
    expected = (theirs.fit_transform(texts) @ theirs.transform([question]).T).toarray()[:, 0]
    ours, vectors = CharacterVectors.of(texts, dimensions=len(texts))
    found = vectors.astype(np.float64) @ ours.embed(question)
    length = float(np.linalg.norm(expected @ np.linalg.pinv(np.array(vectors, dtype=np.float64).T)))
    assert found * length == pytest.approx(expected, abs=2e-4)  # a question is only known up to its length


@given(text=st.text(max_size=40))
def test_the_case_of_letters_does_not_matter(text: str) -> None:
    if text.isascii():
        assert list(ngrams(text.upper())) == list(ngrams(text))


def test_a_text_is_nearest_to_itself_and_a_foreign_question_to_nothing() -> None:
    texts = ["page faults and malloc", "migrations between cores", "fsync waits for the disk"]
    ours, vectors = CharacterVectors.of(texts, dimensions=3)
    for place, text in enumerate(texts):
        assert int(np.argmax(vectors @ ours.embed(text))) == place
        assert np.linalg.norm(vectors[place]) == pytest.approx(1, abs=1e-5)
    assert not ours.embed("日本語 ???").any()


def test_a_file_gives_back_the_same_vectors(tmp_path: Path) -> None:
    ours, _ = CharacterVectors.of(["page faults and malloc", "migrations between cores"], dimensions=2)
    ours.save(tmp_path / "vectors.npz")
    again = CharacterVectors.read(tmp_path / "vectors.npz")
    assert np.array_equal(again.embed("faults of cores"), ours.embed("faults of cores"))


class Letters:
    """Stands in for a model: how often each letter occurs; one vector a token where it does not pool."""

    def __init__(self, pools: bool = True) -> None:
        self.pools = pools
        self.asked: list[str] = []

    def embed(self, input: str, normalize: bool = False, truncate: bool = True) -> Any:
        self.asked.append(input)
        rows = [[float(word.count(letter)) for letter in "abcdefghijklmnopqrstuvwxyz"] for word in input.split()]
        return np.sum(rows, axis=0).tolist() if self.pools else rows


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    path = tmp_path / "letters.gguf"
    path.write_bytes(b"GGUF" + bytes(100))
    return path


@pytest.mark.parametrize("pools", [True, False])
def test_a_model_gives_unit_vectors_pooled_or_not(gguf: Path, pools: bool) -> None:
    model = GgufVectors(gguf, lambda path: Letters(pools))
    vectors = model.embed_all(["page faults", "cores"])
    assert vectors.shape == (2, 26)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1], abs=1e-5)
    assert vectors[0] @ vectors[1] < 0.99


def test_a_model_is_loaded_once_and_only_when_a_text_comes(gguf: Path) -> None:
    loaded: list[Path] = []

    def load(path: Path) -> Letters:
        loaded.append(path)
        return Letters()

    model = GgufVectors(gguf, load)
    assert loaded == []
    model.embed("one")
    model.embed("two")
    assert loaded == [gguf]


def test_another_model_is_told_apart(gguf: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.gguf"
    other.write_bytes(b"GGUF" + bytes(99) + b"x")
    assert GgufVectors(gguf).identity != GgufVectors(other).identity


@pytest.fixture
def no_llama() -> Iterator[None]:
    kept = {name: sys.modules[name] for name in list(sys.modules) if name.split(".")[0] == "llama_cpp"}
    sys.modules["llama_cpp"] = None  # type: ignore[assignment]
    yield
    del sys.modules["llama_cpp"]
    sys.modules.update(kept)


@pytest.mark.usefixtures("no_llama")
def test_without_the_library_the_cure_is_named(gguf: Path, tmp_path: Path) -> None:
    with pytest.raises(VgoError, match=r"vgo-agent\[llm\]"):
        open_index(folder=tmp_path / "index", embedding=gguf)


@pytest.mark.parametrize("content", [None, b"", b"no model"])
def test_what_is_no_model_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "model.gguf"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(VgoError, match="--embedding"):
        GgufVectors(path)


def test_a_model_without_vectors_is_refused(gguf: Path) -> None:
    class Empty(Letters):
        def embed(self, input: str, normalize: bool = False, truncate: bool = True) -> Any:
            return []

    with pytest.raises(VgoError, match="no usable vectors"):
        GgufVectors(gguf, lambda path: Empty()).embed("text")
