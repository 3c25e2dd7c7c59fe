"""Blocks of runs, and the seam between what is to be run and where."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from ..execution.series import Series


OUTSIDE = -1
"""Number of a block whose runs are in no pair."""


class Block(NamedTuple):
    """Runs that belong together: made on one host, in this order, nothing between."""

    number: int
    """Of its first pair; OUTSIDE where its runs are in none."""
    order: tuple[str, ...]
    """Keys of conditions."""
    pairs: int = 1
    """That it holds: all of one condition, then all of the other."""

    def pair(self, place: int) -> int:
        """Number of the pair that the run at this place is in."""
        return self.number + place % self.pairs


BARRIER = Block(OUTSIDE, ())
"""All blocks before it have ended before the next one is asked for."""


class ExperimentConditions(Protocol):
    """How the runs of an experiment are made."""

    def run(self, series: Series, key: str, pair: int) -> None:
        """Run once on this machine, under a condition."""

    def shown(self, series: Series, key: str) -> tuple[str, str]:
        """What the rows of a condition say of it: the columns `condition` and `layers`."""


class Executor(Protocol):
    """Carries blocks out where it is told to."""

    @property
    def beside(self) -> Mapping[str, bytes]:
        """Files that describe where the runs were made, by name; empty for this machine."""

    @property
    def lost(self) -> Sequence[str]:
        """Hosts that were lost so far, in words."""

    def carry_out(
        self, series: Series, blocks: Iterable[Block], conditions: ExperimentConditions, enough: Callable[[], bool]
    ) -> None:
        """Run the blocks until there are none or it is `enough`, which is asked before the first run and after each."""


class LocalExecutor:
    """On this machine, in the order given."""

    beside: Mapping[str, bytes] = {}
    lost: Sequence[str] = ()

    def carry_out(
        self, series: Series, blocks: Iterable[Block], conditions: ExperimentConditions, enough: Callable[[], bool]
    ) -> None:
        """Run one block after the other."""
        for block in blocks:
            for place, key in enumerate(block.order):
                if enough():
                    return
                conditions.run(series, key, block.pair(place))


LOCAL: Executor = LocalExecutor()
