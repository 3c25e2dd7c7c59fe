"""The seam between what is to be run and where: blocks, carried out here one by one, or on many hosts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from .condition import Block, Condition

if TYPE_CHECKING:
    from ..execution.series import Series
    from ..sweep.treatments import Cells


class Instructions(NamedTuple):
    """What an order says of the conditions in its blocks, so that a host can make the runs."""

    conditions: Mapping[str, Condition] = {}
    """By key."""
    cells: Cells | None = None
    """Where they are the cells of a sweep."""


class ExperimentConditions(Protocol):
    """How the runs of an experiment are made."""

    @property
    def alike(self) -> bool:
        """Whether what a run of one takes says what a run of another one takes."""

    def run(self, series: Series, key: str, pair: int) -> None:
        """Run once on this machine, under a condition."""

    def shown(self, series: Series, key: str) -> tuple[str, str]:
        """What the rows of a condition say of it: the columns `condition` and `layers`."""

    def told(self, blocks: Sequence[Block]) -> Instructions:
        """What an order says of the conditions in these blocks."""


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
