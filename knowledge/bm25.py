"""BM25 over short texts (Robertson and Sparck Jones; k1 and b at their usual values)."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping

K1, B = 1.2, 0.75
STOP = frozenset(
    ["a", "an", "and", "are", "as", "at", "be", "but", "by", "do", "for", "from", "has", "have", "how", "i", "in"]
    + ["is", "it", "my", "not", "of", "on", "or", "that", "the", "to", "what", "when", "why", "with"]
)


def words(text: str) -> list[str]:
    """Split into lower-case words, lightly stemmed; `pre-empted` gives `pre`, `empt` and `preempt`."""
    found: list[str] = []
    for compound in re.findall(r"[a-z0-9]+(?:-[a-z0-9]+)*", text.lower()):
        parts = compound.split("-")
        found += parts if len(parts) == 1 else [*parts, "".join(parts)]
    return [_stem(word) for word in found if word not in STOP]


def rank(question: str, texts: Mapping[str, str]) -> list[str]:
    """Order the keys of the texts that share a word with the question, best first; ties by key."""
    counts = {key: Counter(words(text)) for key, text in texts.items()}
    lengths = {key: sum(count.values()) for key, count in counts.items()}
    mean = sum(lengths.values()) / max(len(lengths), 1)
    scores: dict[str, float] = {}
    for word in sorted(set(words(question))):
        holders = [key for key, count in counts.items() if word in count]
        rarity = math.log(1 + (len(counts) - len(holders) + 0.5) / (len(holders) + 0.5))
        for key in holders:
            often = counts[key][word]
            weight = often * (K1 + 1) / (often + K1 * (1 - B + B * lengths[key] / mean))
            scores[key] = scores.get(key, 0.0) + rarity * weight
    return sorted(scores, key=lambda key: (-scores[key], key))


def _stem(word: str) -> str:
    for ending in ("ings", "ing", "ies", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word
