"""Ways to start the program: its layers wrapped around it, the launcher around them; each composed once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...layers.launcher import Launcher
from ...layers.probes.base import Probe, SpawnCommand
from ...layers.schema import Layer, Value
from ..row import Row
from .launch import Launch, Run
from .spawn import RUSAGE


@dataclass(frozen=True)
class Way:
    """A launch with some layers on."""

    launch: Launch
    """As it is spawned."""
    probes: tuple[Probe, ...]
    layers: tuple[Layer, ...]
    """Of those probes."""
    launcher: Launcher | None
    through: tuple[Layer, ...]
    """The launcher and those layers that change the command, the outermost first."""
    _kept: dict[str, bool] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The cell of the column `layers`."""
        return "+".join(layer.key for layer in self.layers)

    def row(self, run: Run, outcome: float | None, **more: Any) -> Row:
        """What a row says of a run; its outcome is None where it does not count."""
        return {
            "ok": int(outcome is not None),
            "exit_code": run.exit_code,
            "survivors": run.survivors,
            "outcome": outcome,
            "wall_s": run.wall_ns / 1e9,
            "layers": self.name,
            **more,
            **self.cells(run.counters),
        }

    def cells(self, counters: Mapping[str, Value]) -> dict[str, Value]:
        """Keep what a layer that is on declares and can see from here, and add what the launcher knows."""
        for name in counters.keys() - self._kept.keys():
            self._kept[name] = self._keeps(name)
        cells = {name: value for name, value in counters.items() if self._kept[name]}
        return cells | (self.launcher.values() if self.launcher else {})

    def _keeps(self, name: str) -> bool:
        """Rusage comes with every run, so no probe has asked for it; what no layer declares is refused by the table."""
        layer = next((layer for layer in self.layers if layer.column(name)), None)
        if layer is None:
            return name not in RUSAGE
        return self.launcher is None or name not in self.launcher.unseen(layer, (name,))


@dataclass
class Ways:
    """Composes each way once: a wrapper may make files for it."""

    launcher: Launcher | None = None
    find: Callable[[str], tuple[Layer, Probe]] | None = None
    """A layer and its open probe, by spec; None where no layer is ever on."""
    _made: dict[tuple[int, tuple[str, ...]], tuple[Launch, Way]] = field(default_factory=dict)

    def of(self, launch: Launch, specs: tuple[str, ...] = ()) -> Way:
        """Wrap as functions compose: the first layer is outermost, the launcher is outside all of them."""
        key = (id(launch), specs)  # the launch is kept beside its way, so that no other can get its id
        if key not in self._made:
            self._made[key] = launch, self._compose(launch, specs)
        return self._made[key][1]

    def _compose(self, launch: Launch, specs: tuple[str, ...]) -> Way:
        command = SpawnCommand(launch.argv, launch.environment)
        found = [self.find(spec) for spec in specs] if self.find else []
        through: list[Layer] = []
        for layer, probe in reversed(found):
            wrapped = probe.wrap(command)
            if wrapped != command:
                through.insert(0, layer)
            command = wrapped
        if self.launcher:
            command = self.launcher.wrap(command, launch.directory)
            through.insert(0, self.launcher.layer)
        return Way(
            launch=replace(launch, argv=command.argv, environment=command.environment),
            probes=tuple(probe for _, probe in found),
            layers=tuple(layer for layer, _ in found),
            launcher=self.launcher,
            through=tuple(through),
        )
