"""The watcher's end of the wire: start a worker, attach to one, command it."""

from __future__ import annotations

import socket
import subprocess
import sys
from typing import Any

from ...knowledge.errors import VgoError
from ...tools.execution.environment import as_given
from ...tools.stop import OUTLIVES
from ..run_folder import RunFolder
from .wire import LOG, Mode, WorkerState, connected, line_of, state_of


def started(folder: RunFolder, mode: Mode) -> subprocess.Popen[bytes]:
    """Start a worker in a session of its own: it outlives this process and its terminal."""
    try:
        with (folder.path / LOG).open("wb") as log:
            return subprocess.Popen(
                [sys.executable, "-m", str(__package__), str(folder.path.resolve()), mode, OUTLIVES],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env=as_given() | {"NO_COLOR": "1"},
            )
    except OSError as error:
        raise VgoError(f"Cannot write in {folder.path} ({error.strerror}); free space there, then resume.") from error


def last_words(folder: RunFolder) -> str:
    """Give the last line that a worker left; empty where it left none."""
    try:
        lines = (folder.path / LOG).read_text(errors="replace").strip().splitlines()
    except OSError:
        return ""
    return lines[-1] if lines else ""


class WorkerConnection:
    """One connection; `look` never waits."""

    def __init__(self, opened: socket.socket) -> None:
        opened.setblocking(False)
        self._socket = opened
        self._held = b""
        self.state = WorkerState()
        self.heard = False
        """Whether the worker has told its state."""
        self.open = True

    @classmethod
    def to(cls, folder: RunFolder) -> WorkerConnection | None:
        """Attach; None where no worker is."""
        opened = connected(folder)
        return cls(opened) if opened else None

    def look(self) -> bool:
        """Read what has come; tell whether anything changed."""
        changed = False
        while self.open:
            try:
                came = self._socket.recv(1 << 16)
            except BlockingIOError:
                break
            except OSError:
                came = b""
            self.open = bool(came)
            changed = True
            *lines, self._held = (self._held + came).split(b"\n")
            if lines:
                self.state, self.heard = state_of(lines[-1]), True
        return changed

    def tell(self, do: str, **more: Any) -> None:
        """Give a command; VgoError where the worker has gone."""
        try:
            self._socket.sendall(line_of({"do": do, **more}))
        except OSError as error:
            self.open = False
            raise VgoError("The worker has ended; `/resume` goes on with the run.") from error

    def close(self) -> None:
        """Let the worker go on alone."""
        self.open = False
        self._socket.close()
