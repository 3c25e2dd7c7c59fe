"""The seam between what is to be run and where: pieces of turns, carried out here one by one, or on many hosts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

from ..row import BASELINE
from .treated import Treated

if TYPE_CHECKING:
    from .series import Change, Series

    How: TypeAlias = Change | Treated | None
    """A mitigation that a turn has on or off, many conditions, or nothing."""


@dataclass(frozen=True)
class Turn:
    """One run to come."""

    condition: str = BASELINE
    pair: int = -1
    layers: tuple[str, ...] | None = None
    """None: all of the series."""


Piece = tuple[Turn, ...]
"""Runs that belong together: made on one host, one after the other."""
BARRIER: Piece = ()
"""A piece without a run: all pieces before it have ended before the next one is asked for."""


def never() -> bool:
    """Go on to the last piece."""
    return False


class Executor(Protocol):
    """Carries pieces out where it is told to."""

    @property
    def beside(self) -> Mapping[str, bytes]:
        """Files that describe where the runs were made, by name; empty for this machine."""

    @property
    def lost(self) -> Sequence[str]:
        """Hosts that were lost so far, in words."""

    def carry_out(self, series: Series, pieces: Iterable[Piece], enough: Callable[[], bool], change: How) -> None:
        """Run the pieces until there are none or it is `enough`, which is asked before the first run and after each."""


class Local:
    """On this machine, in the order given."""

    beside: Mapping[str, bytes] = {}
    lost: Sequence[str] = ()

    def carry_out(self, series: Series, pieces: Iterable[Piece], enough: Callable[[], bool], change: How) -> None:
        """Run one turn after the other."""
        for piece in pieces:
            for turn in piece:
                if enough() or series.over:
                    return
                take(series, turn, change)


def take(series: Series, turn: Turn, change: How) -> None:
    """Run once, as the condition of the turn asks."""
    if isinstance(change, Treated):
        assert change.take is not None
        change.take(series, turn)
    elif change is None:
        series.run(turn.condition, series.bench.launch, turn.pair, turn.layers)
    else:
        series.turn(change, turn.condition != BASELINE, turn.pair)


LOCAL: Executor = Local()
