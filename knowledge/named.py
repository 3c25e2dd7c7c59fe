"""What a question names outright: a key, a column of a layer, a name or an alias."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from .bm25 import near_names, plain, words
from .loader import Knowledge

STATE_COLUMN = re.compile(r"(?:ledger|stacks)\.(\w+)_ms")
"""Columns of the layers that split the time of a run."""
NAMES = 8192
"""That are kept taken apart: more than all entries have, of which every question looks at each."""


def meant(name: str, known: Knowledge) -> list[str]:
    """Give the identities that the whole text is a name of: by key, by column, by name, by alias."""
    key = _plain(name)
    found = [f"{kind}:{key}" for kind, entries in _kinds(known) if key in entries]
    column = STATE_COLUMN.fullmatch(name.strip())
    found += [f"state:{column[1]}"] if column and column[1] in known.states else []
    found += [f"factor:{factor.key}" for factor in known.factors_of(" ".join(name.split()))]
    found += [
        f"{kind}:{entry.key}"
        for kind, entries in _kinds(known)
        for entry in entries.values()
        if key and key in map(_plain, _all(entry))
    ]
    return list(dict.fromkeys(found or _within(key.split("_"), known)))


def _within(asked: list[str], known: Knowledge) -> list[str]:
    """Give the entries of which a name of several words stands in the text, in any order; the longest first."""
    wanted = set(asked)
    found = [
        (-len(parts), f"{kind}:{entry.key}")
        for kind, entries in _kinds(known)
        if kind != "state"  # whose names are words of every day
        for entry in entries.values()
        for parts in map(_parts, _all(entry))
        if len(parts) > 1 and parts <= wanted
    ]
    return [identity for _, identity in sorted(found)]


def nearest(name: str, known: Knowledge) -> list[str]:
    """Give the keys that are spelt most like it, or contain it; five at most."""
    keys = {word: entry.key for _, entries in _kinds(known) for entry in entries.values() for word in _all(entry)}
    return near_names(name, keys, most=5)


def mentioned(question: str, known: Knowledge) -> list[str]:
    """Give the identities whose key or column stands in the text: a word with a dot or an underscore is no other."""
    tokens = re.findall(r"[A-Za-z0-9_.*-]*[A-Za-z0-9_]", question)
    found = [one for token in tokens if "." in token or "_" in token for one in meant(token, known)]
    return list(dict.fromkeys(found))


def called(question: str, known: Knowledge) -> list[str]:
    """Give the factors of which a name or alias stands in the text, word by word; the longest first."""
    asked = f" {' '.join(words(question))} "
    found = [
        (len(phrase.split()), factor.key)
        for factor in known.factors.values()
        for phrase in set(map(_phrase, (factor.name, *factor.aliases)))
        if phrase and f" {phrase} " in asked
    ]
    return list(dict.fromkeys(f"factor:{key}" for _, key in sorted(found, key=lambda one: (-one[0], one[1]))))


def _kinds(known: Knowledge) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "factor", dict(known.factors)
    yield "mitigation", dict(known.mitigations)
    yield "state", dict(known.states)


def _all(entry: Any) -> tuple[str, ...]:
    return (entry.key, entry.name, *getattr(entry, "aliases", ()))


@lru_cache(NAMES)
def _phrase(name: str) -> str:
    return " ".join(words(name))


@lru_cache(NAMES)
def _parts(name: str) -> frozenset[str]:
    return frozenset(_plain(name).split("_"))


_plain = lru_cache(NAMES)(plain)
