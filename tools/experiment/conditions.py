"""Conditions of an experiment, and what they set: in force for their runs, put back at the end."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from ...knowledge.schema import Mitigation
from ...knowledge.shape import Frozen
from ..execution.bench import Bench
from ..execution.expected import Proof
from ..execution.launch import Launch
from ..execution.series import Change, Measuring, Series
from ..machine import Machine
from ..row import BASELINE
from ..study.setting import StudySetting, beside
from ..sweep.cell import CellSettings
from ..sweep.cell_runs import CellRuns


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
    cell: CellSettings | None = None
    """Of a sweep: what it sets, and its program."""
    layers: tuple[str, ...] | None = None
    """On in its runs; None: those of the series."""


AS_GIVEN = Condition(name=BASELINE)
"""The program as it is given."""
ONLY: Mapping[str, Condition] = {AS_GIVEN.name: AS_GIVEN}
"""The conditions of an experiment that changes nothing."""


@dataclass
class AppliedConditions:
    """Sets what a condition asks for before its run; a context that puts everything back at its end."""

    bench: Measuring
    conditions: Mapping[str, Condition] = field(default_factory=lambda: ONLY)
    """By the key that a schedule has for them."""
    machine: Machine | None = None
    """Needed where any has a mitigation, or is a cell."""
    proved: set[str] = field(default_factory=set)
    """Settings of cells that were shown to be in force."""
    heard: list[str] = field(default_factory=list)
    """What a user should hear of settings; complete when the context has ended."""
    _set: Condition | None = None
    _change: Change | None = None
    _undo: ExitStack = field(default_factory=ExitStack)
    _launches: dict[str, Launch] = field(default_factory=dict)
    """Of settings: made once, for a way to start the program is known by its launch."""
    _cells: CellRuns | None = None

    def __enter__(self) -> Self:
        """Set nothing yet."""
        return self

    def __exit__(self, *_: object) -> None:
        """Put everything back."""
        self.close()

    @property
    def alike(self) -> bool:
        """Whether what a run of one takes says what a run of another one takes: one at most changes anything.

        Cells are programs of their own; none is there before it is looked up, and then there is no condition at all.
        """
        made = self.conditions.values()
        changed = sum(bool(one.mitigation or one.setting) for one in made)
        return bool(made) and changed <= 1 and not any(one.cell for one in made)

    def prove(self, key: str) -> Proof:
        """Show that a condition is in force, here or on every host; raises VgoError where that is refused."""
        return self.bench.prove(self._ready(self.conditions[key]))

    def run(self, series: Series, key: str, pair: int) -> None:
        """Run once; what is not asked for is off."""
        condition, launch = self.conditions[key], self.bench.launch
        if condition.setting:
            self._run_setting(series, condition.setting, pair)
            return
        if condition.cell:
            self._run_cell(series, condition.name, condition.cell, pair)
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
        launch = self._launches[setting.name]
        with beside(setting.background, launch):
            series.run(setting.name, launch, pair, times=len(os.sched_getaffinity(0)))

    def _run_cell(self, series: Series, name: str, cell: CellSettings, pair: int) -> None:
        if self._cells is None:
            assert isinstance(self.bench, Bench) and self.machine
            self._cells = self._undo.enter_context(closing(CellRuns(self.bench, self.machine, self.proved)))
        self._cells.run(series, name, cell, pair)

    def shown(self, series: Series, key: str) -> tuple[str, str]:
        """What the rows of a condition say of it: the columns `condition` and `layers`."""
        condition = self.conditions[key]
        layers = series.layers if condition.layers is None else condition.layers
        return condition.name, "+".join(self.bench.layer(spec).key for spec in layers)

    def close(self) -> None:
        """Put back what is set."""
        change = self._change
        self._change = self._set = self._cells = None
        try:
            self._undo.close()
        finally:
            self.heard += change.notices if change else ()

    def _ready(self, condition: Condition) -> Change:
        """Make its mitigation ready; another one is put back first, since both may set the same knob."""
        if self._change is None or self._set != condition:
            self.close()
            assert condition.mitigation and self.machine
            source = Path(condition.source) if condition.source else None
            self._change = self._undo.enter_context(self.bench.change(condition.mitigation, self.machine, source))
            self._set = condition
        return self._change
