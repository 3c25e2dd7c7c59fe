"""How the runs of many conditions are made, here or on another host: what a study, a search and a sweep have each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ...knowledge.actions import Precondition

if TYPE_CHECKING:
    from ..machine import Machine
    from .bench import Bench
    from .executor import Piece, Turn
    from .series import Series

    Take = Callable[[Series, Turn], None]
    """Makes one run of a series."""


class Treatments(Protocol):
    """What a host has to know to make the runs of some conditions; it travels as JSON."""

    @property
    def asks(self) -> Sequence[Precondition]:
        """What the machine has to be surveyed for."""

    def opened(self, bench: Bench, machine: Machine, proved: set[str]) -> AbstractContextManager[Take]:
        """Get ready, and put everything back at the end; `proved` remembers what was shown to be in force before."""


@dataclass(frozen=True)
class Treated:
    """How runs are made."""

    take: Take | None = None
    """Here; None where they are made on hosts only."""
    told: Callable[[Piece], Treatments] | None = None
    """What a host is told, to make these runs there; None where they are made here only."""
