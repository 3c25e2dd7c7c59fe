"""A gate before a program's first instruction, at which it waits until something follows it."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack, suppress
from pathlib import Path

from ..wrapper import own_folder


class Gate:
    """Lets a program wait before it begins; of a program that is started elsewhere it is not there."""

    def __init__(self) -> None:
        """Make it."""
        self._undo = ExitStack()
        self._path = Path(self._undo.enter_context(own_folder("gate"))) / "gate"
        os.mkfifo(self._path, 0o666)
        # Open at both ends: nobody waits for the other to open it, and who waits when we have died reads its end.
        self._opened = os.open(self._path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._undo.callback(os.close, self._opened)

    def wrap(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        """Let a program wait before its first instruction, until `open`.

        Where it is started on another machine or in a container the gate is not there, and it does not wait.
        """
        return ("/bin/sh", "-c", '[ -p "$0" ] && read -r _ < "$0"; exec "$@"', str(self._path), *argv)

    def open(self) -> int:
        """Let one program go on; return when, on CLOCK_MONOTONIC."""
        os.write(self._opened, b"\n")
        return time.monotonic_ns()

    def end(self) -> None:
        """Take back what let nobody go on."""
        with suppress(BlockingIOError):
            os.read(self._opened, 1)

    def close(self) -> None:
        """Remove it."""
        self._undo.close()
