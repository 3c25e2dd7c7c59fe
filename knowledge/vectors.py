"""Vectors of texts from their character n-grams: TF-IDF, and as few dimensions as keep the ranking (LSA).

The n-grams and weights are those of scikit-learn's TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5),
sublinear_tf=True), and a test compares the two. They are counted here because a question needs this alone, and
importing scikit-learn takes twice as long as importing chromadb.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
