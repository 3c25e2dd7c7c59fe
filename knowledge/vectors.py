"""Vectors of texts: from their character n-grams, or from an embedding model of the user's."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .errors import VgoError

SIZES = (3, 4, 5)
LEAST = 1e-9
"""Of the square of a singular value: less is rounding."""
Floats = NDArray[np.float32]


class CharacterVectors:
    """What texts were embedded with, so that a question lands in the same space."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take the arrays of `of` or of a file."""
        self.arrays = {name: arrays[name] for name in ("grams", "rarity", "starts", "texts", "weights", "basis")}
        """`texts` and `weights` from `starts[i]` to `starts[i + 1]` say how much of `grams[i]` is in which text;
        `basis` turns the products of a question with all texts into its place."""
        self._rows: dict[str, int] = {gram: row for row, gram in enumerate(arrays["grams"].tolist())}

    @classmethod
    def of(cls, texts: Sequence[str], dimensions: int) -> tuple[CharacterVectors, Floats]:
        """Learn from texts; also give their own vectors, row by row."""
        counts = [Counter(ngrams(text)) for text in texts]
        holders: dict[str, list[int]] = defaultdict(list)
        for place, count in enumerate(counts):
            for gram in count:
                holders[gram].append(place)
        grams = sorted(holders)
        rarity = {gram: 1 + math.log((1 + len(texts)) / (1 + len(holders[gram]))) for gram in grams}
        weighed = [_weighed(count, rarity) for count in counts]
        arrays = {
            "grams": np.array(grams),
            "rarity": np.array(list(rarity.values())),
            "starts": np.cumsum([0, *(len(holders[gram]) for gram in grams)]),
            "texts": np.array([place for gram in grams for place in holders[gram]], dtype=np.int32),
            "weights": np.array([weighed[place][gram] for gram in grams for place in holders[gram]], dtype=np.float32),
        }
        products = _products(len(texts), arrays)
        values, vectors = np.linalg.eigh(products)  # the squares of the singular values, the smallest first
        kept = [place for place in range(len(texts) - 1, -1, -1) if values[place] > LEAST][:dimensions]
        arrays["basis"] = (vectors[:, kept] / np.sqrt(values[kept])).astype(np.float32)
        return cls(arrays), _unit(vectors[:, kept] * np.sqrt(values[kept]))

    def embed(self, question: str) -> Floats:
        """Place a question among the texts; all zero when it shares no n-gram with any."""
        rarity = self.arrays["rarity"]
        known = Counter(gram for gram in ngrams(question) if gram in self._rows)
        starts, texts, weights = (self.arrays[name] for name in ("starts", "texts", "weights"))
        products = np.zeros(len(self.arrays["basis"]))
        for gram, weight in _weighed(known, {gram: float(rarity[self._rows[gram]]) for gram in known}).items():
            part = slice(starts[self._rows[gram]], starts[self._rows[gram] + 1])
            products[texts[part]] += weight * weights[part]
        found: Floats = _unit((products @ self.arrays["basis"])[None])[0]
        return found

    def save(self, path: Path) -> None:
        """Write an NPZ file of plain arrays."""
        with path.open("wb") as file:
            np.savez(file, allow_pickle=False, **self.arrays)

    @classmethod
    def read(cls, path: Path) -> CharacterVectors:
        """Read it again; ValueError, KeyError, OSError or BadZipFile when it is not such a file."""
        with np.load(path, allow_pickle=False) as kept:
            return cls(kept)


def ngrams(text: str) -> Iterator[str]:
    """Give the n-grams of each word with a blank on both sides; a word shorter than n gives itself once."""
    for word in re.findall(r"[^\W_]+(?:[._][^\W_]+)*", text.lower()):
        padded = f" {word} "
        for size in SIZES:
            yield padded[:size]
            yield from (padded[start : start + size] for start in range(1, len(padded) - size + 1))
            if size >= len(padded):
                break


