"""The conditions of an experiment on this machine: one in force at a time, kept while the next run has it too."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

from ..study.background import beside
from ..study.setting import StudySetting
from .condition import AS_GIVEN, Block, Condition
from .executor import Instructions

if TYPE_CHECKING:
    from ..execution.launch import Launch
    from ..execution.screen import Proof
    from ..execution.series import Change, Measuring, Series
    from ..machine import Machine

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
