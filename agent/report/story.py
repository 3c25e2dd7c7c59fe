"""What several parts of a report say: words and numbers ready to print, no layout."""

from __future__ import annotations

from typing import NamedTuple

from ...tools.look_up import Candidate


class Fact(NamedTuple):
    """A name with what is said of it."""

    name: str
    text: str


class Untried(NamedTuple):
    """A mitigation that was not applied, and why."""

    candidate: Candidate
    reason: str


class Try(NamedTuple):
    """A command to try by hand."""

    name: str
    when: str
    command: str


class Suspect(NamedTuple):
    """A factor that no counter of this run could have shown."""

    key: str
    name: str
    description: str
    tries: tuple[Try, ...]
