"""Ways to start the program: its layers wrapped around it, the launcher around them; proofs and trials go them too."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from ...knowledge.errors import VgoError
from ...layers.launcher import Launcher
from ...layers.probes.base import Probe, SpawnCommand
from ...layers.schema import Layer, Value
from ..row import Row
from ..subject import Subject
from .expected import FIRST_RUNS, NEVER, Deadline, Expected
from .launch import Launch, OnStarted, Run
from .outcomes import judge
from .processes import children_of
from .spawn import RUSAGE, Spawner

PAUSE_S = 0.001


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


@dataclass(frozen=True)
class Through:
    """A spawner that goes through a launcher."""

    spawner: Spawner
    ways: Ways
    deadline: Deadline = NEVER

    @property
    def over(self) -> bool:
        """Whether nothing is left of the budget."""
        return self.deadline.over

    def run(
        self, launch: Launch, *, timeout_s: float | None = None, capture: bool = False, on_started: OnStarted = None
    ) -> Run:
        """Run once; `on_started` gets the process of the program, or of one rank, once it is there."""
        started = self.ways.of(launch, ()).launch
        waiting = Waiting(os.path.realpath(started.argv[0]), on_started) if on_started and started != launch else None
        limit_s = self.deadline.limit_s(timeout_s)
        try:
            return self.spawner.run(
                started, timeout_s=limit_s, capture=capture, on_started=waiting.start if waiting else on_started
            )
        finally:
            if waiting:
                waiting.stop()


@dataclass
class Waiting:
    """Waits, in a thread, until a launcher has become the program or has started it."""

    launcher: str
    """The executable file."""
    found: Callable[[int], None]
    _thread: threading.Thread | None = None

    def start(self, pid: int) -> None:
        """Begin with the launcher's process."""
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._wait, args=(pid,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Give up; what has been found has been told by then."""
        if self._thread:
            self._ended.set()
            self._thread.join()

    def _wait(self, pid: int) -> None:
        while not self._ended.wait(PAUSE_S):
            for one in (pid, *children_of(pid)):
                with suppress(OSError):
                    if os.readlink(f"/proc/{one}/exe") != self.launcher:
                        self.found(one)
                        return


def try_once(
    spawner: Spawner,
    way: Way,
    subject: Subject,
    on_started: Callable[[int], None] | None = None,
    deadline: Deadline = NEVER,
    before: Expected | None = None,
) -> Expected:
    """Run once; give what trials have shown.

    After others that ended well, one that fails or hangs says nothing: how often it does so is the baseline's to tell.
    """
    capture, usual_s = subject.metric is not None, before.limit_s() if before else None
    own_s = min((limit for limit in (subject.timeout_s, usual_s) if limit is not None), default=None)
    for _ in range(1 if subject.on_failure == "stop" else FIRST_RUNS):  # who fails now and then is to be explained
        limit_s = deadline.limit_s(own_s)
        run = spawner.run(way.launch, timeout_s=limit_s, capture=capture, on_started=on_started)
        if run.timed_out and limit_s != own_s:
            raise deadline.no_run(cut=before is None)
        if before and run.timed_out and own_s == usual_s:
            return before
        if not (failure := judge(run, subject, way.through).failure):
            return (before or Expected()).and_also(Expected(longest_s=run.wall_ns / 1e9))
        if before and before.longest_s and subject.on_failure != "stop":
            return before
    raise VgoError(f"A trial run failed: {failure}; run it by hand first.")
