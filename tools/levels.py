"""Levels of a mitigation's parameter as a host is told of them, and as it runs them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ..knowledge.actions import Precondition
from ..knowledge.schema import Mitigation
from .execution.executor import Turn, take
from .execution.series import Measuring, Series
from .machine import Machine
from .row import BASELINE
from .shipped import shipped
from .subject import Frozen

if TYPE_CHECKING:
    from .execution.executor import Piece
    from .execution.treated import Take


class Levels(Frozen):
    """A mitigation at several levels; a condition is one of them, or the baseline."""

    kind: Literal["levels"] = "levels"
    levels: dict[str, Mitigation]
    source: str = ""
    """The user's file that it was read from."""

    @property
    def asks(self) -> Sequence[Precondition]:
        """What the machine has to be surveyed for."""
        return tuple(one.applies for one in shipped().mitigations.values())

    def of(self, piece: Piece) -> Levels:
        """Only those of some turns."""
        named = {turn.condition for turn in piece}
        return Levels(levels={key: one for key, one in self.levels.items() if key in named}, source=self.source)

    @contextlib.contextmanager
    def opened(self, bench: Measuring, machine: Machine, proved: set[str]) -> Iterator[Take]:
        """Set a level for each of its runs."""
        source = Path(self.source) if self.source else None

        def run(series: Series, turn: Turn) -> None:
            if turn.condition == BASELINE:
                take(series, turn, None)
                return
            # Opened for each run, since two that set the same knob would each take the other's value for the old one.
            with bench.change(self.levels[turn.condition], machine, source) as change:
                change.on()
                series.run(turn.condition, change.launch, turn.pair)

        yield run
