"""How near a passage is to a question, by the words that they share: a search always finds something.

A word counts by its rarity among all that is known, one that stands nowhere the most. When it was tried first: of the
tuned half of the questions in `tests/evals/retrieval` as many are answered as before, of 25 short ones 84 instead of
92 %, and of 64 technical ones of another matter 5 instead of 23.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import NamedTuple

from ...knowledge.bm25 import words
from ...knowledge.loader import Knowledge
from ...knowledge.passages import KnowledgePassage, entry_of, passages, searchable
from .cues import CUES, Intent

FEW = 3
"""Words of a short question: one of them at least must stand in a name or an alias of the entry."""
LEAST_OF_FEW, LEAST = 0.6, 0.3
"""Share of the weight of a short and of a longer question that must be shared."""
LEAST_WORDS = 3
"""Of a longer question, that must be shared."""
_OF_MATTER: frozenset[Intent] = frozenset({"do", "machine", "put back", "reproduce", "who"})
"""Kinds whose cues say what a question is about, not only what it asks."""
FORM = frozenset(
    words(" ".join(cue for intent, cues in CUES.items() if intent not in _OF_MATTER for cue in cues))
    + words("paper papers study literature say said research should would could can we you i me any there am")
    + words("matter matters problem problems trouble play plays role disable disabling tell about known")
)
"""Words that only ask."""


class _Weighed(NamedTuple):
    """What a passage shares with a question."""

    share: float
    """Of the weight of the question."""
    words: int
    in_name: int


class Near:
    """The words of all that is known, counted when they are first needed."""

    def __init__(self, known: Knowledge) -> None:
        self._known = known

    def fits(self, passage: KnowledgePassage, question: str) -> bool:
        """Tell whether a passage that was found is about what the question is about."""
        asked = content(question)
        if passage.score >= 1:  # named outright
            return True
        if not asked:
            return False
        found = self._weighed(passage, asked)
        if len(asked) == 1:
            return found.in_name == 1
        if len(asked) <= FEW:
            return found.in_name >= 1 and found.words > 1 and found.share >= LEAST_OF_FEW
        named = found.in_name or found.share >= LEAST_OF_FEW
        return bool(named) and found.words >= LEAST_WORDS and found.share >= LEAST

    def foreign(self, question: str) -> bool:
        """Tell whether a word of the question stands in nothing that is known."""
        return any(not self._held[word] for word in content(question))

    def _weighed(self, passage: KnowledgePassage, asked: frozenset[str]) -> _Weighed:
        """Take the text of the passage, or the one thought of users about it that shares most."""
        name, entry = self._name(passage), entry_of(passage.identity)
        own = name | set(words(f"{passage.text} {passage.key.replace('_', ' ')}"))
        best = max((own, *self._thoughts.get(entry, ())), key=lambda one: self._weight(asked & one))
        return _Weighed(self._weight(asked & best) / self._weight(asked), len(asked & best), len(asked & name))

    def _name(self, passage: KnowledgePassage) -> set[str]:
        factor = self._known.factors.get(passage.key) if passage.kind == "factor" else None
        key = "" if passage.kind == "note" else passage.key.replace("_", " ")
        return set(words(" ".join((passage.title, key, *(factor.aliases if factor else ())))))

    def _weight(self, found: Iterable[str]) -> float:
        size = len(self._thoughts)
        return sum(math.log(1 + (size - self._held[word] + 0.5) / (self._held[word] + 0.5)) for word in sorted(found))

    @cached_property
    def _passages(self) -> Mapping[str, KnowledgePassage]:
        return passages(self._known)

    @cached_property
    def _thoughts(self) -> Mapping[str, list[set[str]]]:
        """What people say of each entry and note, thought by thought."""
        found: dict[str, list[set[str]]] = {entry_of(identity): [] for identity in self._passages}
        for identity, passage in self._passages.items():
            found[entry_of(identity)] += [set(words(thought)) for thought in passage.said]
        return found

    @cached_property
    def _held(self) -> Counter[str]:
        """In how many entries and notes each word stands."""
        whole: dict[str, set[str]] = defaultdict(set)
        for identity, passage in self._passages.items():
            whole[entry_of(identity)].update(words(searchable(passage, self._known)))
        return Counter(word for one in whole.values() for word in one)


def content(question: str) -> frozenset[str]:
    """Give the words of a question, lightly stemmed, that say what it is about."""
    return frozenset(words(question)) - FORM


LENGTH = 260
"""Characters in all; one sentence alone may be longer."""
ENDS = ".?!"


def excerpt(text: str, question: str, length: int = LENGTH) -> str:
    """Give the sentences that begin with the one that shares most words with the question, as many as fit.

    What does not end as a sentence does, a heading or a piece of a list, is left out.
    """
    found = sentences(text)
    if not found:
        return ""
    asked = set(words(question))
    best = max(range(len(found)), key=lambda place: (len(asked & set(words(found[place]))), -place))
    kept = found[best]
    for sentence in found[best + 1 :]:
        if len(kept) + 1 + len(sentence) > length:
            break
        kept = f"{kept} {sentence}"
    return kept


def sentences(text: str) -> list[str]:
    """Split a text into its sentences; points of a list and paragraphs begin new ones."""
    blocks = re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", text.strip())
    plain = (" ".join(re.sub(r"^\s*(?:[-*]|\d+\.) +", "", block).split()) for block in blocks)
    split = (one.strip() for block in plain for one in re.split(r"(?<=[.?!])[\"')]* (?=[A-Z\"'(`0-9])", block))
    return [one for one in split if one and one.rstrip("\"')`")[-1:] in tuple(ENDS)]
