"""What a question asks for, without a model: the kind of question by its words, and the entries that it names."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ...knowledge.bm25 import words as telling
from ...knowledge.loader import Knowledge
from ...knowledge.named import called, meant, mentioned
from ...knowledge.passages import Passage
from .cues import BACK, CONTEXTS, CUES, FOR_HELP, LEAST, SUSPECTING, Context, Intent

MOST = 2000
"""Characters of a question that are read."""
MOST_NAMES = 3
LONG = 200
"""Characters beyond which words that stand far apart are no name."""
SHORT = 3
"""Words beside a name in a question that leans on the one before."""
ABOUT_ENTRIES: frozenset[Intent] = frozenset({"effect", "what is", "suspect", "cost"})
"""Kinds in which `it` may be what the question before was about."""
OF_CUES = frozenset(telling(" ".join(cue for cues in CUES.values() for cue in cues)))
"""Words that say what kind of question it is, and nothing of its matter."""

Search = Callable[[str], Sequence[Passage]]


@dataclass(frozen=True)
class Understood:
    """A question as it was taken."""

    question: str
    intent: Intent
    names: tuple[str, ...] = ()
    """Identities of factors and mitigations, as `factor:page_faults`."""
    guessed: bool = False
    """A search gave the names; the question has none outright."""
    contexts: tuple[Context, ...] = ()
    cut: bool = False
    """It was longer than what is read."""

    def keys(self, kind: str) -> tuple[str, ...]:
        """Give the keys of the names of a kind."""
        return tuple(name.partition(":")[2] for name in self.names if name.startswith(f"{kind}:"))


def understood(question: str, known: Knowledge, search: Search, before: Understood | None = None) -> Understood:
    """Take a question; what came before it says what `it` is, and what a bare name is asked for."""
    asked = " ".join(question[:MOST].split())
    plain = _plain(asked)
    contexts = tuple(context for context, cues in CONTEXTS.items() if any(_has(plain, cue) for cue in cues))
    names = _named(asked, known)
    taken = Understood(asked, _intent(plain, names, contexts), names, contexts=contexts, cut=len(question) > MOST)
    if before is not None:
        taken = _leaning(taken, plain, before)
    return _settled(_searched(taken, search), plain)


def scores(question: str) -> dict[Intent, int]:
    """Sum the cues of each kind of question."""
    plain = _plain(question)
    found = {intent: sum(worth for cue, worth in cues.items() if _has(plain, cue)) for intent, cues in CUES.items()}
    return {intent: total for intent, total in found.items() if total}


def fits(passage: Passage, question: str) -> bool:
    """Tell whether a passage that was found shares enough with the matter of the question to be of any use."""
    asked = set(telling(question)) - OF_CUES
    shared = asked & set(telling(f"{passage.title} {passage.text} {passage.key.replace('_', ' ')}"))
    return passage.score >= 1 or len(shared) >= 2 or (bool(shared) and len(asked) <= 2)


def _plain(question: str) -> str:
    """Give its words in lower case, a blank around each; an apostrophe is left out."""
    words = re.findall(r"[a-z0-9_]+(?:\.[a-z0-9_]+)*", re.sub("['’]", "", question.lower()))
    return f" {' '.join(words)} "


def _has(plain: str, cue: str) -> bool:
    return f" {cue} " in plain


def _intent(plain: str, names: Sequence[str], contexts: Sequence[Context]) -> Intent:
    said = plain.split()
    if set(said) <= FOR_HELP:
        return "nothing"
    if said == ["why"]:
        return "why"
    found = scores(plain)
    best = max(found, key=lambda intent: found[intent], default=None)
    if best is not None and found[best] >= LEAST:
        return best
    return "do" if contexts else "what is" if names else "search"


def _named(asked: str, known: Knowledge) -> tuple[str, ...]:
    """Give what is named outright: keys, columns, names in full, a single word that is a key."""
    single = [word for word in re.findall(r"[a-z0-9]+", asked.lower()) if word in {*known.mitigations, *known.factors}]
    found = [*mentioned(asked, known), *(one for key in single for one in meant(key, known)), *called(asked, known)]
    found += meant(asked, known) if len(asked) <= LONG else []
    return tuple(dict.fromkeys(found))[:MOST_NAMES]


def _leaning(taken: Understood, plain: str, before: Understood) -> Understood:
    """Complete a question by the one before it."""
    said = plain.split()
    of_names = {word for name in taken.names for word in name.partition(":")[2].split("_")}
    if taken.names and len(set(said) - of_names) <= SHORT and not scores(plain):
        return replace(taken, intent=before.intent)
    if not taken.names and BACK & set(said) and taken.intent in ABOUT_ENTRIES:
        return replace(taken, names=before.names, guessed=before.guessed)
    return taken


def _searched(taken: Understood, search: Search) -> Understood:
    """Let a search say which entries are meant, where the kind of question needs some and none is named."""
    wanted = {"effect": ("mitigation",), "cost": ("mitigation",), "what is": ("factor", "mitigation")}.get(
        taken.intent, ()
    )
    if not wanted or any(taken.keys(kind) for kind in wanted):
        return taken
    if not set(telling(taken.question)) - OF_CUES:
        return taken
    found = [one for one in search(taken.question) if one.kind in wanted and fits(one, taken.question)]
    names = tuple(f"{one.kind}:{one.key}" for one in found[:MOST_NAMES])
    return replace(taken, names=(*names, *taken.names), guessed=bool(names)) if names else taken


def _settled(taken: Understood, plain: str) -> Understood:
    """Tell apart what the names decide: a cause that is named, and a kind that needs a name and has none."""
    if taken.intent == "why" and taken.keys("factor") and any(_has(plain, cue) for cue in SUSPECTING):
        return replace(taken, intent="suspect")
    lacking = taken.intent in ("effect", "what is") and not taken.names
    if lacking and set(telling(taken.question)) - OF_CUES:
        return replace(taken, intent="search")
    if lacking and taken.intent == "what is":
        return replace(taken, intent="summary")
    return taken
