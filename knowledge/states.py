"""What each state of a run's time is, for people: `states.yaml`, one entry for each member of `TimeState`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from pydantic import RootModel

from .errors import VgoError
from .files import read_model
from .schema import DescribedEntry
from .time_states import TimeState

HERE = Path(__file__).parent
FILE = "states.yaml"


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


class KnownStates(RootModel[tuple[KnownState, ...]]):
    """All of them, as they stand in the file."""


@lru_cache(maxsize=2)
def read_states(folder: Path = HERE) -> Mapping[str, KnownState]:
    """Give all states by key; none where there is no file. VgoError when it is broken."""
    path = folder / FILE
    found = read_model(path, KnownStates).root if path.exists() else ()
    return MappingProxyType({one.key.value: one for one in found})


def state_words(state: str) -> str:
    """Name a state as it stands after a number of milliseconds: `asleep by a timer`."""
    name = read_states()[state].name
    return f"{name[:1].lower()}{name[1:]}"


def state_problems(folder: Path, taken: Collection[str]) -> list[str]:
    """List what is wrong with the file, one sentence each; `taken` are the keys of factors and mitigations."""
    read_states.cache_clear()
    try:
        return [f"{folder / FILE}: {text}" for text in _problems(read_states(folder), taken)]
    except VgoError as error:
        return [str(error)]


def _problems(states: Mapping[str, KnownState], taken: Collection[str]) -> Iterator[str]:
    for state in TimeState:
        if state.value not in states:
            yield f"the state {state.value} is missing. Add it: name, description, measured, next."
        if state.value in taken:
            yield f"{state.value} is the key of a factor or mitigation as well. Rename one."
