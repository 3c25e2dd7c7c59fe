"""All factors and mitigations, loaded once, and what is wrong with them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from .consistency import problems
from .errors import VgoError
from .files import duplicate_keys, read_entry
from .schema import KnownFactor, Mitigation
from .terms import STATES, KnownState, read_states, state_problems, term_problems, wording_problems
from .time_states import TimeState

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Knowledge:
    """What is known, by key, in the order of the keys."""

    factors: Mapping[str, KnownFactor]
    mitigations: Mapping[str, Mitigation]
    digest: str
    """SHA-256 over names and bytes of all files that are searched."""
    states: Mapping[str, KnownState] = field(default_factory=dict)
    """Of a run's time."""

    def factors_of(self, column: str) -> tuple[KnownFactor, ...]:
        """Give the factors that list the column: by name first, then the most actionable, then the earliest."""
        listing = [(factor, place) for factor in self.factors.values() if (place := factor.place(column))]
        listing.sort(key=lambda one: (one[1].by_pattern, -one[0].actionable, one[1].position, one[0].key))
        return tuple(factor for factor, _ in listing)

    def factor_of(self, column: str) -> KnownFactor | None:
        """Give the factor that a column is named after."""
        return next(iter(self.factors_of(column)), None)

    def states_of(self, mitigation: str, factor: str | None = None) -> tuple[TimeState, ...]:
        """Give the states of a run's time that a mitigation can make shorter; empty: any.

        Where its entry names none, those of the factor that it is taken for, or of all that it is known for.
        """
        if (known := self.mitigations.get(mitigation)) and known.acts_on:
            return known.acts_on
        named = [one for key, one in self.factors.items() if mitigation in one.mitigations and factor in (None, key)]
        states = dict.fromkeys(state for one in named for state in one.acts_on)
        return tuple(states) if all(one.acts_on for one in named) else ()


NOTHING_KNOWN = Knowledge({}, {}, "")


def load(folder: Path = HERE) -> Knowledge:
    """Read every file; the first broken one raises VgoError. Files that are as they were are not parsed again."""
    return _loaded(folder, digest(folder))


@lru_cache(maxsize=2)
def _loaded(folder: Path, digested: str) -> Knowledge:
    return Knowledge(
        factors=MappingProxyType({path.stem: read_entry(path, KnownFactor) for path in _files(folder, "factors")}),
        mitigations=MappingProxyType(
            {path.stem: read_entry(path, Mitigation) for path in _files(folder, "mitigations")}
        ),
        digest=digested,
        states=read_states(folder),
    )


def check(folder: Path = HERE) -> list[str]:
    """List every problem, one sentence each; empty means sound."""
    found: list[str] = []
    for kind, model in (("factors", KnownFactor), ("mitigations", Mitigation)):
        for path in _files(folder, kind):
            try:
                read_entry(path, model)
            except VgoError as error:
                found.append(str(error))
                continue
            found += [f"{path}: the key {key} stands twice. Keep one." for key in duplicate_keys(path)]
    headless = (path for path in notes(folder) if not path.read_text(encoding="utf-8").startswith("# "))
    found += [f"{path}: has no heading. Begin it with `# title`." for path in headless]
    if found:  # references between entries mean little while entries are missing
        return found
    known = load(folder)
    wording = wording_problems(folder, {*known.factors, *known.mitigations})
    states = state_problems(folder, {*known.factors, *known.mitigations})
    entries = (*known.factors.values(), *known.mitigations.values())
    names = {name for one in entries for name in (one.key, one.name, *getattr(one, "aliases", ()))}
    return [*problems(known.factors, known.mitigations), *wording, *states, *term_problems(folder, names)]


def digest(folder: Path = HERE) -> str:
    """Hash what the index is made from: it changes when any byte or file name does."""
    total = hashlib.sha256()
    for path in [*_files(folder, "factors"), *_files(folder, "mitigations"), *notes(folder), *folder.glob(STATES)]:
        for part in (path.relative_to(folder).as_posix().encode(), path.read_bytes()):
            total.update(len(part).to_bytes(8, "big"))  # lengths keep neighbouring parts apart
            total.update(part)
    return total.hexdigest()


def notes(folder: Path = HERE) -> list[Path]:
    """List the notes on papers."""
    return sorted((folder / "papers").glob("*.md"))


def _files(folder: Path, kind: str) -> list[Path]:
    found = sorted((folder / kind).glob("*.yaml"))
    if not found:
        raise VgoError(f"{folder / kind}: no YAML file is there. Install vgo-agent again.")
    return found
