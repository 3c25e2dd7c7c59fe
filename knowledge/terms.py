"""What words mean, for people: those of a report, the states of a run's time, and what people say of an entry.

`terms.yaml` has one definition a term, with the source of a formula; `states.yaml` one entry for each `TimeState`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

from pydantic import Field, RootModel, StringConstraints

from .errors import VgoError
from .files import Problem, read_document, read_model, twice
from .schema import Citation, DescribedEntry
from .shape import Frozen, Key
from .time_states import TimeState

TERMS = "terms.yaml"


class Term(Frozen):
    """One word of the tool."""

    key: Key
    names: tuple[str, ...]
    """As people write it; the first is what it is called."""
    text: str
    """What it means here, in whole sentences."""
    formula: str = ""
    references: tuple[Citation, ...] = ()


@lru_cache(maxsize=2)
def read_terms(folder: Path) -> tuple[Term, ...]:
    """Give all terms; none where there is no file. VgoError when it is broken."""
    path = folder / TERMS
    return read_model(path, RootModel[tuple[Term, ...]]).root if path.exists() else ()


def term_problems(folder: Path, taken: Collection[str] = ()) -> list[str]:
    """List what is wrong with the file, one sentence each; `taken` are the names of factors and mitigations."""
    read_terms.cache_clear()
    try:
        terms = read_terms(folder)
    except VgoError as error:
        return [str(error)]
    return [f"{folder / TERMS}: {text}" for text in (*_each(terms), *_names(terms, taken))]


def spelt(name: str) -> str:
    """Give the words of a name in lower case, a blank between two, signs left out."""
    return " ".join(re.findall(r"[a-z0-9_]+", name.lower()))


def _each(terms: tuple[Term, ...]) -> Iterator[str]:
    for term in terms:
        if not any(map(spelt, term.names)):
            yield f"{term.key} has no name. Give names, the first as an answer calls it."
        if not term.text.endswith("."):
            yield f"{term.key}: its text does not end with a full stop. Write whole sentences."
        if term.formula and not term.references:
            yield f"{term.key} has a formula and no source. Add it to references."


def _names(terms: tuple[Term, ...], taken: Collection[str]) -> Iterator[str]:
    others = {spelt(name) for name in taken}
    owners: dict[str, str] = {}
    keys: set[str] = set()
    for term in terms:
        if term.key in keys:
            yield f"{term.key} stands twice. Keep one."
        keys.add(term.key)
        for name in sorted({spelt(name) for name in term.names}):
            if name in others:
                yield f"{term.key}: {name} is the name of a factor or mitigation. Leave it out here."
            if owners.setdefault(name, term.key) != term.key:
                yield f"{term.key}: {name} is a name of {owners[name]} already. Keep one."


Thought = Annotated[str, StringConstraints(strict=True, strip_whitespace=True, min_length=1)]
Wording = RootModel[dict[str, Annotated[list[Thought], Field(min_length=1)]]]
WORDING = "wording.yaml"


def read_wording(folder: Path, identities: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Give the thoughts by the identity of the entry; none where there is no file. VgoError when it is broken."""
    path = folder / WORDING
    if not path.exists():
        return {}
    entries = {identity.partition(":")[2]: identity for identity in sorted(identities, reverse=True)}
    for problem in wording_problems(folder, entries):
        raise VgoError(problem)
    return {entries[key]: tuple(thoughts) for key, thoughts in read_model(path, Wording).root.items()}


def wording_problems(folder: Path, keys: Collection[str]) -> list[str]:
    """List what is wrong with the file, one sentence each; `keys` are those of all factors and mitigations."""
    path = folder / WORDING
    if not path.exists():
        return []
    try:
        said, document = read_model(path, Wording).root, read_document(path)
    except VgoError as error:
        return [str(error)]
    cure = "is neither a factor nor a mitigation; correct the key or remove it"
    unknown = (Problem((key,), cure) for key in said if key not in keys)
    again = (
        Problem((key,), f"says twice: {thought}; keep one")
        for key, thoughts in said.items()
        for thought in sorted({thought for thought in thoughts if thoughts.count(thought) > 1})
    )
    return [document.sentence(problem) for problem in (*unknown, *twice(document.node), *again)]


HERE = Path(__file__).parent
STATES = "states.yaml"


class KnownState(DescribedEntry):
    """A state of the time of a run."""

    key: TimeState
    measured: str
    """How the ledger tells it."""
    next: str = ""
    """What to look at where slow runs spend more in it."""
    aliases: tuple[str, ...] = ()
    signals: tuple[str, ...] = ()
    """Columns of other layers that show it, or a sum that it is a part of."""


@lru_cache(maxsize=2)
def read_states(folder: Path = HERE) -> Mapping[str, KnownState]:
    """Give all states by key; none where there is no file. VgoError when it is broken."""
    path = folder / STATES
    found = read_model(path, RootModel[tuple[KnownState, ...]]).root if path.exists() else ()
    return MappingProxyType({one.key.value: one for one in found})


def state_words(state: str) -> str:
    """Name a state as it stands after a number of milliseconds: `asleep by a timer`."""
    name = read_states()[state].name
    return f"{name[:1].lower()}{name[1:]}"


def state_problems(folder: Path, taken: Collection[str]) -> list[str]:
    """List what is wrong with the file, one sentence each; `taken` are the keys of factors and mitigations."""
    read_states.cache_clear()
    try:
        return [f"{folder / STATES}: {text}" for text in _of_states(read_states(folder), taken)]
    except VgoError as error:
        return [str(error)]


def _of_states(states: Mapping[str, KnownState], taken: Collection[str]) -> Iterator[str]:
    for state in TimeState:
        if state.value not in states:
            yield f"the state {state.value} is missing. Add it: name, description, measured, next."
        if state.value in taken:
            yield f"{state.value} is the key of a factor or mitigation as well. Rename one."
