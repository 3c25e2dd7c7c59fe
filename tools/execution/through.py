"""Start proofs through the launcher too, and look at the program then, not at the launcher before it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from .expected import NEVER, Deadline
from .launch import Launch, OnStarted, Run
from .spawn import Spawner
from .tree import children_of
from .way import Ways

PAUSE_S = 0.001


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