def _products(size: int, arrays: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
    """Multiply each text with each; the many n-grams of a single text add to its own square alone."""
    holders = np.diff(arrays["starts"])
    shared = holders > 1
    kept = np.repeat(shared, holders)
    full = np.zeros((size, int(shared.sum())), dtype=np.float32)
    columns = np.repeat(np.arange(full.shape[1]), holders[shared])
    full[arrays["texts"][kept], columns] = arrays["weights"][kept]
    products = (full @ full.T).astype(np.float64)
    alone = arrays["weights"][~kept].astype(np.float64) ** 2
    products[np.diag_indices(size)] += np.bincount(arrays["texts"][~kept], alone, size)
    return products


def _weighed(count: Counter[str], rarity: Mapping[str, float]) -> dict[str, float]:
    weighed = {gram: (1 + math.log(often)) * rarity[gram] for gram, often in count.items()}
    length = math.sqrt(sum(weight * weight for weight in weighed.values()))
    return {gram: weight / length for gram, weight in weighed.items()}


def _unit(rows: NDArray[Any]) -> Floats:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    found: Floats = (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    return found


MAGIC = b"GGUF"
CONTEXT = 512
"""Tokens of one text: what the common embedding models were trained on; the rest is cut."""
LOOKED_AT = 1 << 20
"""Bytes of the start (names, vocabulary) and of the end that tell models apart: reading all would outlast a search."""


class EmbeddingModel(Protocol):
    """What is used of `llama_cpp.Llama`."""

    def embed(self, input: str, normalize: bool = ..., truncate: bool = ...) -> Any:
        """Give one vector, or one for each token where the model does not pool them."""


class GgufVectors:
    """Embeds with one file, loaded when the first text comes."""

    def __init__(self, path: Path, load: Callable[[Path], EmbeddingModel] | None = None) -> None:
        """Look at the file; VgoError when it is no GGUF file."""
        self.path = path
        self.identity = fingerprint(path)
        """Of the model, so that an index knows by which it was made."""
        self._load = load or load_model
        self._model: EmbeddingModel | None = None

    def embed(self, text: str) -> Floats:
        """Embed one text as a vector of length one."""
        if self._model is None:
            self._model = self._load(self.path)
        # One by one: a batch of several needs a context that is made for so many, in another way by each version.
        vector = np.asarray(self._model.embed(text, normalize=False, truncate=True), dtype=np.float64)
        pooled = vector.mean(axis=0) if vector.ndim > 1 else vector
        length = float(np.linalg.norm(pooled))
        if not pooled.size or not np.isfinite(length):
            raise VgoError(f"{self.path} gives no usable vectors. Name an embedding model with --embedding.")
        return (pooled / (length or 1.0)).astype(np.float32)

    def embed_all(self, texts: Sequence[str]) -> Floats:
        """Embed texts, row by row."""
        return np.stack([self.embed(text) for text in texts])


def fingerprint(path: Path) -> str:
    """Tell a model file from others by its size, its start and its end."""
    try:
        with path.open("rb") as file:
            start = file.read(LOOKED_AT)
            size = file.seek(0, 2)
            file.seek(max(0, size - LOOKED_AT))
            end = file.read()
    except OSError as error:
        raise VgoError(f"{path} cannot be read ({error.strerror}). Name a GGUF file with --embedding.") from error
    if not start.startswith(MAGIC):
        raise VgoError(f"{path} is not a GGUF file. Name one with --embedding, or leave it out.")
    return hashlib.sha256(b"%d:%b%b" % (size, start, end)).hexdigest()


def load_model(path: Path) -> EmbeddingModel:
    """Load a model; VgoError when the library is absent or refuses the file."""
    try:
        from llama_cpp import Llama
    except ImportError as error:
        raise VgoError(
            "--embedding needs llama-cpp-python, which is not installed. Install vgo-agent with the extra llm "
            "(pip install 'vgo-agent[llm]'), or leave --embedding out."
        ) from error
    try:
        model: EmbeddingModel = Llama(
            model_path=str(path), embedding=True, n_ctx=CONTEXT, n_batch=CONTEXT, verbose=False
        )
    except (ValueError, RuntimeError) as error:
        raise VgoError(f"{path} cannot be loaded as a model ({error}). Name another file with --embedding.") from error
    return model
