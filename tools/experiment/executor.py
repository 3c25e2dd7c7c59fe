"""Conditions and blocks, and the seam between what is to be run and where."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

from ...knowledge.schema import Mitigation
from ...knowledge.shape import Frozen
from ..row import BASELINE
from ..study.setting import StudySetting, beside

if TYPE_CHECKING:
    from ..execution.launch import Launch
    from ..execution.screen import Proof
    from ..execution.series import Change, Measuring, Series
    from ..machine import Machine
    from ..sweep.treatments import Cells


OUTSIDE = -1
"""Number of a block whose runs are in no pair."""


class Condition(Frozen):
    """One way in which the program runs; JSON both ways, so that it travels to a host as it is."""

    name: str
    """As the column `condition` has it."""
    mitigation: Mitigation | None = None
    """In force in its runs, with the values of its parameters; None: nothing is set."""
    source: str = ""
    """The user's file that the mitigation was read from; empty where it is one of ours."""
    setting: StudySetting | None = None
    """Of a study, and what it changes about the start of the program."""
    layers: tuple[str, ...] | None = None
    """On in its runs; None: those of the series."""


AS_GIVEN = Condition(name=BASELINE)
"""The program as it is given."""


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


ONLY: Mapping[str, Condition] = {AS_GIVEN.name: AS_GIVEN}
"""The conditions of an experiment that changes nothing."""


@dataclass
class AppliedConditions:
    """Sets what a condition asks for before its run; a context that puts everything back at its end."""

    bench: Measuring
    conditions: Mapping[str, Condition] = field(default_factory=lambda: ONLY)
    """By the key that a schedule has for them."""
    machine: Machine | None = None
    """Needed where any has a mitigation."""
    heard: list[str] = field(default_factory=list)
    """What a user should hear of settings; complete when the context has ended."""
    _set: Condition | None = None
    _change: Change | None = None
    _undo: ExitStack = field(default_factory=ExitStack)
    _launches: dict[str, Launch] = field(default_factory=dict)
    """Of settings: made once, for a way to start the program is known by its launch."""

    def __enter__(self) -> Self:
        """Set nothing yet."""
        return self

    def __exit__(self, *_: object) -> None:
        """Put everything back."""
        self.close()

    @property
    def alike(self) -> bool:
        """Whether one at most changes anything but layers."""
        return sum(bool(one.mitigation or one.setting) for one in self.conditions.values()) <= 1

    def prove(self, key: str) -> Proof:
        """Show that a condition is in force, here or on every host; raises VgoError where that is refused."""
        return self.bench.prove(self._ready(self.conditions[key]))

    def run(self, series: Series, key: str, pair: int) -> None:
        """Run once; what is not asked for is off."""
        condition, launch = self.conditions[key], self.bench.launch
        if condition.setting:
            self._run_setting(series, condition.setting, pair)
            return
        if condition.mitigation:
            change = self._ready(condition)
            change.on()
            launch = change.launch
        elif self._change:
            self._change.off()
        series.run(condition.name, launch, pair, condition.layers)

    def _run_setting(self, series: Series, setting: StudySetting, pair: int) -> None:
        """On one thread it may rightly take as many times longer as there are CPUs."""
        if setting.name not in self._launches:
            self._launches[setting.name] = setting.launch(self.bench.launch)
        with beside(setting.background):
            series.run(setting.name, self._launches[setting.name], pair, times=len(os.sched_getaffinity(0)))

    def shown(self, series: Series, key: str) -> tuple[str, str]:
        """What the rows of a condition say of it: the columns `condition` and `layers`."""
        condition = self.conditions[key]
        layers = series.layers if condition.layers is None else condition.layers
        return condition.name, "+".join(self.bench.layer(spec).key for spec in layers)

    def told(self, blocks: Sequence[Block]) -> Instructions:
        """The conditions of these blocks, as they are."""
        return Instructions({key: self.conditions[key] for block in blocks for key in block.order})

    def close(self) -> None:
        """Put back what is set."""
        change, self._change, self._set = self._change, None, None
        try:
            self._undo.close()
        finally:
            self.heard += change.told if change else ()

    def _ready(self, condition: Condition) -> Change:
        """Make its mitigation ready; another one is put back first, since both may set the same knob."""
        if self._change is None or self._set != condition:
            self.close()
            assert condition.mitigation and self.machine
            source = Path(condition.source) if condition.source else None
            self._change = self._undo.enter_context(self.bench.change(condition.mitigation, self.machine, source))
            self._set = condition
        return self._change
