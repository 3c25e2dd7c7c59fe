"""Settings of a study as a host is told of them, and as it runs them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from ...knowledge.actions import Precondition
from ..execution.bench import Bench
from ..machine import Machine
from ..subject import Frozen
from .background import beside
from .setting import Setting

if TYPE_CHECKING:
    from ..execution.executor import Piece, Turn
    from ..execution.launch import Launch
    from ..execution.series import Series
    from ..execution.treated import Take


class StudySettings(Frozen):
    """Some settings of a study; a condition has the name of one."""

    kind: Literal["study"] = "study"
    settings: tuple[Setting, ...]

    @property
    def asks(self) -> Sequence[Precondition]:
        """What the machine has to be surveyed for."""
        return ()

    def of(self, piece: Piece) -> StudySettings:
        """Only those of some turns."""
        named = {turn.condition for turn in piece}
        return StudySettings(settings=tuple(one for one in self.settings if one.name in named))

    def runs(self, base: Launch) -> Take:
        """Start the program as a setting says, with the jobs beside it.

        On one thread it may rightly take as many times longer as there are CPUs.
        """
        launches = {one.name: (one, one.launch(base)) for one in self.settings}

        def run(series: Series, turn: Turn) -> None:
            setting, launch = launches[turn.condition]
            with beside(setting.background):
                series.run(setting.name, launch, turn.pair, turn.layers, times=len(os.sched_getaffinity(0)))

        return run

    @contextlib.contextmanager
    def opened(self, bench: Bench, machine: Machine, proved: set[str]) -> Iterator[Take]:
        """Start the program as a setting says; nothing outlives a run."""
        yield self.runs(bench.launch)
