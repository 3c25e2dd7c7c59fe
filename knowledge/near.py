"""The names that somebody may have meant: by spelling, by a part of the name, and by the words of what it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

from .bm25 import Lexicon

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
