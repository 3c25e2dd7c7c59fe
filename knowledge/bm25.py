"""Words: texts ranked by BM25 (Robertson and Sparck Jones; k1 and b as usual), and names that are near to one."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import NamedTuple

K1, B = 1.2, 0.75
STOP = frozenset(
    ["a", "an", "and", "are", "as", "at", "be", "but", "by", "do", "for", "from", "has", "have", "how", "i", "in"]
    + ["is", "it", "my", "not", "of", "on", "or", "that", "the", "to", "what", "when", "why", "with"]
)

KEPT = "aeiou" + "lsz"
"""Letters that are double without an ending too: `see`, `fall`, `miss`, `buzz`."""


class Lexicon:
    """Texts by key, counted once, so that a question looks only at the texts that share a word with it."""

    def __init__(self, texts: Mapping[str, str], whole: Callable[[str], str] = str) -> None:
        """Count the words; a word is rare when few wholes have it, in however many of their parts."""
        self._holders: dict[str, dict[str, float]] = defaultdict(dict)
        counts = {key: Counter(words(text)) for key, text in texts.items()}
        mean = sum(count.total() for count in counts.values()) / max(len(counts), 1)
        for key, count in counts.items():
            share = K1 * (1 - B + B * count.total() / mean) if mean else 1.0
            for word, often in count.items():
                self._holders[word][key] = often * (K1 + 1) / (often + share)
        groups = {key: whole(key) for key in counts}
        size = len(set(groups.values()))
        wholes = {word: len({groups[key] for key in held}) for word, held in self._holders.items()}
        self._rarity = {word: math.log(1 + (size - held + 0.5) / (held + 0.5)) for word, held in wholes.items()}

    def rank(self, question: str) -> list[str]:
        """Order the keys of the texts that share a word with the question, best first; ties by key."""
        scores: dict[str, float] = defaultdict(float)
        for word in sorted(set(words(question)) & self._holders.keys()):
            for key, weight in self._holders[word].items():
                scores[key] += self._rarity[word] * weight
        return sorted(scores, key=lambda key: (-scores[key], key))


def words(text: str) -> list[str]:
    """Split into lower-case words, lightly stemmed; `pre-empted` gives `pre`, `empt` and `preempt`."""
    found: list[str] = []
    for compound in re.findall(r"[a-z0-9]+(?:-[a-z0-9]+)*", text.lower()):
        parts = compound.split("-")
        found += parts if len(parts) == 1 else [*parts, "".join(parts)]
    return [_stem(word) for word in found if word not in STOP]


def _stem(word: str) -> str:
    for ending in ("ings", "ing", "ies", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            root = word[: -len(ending)]
            # These double a consonant, `pin` to `pinned` (Porter, step 1b); `add` had it before.
            doubling = ending in ("ings", "ing", "ed") and len(root) > 3 and root[-1] == root[-2]
            return root[:-1] if doubling and root[-1] not in KEPT else root
    return word


class Ranking(NamedTuple):
    """Keys, the best first, and how much their places count."""

    weight: float
    keys: Sequence[str]


def fused(rankings: Iterable[Ranking], offset: float) -> dict[str, float]:
    """Score each key by the sum of weight / (offset + place), best first; ties by key.

    The larger the offset, the less the first places count before the later ones.
    """
    scores: dict[str, float] = defaultdict(float)
    for weight, keys in rankings:
        for place, key in enumerate(keys, start=1):
            scores[key] += weight / (offset + place)
    return dict(sorted(scores.items(), key=lambda item: (-item[1], item[0])))


TYPING_ERROR, ALIKE = 0.8, 0.65
"""How alike two spellings are that differ by slips of a finger, and that are just alike."""


def near_names(
    typed: str,
    names: Mapping[str, str] | Iterable[str],
    texts: Mapping[str, str] | None = None,
    first: Sequence[str] = (),
    most: int = 3,
) -> list[str]:
    """Give keys, the likeliest first.

    `names` says for every name which key it stands for, or lists keys; `texts` says of keys what each is; `first` are
    keys that are known to be meant by such a word.
    """
    keys = {plain(name): key for name, key in (names if isinstance(names, Mapping) else {n: n for n in names}).items()}
    word = plain(typed)
    slips = [keys[name] for name in get_close_matches(word, keys, n=most, cutoff=TYPING_ERROR)]
    alike = [keys[name] for name in get_close_matches(word, keys, n=most, cutoff=ALIKE)]
    places = {name: _word_of(name, word) for name in keys if len(word) > 2}
    part = [keys[name] for name in sorted(filter(places.get, places), key=lambda name: places[name] != 1)]
    meaning = Lexicon(texts).rank(word.replace("_", " "))[:most] if texts else []
    return list(dict.fromkeys((*slips, *first, *part, *meaning, *alike)))[:most]


def _word_of(name: str, word: str) -> int:
    """Number the word of a name, from 1, that begins as another, however that is divided; 0: none does."""
    words, begins = name.split("_"), word.replace("_", "")
    return next((n + 1 for n in range(len(words)) if "".join(words[n:]).startswith(begins)), 0)


def did_you_mean(found: Sequence[str], otherwise: str) -> str:
    """Ask whether one of these was meant, or say what else can be done."""
    return f"did you mean {' or '.join(found)}?" if found else otherwise


def plain(name: str) -> str:
    """Leave what is typed in many ways: capitals, dashes, blanks."""
    return re.sub(r"[^a-z0-9]+", "_", name.casefold()).strip("_")
