"""What a question asks for, without a model: the kind of question by its words, and the entries that it names."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ...knowledge.bm25 import words as telling
from ...knowledge.loader import Knowledge
from ...knowledge.passages import KnowledgePassage, called, meant, mentioned
from . import of_terms
from .cues import BACK, CONTEXTS, CUES, FOR_HELP, LEAST, SUSPECTING, Context, Intent, stood_for
from .near import Near, content

MOST = 2000
"""Characters of a question that are read."""
MOST_NAMES = 3
LONG = 200
"""Characters beyond which words that stand far apart are no name."""
SHORT = 3
"""Words beside a name in a question that leans on the one before."""
ABOUT_ENTRIES: frozenset[Intent] = frozenset({"effect", "what is", "suspect", "cost"})
"""Kinds in which `it` may be what the question before was about."""
KINDS = ("factor", "mitigation", "state")
WANTED: Mapping[Intent, tuple[str, ...]] = {
    "effect": ("mitigation",),
    "cost": ("mitigation",),
    "what is": KINDS,
}
"""Kinds of entries that a question of a kind is about."""
LOOKED_UP: Mapping[Intent, tuple[str, ...]] = {
    **WANTED,
    **dict.fromkeys(("tried", "sure", "reproduce", "put back"), ("mitigation",)),
}
"""Kinds of entries that are searched for where a question names none."""
OF_CUES = frozenset(telling(" ".join(cue for cues in CUES.values() for cue in cues)))
"""Words that say what kind of question it is, and nothing of its matter."""
_DENIED = frozenset({"no", "never", "off", "without"})
Search = Callable[[str], Sequence[KnowledgePassage]]


@dataclass(frozen=True)
class Sources:
    """Where the names in a question may come from."""

    known: Knowledge
    of_run: Sequence[str]
    """Keys of the mitigations that the run has tried or come upon, in that order."""
    search: Search
    near: Near


@dataclass(frozen=True)
class ParsedQuestion:
    """A question as it was taken."""

    question: str
    intent: Intent
    names: tuple[str, ...] = ()
    """Identities of factors, mitigations and terms, as `factor:page_faults`."""
    guessed: bool = False
    """A search gave the names; the question has none outright."""
    contexts: tuple[Context, ...] = ()
    cut: bool = False
    """It was longer than what is read."""

    def keys(self, kind: str) -> tuple[str, ...]:
        """Give the keys of the names of a kind."""
        return tuple(name.partition(":")[2] for name in self.names if name.startswith(f"{kind}:"))


def understood(question: str, sources: Sources, before: ParsedQuestion | None = None) -> ParsedQuestion:
    """Take a question; what came before it says what `it` is, and what a bare name is asked for."""
    asked = " ".join(question[:MOST].split())
    plain = _plain(asked)
    if terms := of_terms.meant(plain):
        return ParsedQuestion(asked, "term", tuple(f"term:{key}" for key in terms), cut=len(question) > MOST)
    contexts = tuple(context for context, cues in CONTEXTS.items() if any(_has(plain, cue) for cue in cues))
    names, others = _outright_and_others(asked, plain, sources.known)
    intent = _intent(plain, (*names, *others), contexts)
    both = (*names, *(name for name in others if _kind(name) in WANTED.get(intent, KINDS)))[:MOST_NAMES]
    taken = ParsedQuestion(asked, intent, both, bool(both and not names), contexts, cut=len(question) > MOST)
    if before is not None:
        taken = _leaning(taken, plain, before)
    return _settled(_searched(taken, sources), plain, sources.near)


def scores(question: str) -> dict[Intent, int]:
    """Sum the cues of each kind of question."""
    plain = _plain(question)
    found = {intent: sum(worth for cue, worth in cues.items() if _has(plain, cue)) for intent, cues in CUES.items()}
    return {intent: total for intent, total in found.items() if total}


def matter(question: str) -> list[str]:
    """Give the words of a question that say what it is about, without those that only ask."""
    words = re.findall(r"[a-z0-9-]+", question.lower())
    return [word for word in words if telling(word) and not OF_CUES & set(telling(word))]


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
    if names and any(_has(plain, cue) for cue in SUSPECTING):
        return "why"
    return "do" if contexts else "what is" if names else "search"


def _named(asked: str, known: Knowledge) -> tuple[str, ...]:
    """Give what is named outright: keys, columns, names in full, a single word that is a key."""
    single = [word for word in re.findall(r"[a-z0-9]+", asked.lower()) if word in {*known.mitigations, *known.factors}]
    found = [*mentioned(asked, known), *(one for key in single for one in meant(key, known)), *called(asked, known)]
    found += meant(asked, known) if len(asked) <= LONG else []
    return tuple(dict.fromkeys(found))[:MOST_NAMES]


def _outright_and_others(asked: str, plain: str, known: Knowledge) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Give what is named, and what words of every day stand for; where a mitigation is meant, they name no factor."""
    names = _named(asked, known)
    others, left = stood_for(_without(plain, names, known))
    if any(_kind(name) == "mitigation" for name in others):
        names = tuple(name for name in names if _kind(name) == "mitigation" or name in _named(left, known))
    no_factor = "factor" not in map(_kind, names)
    return names, tuple(name for name in others if name not in names and (no_factor or _kind(name) == "mitigation"))


def _without(plain: str, names: Sequence[str], known: Knowledge) -> str:
    """Take the words away that name a mitigation outright."""
    keys = (name.partition(":")[2] for name in names if _kind(name) == "mitigation")
    own = {word for key in keys for word in _plain(f"{key} {known.mitigations[key].name}").split()}
    return f" {' '.join(word for word in plain.split() if word not in own)} "


def _kind(name: str) -> str:
    return name.partition(":")[0]


def _leaning(taken: ParsedQuestion, plain: str, before: ParsedQuestion) -> ParsedQuestion:
    """Complete a question by the one before it."""
    said = plain.split()
    of_names = {word for name in taken.names for word in name.partition(":")[2].split("_")}
    if taken.names and len(set(said) - of_names) <= SHORT and not scores(plain):
        return replace(taken, intent=before.intent)
    if before.intent != "term" and not taken.names and BACK & set(said) and taken.intent in ABOUT_ENTRIES:
        return replace(taken, names=before.names, guessed=before.guessed)
    return taken


def _searched(taken: ParsedQuestion, sources: Sources) -> ParsedQuestion:
    """Say which entries are meant, where the kind of question needs some and none is named: of the run, else of all."""
    wanted = LOOKED_UP.get(taken.intent, ())
    asked = " ".join(matter(taken.question))
    if not asked or not wanted or (taken.names if taken.intent not in WANTED else any(map(taken.keys, wanted))):
        return taken
    names = _near(asked, sources) if "mitigation" in WANTED.get(taken.intent, ()) else ()
    if not names:
        found = [one for one in sources.search(asked) if one.kind in wanted and sources.near.fits(one, taken.question)]
        found.sort(key=lambda one: _denied(one.title, asked))
        names = tuple(f"{one.kind}:{one.key}" for one in found[:MOST_NAMES])
    return replace(taken, names=names, guessed=True) if names else taken


def _near(asked: str, sources: Sources) -> tuple[str, ...]:
    """Give the mitigations of the run whose names share most words with the question."""
    words, known = set(telling(asked)), sources.known.mitigations
    shared = {
        key: len(words & set(telling(f"{key.replace('_', ' ')} {known[key].name}")))
        for key in sources.of_run
        if key in known
    }
    most = max(shared.values(), default=0)
    best = [key for key, count in shared.items() if most and count == most]
    wanted = [key for key in best if not _denied(known[key].name, asked)] or best
    return tuple(f"mitigation:{key}" for key in wanted)[:MOST_NAMES]


def _denied(name: str, asked: str) -> bool:
    """Tell what takes something away: who asks whether it would help means having it, not being rid of it."""
    return bool(_DENIED & set(name.lower().split()) - set(asked.split()))


def _settled(taken: ParsedQuestion, plain: str, near: Near) -> ParsedQuestion:
    """Tell apart what the names decide: a cause that is named, and a kind that needs a name and has none."""
    if taken.intent == "why" and taken.keys("factor") and any(_has(plain, cue) for cue in SUSPECTING):
        return replace(taken, intent="suspect")
    if taken.intent == "classes" and taken.keys("mitigation"):
        return replace(taken, intent="tried")
    lacking = taken.intent in ("effect", "what is") and not taken.names
    if _elsewhere(taken, plain, near) or (lacking and (matter(taken.question) or content(taken.question))):
        return replace(taken, intent="search", names=(), guessed=False)
    if lacking and taken.intent == "what is":
        return replace(taken, intent="summary")
    return taken


def _elsewhere(taken: ParsedQuestion, plain: str, near: Near) -> bool:
    """Tell a question that was taken by one word of it, and has another that nothing known speaks of."""
    by_word = {
        "cost": not taken.names,
        "do": not taken.names and scores(plain).get("do", 0) < LEAST,
        "what is": taken.guessed,
    }
    return by_word.get(taken.intent, False) and near.foreign(taken.question)
