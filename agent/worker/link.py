"""The watcher's end of the wire: start a worker, attach to one, command it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter

from ...knowledge.errors import VgoError
from ...tools.ending_signals import OUTLIVES
from ...tools.execution.environment import as_given
from ..run_folder import RunFolder

SOCKET = "worker.sock"
LOG = "worker.log"
LONGEST = 1 << 20
"""Bytes of a line: more is no command."""
Mode = Literal["auto", "step"]
"""auto: the planner chooses where the user wishes nothing; step: it waits for the user."""


@dataclass(frozen=True)
class WorkerState:
    """All that a watcher cannot read in the run folder."""

    doing: str = "starting"
    """What goes on where no step does, in a few words."""
    mode: Mode = "auto"
    paused: bool = False
    question: dict[str, Any] | None = None
    """What waits for an answer, with its `number`."""
    waiting: bool = False
    """In step mode: it waits for a wish."""
    wishes: tuple[str, ...] = ()
    """Tools that the user asked for and that have not begun."""
    restored: tuple[str, ...] = ()
    """What a dead process had left, and was put back."""
    limits: dict[str, Any] = field(default_factory=dict)
    """That will hold from the next step on; empty: as they are."""
    in_charge: bool = False
    """Whether this watcher may command; the others only watch."""


_STATE = TypeAdapter(WorkerState)


def line_of(values: dict[str, Any]) -> bytes:
    """Render one line."""
    return json.dumps(values, separators=(",", ":")).encode() + b"\n"


def state_of(line: bytes) -> WorkerState:
    """Read a state; what a newer version adds is left out."""
    return _STATE.validate_json(line)


@contextmanager
def place_of(folder: RunFolder) -> Iterator[str]:
    """Name the socket by an open folder: a path of its own may be longer than a socket's may be."""
    descriptor = os.open(folder.path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}/{SOCKET}"
    finally:
        os.close(descriptor)


def listening(folder: RunFolder) -> socket.socket:
    """Open the socket of a run; the caller holds its folder, so that one there is of a dead process."""
    Path(folder.path / SOCKET).unlink(missing_ok=True)
    opened = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with place_of(folder) as place:
        opened.bind(place)
    os.chmod(folder.path / SOCKET, 0o600)
    opened.listen(8)
    return opened


def connected(folder: RunFolder) -> socket.socket | None:
    """Connect to the worker of a run; None where there is none."""
    opened = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with place_of(folder) as place:
            opened.connect(place)
    except OSError:
        opened.close()
        return None
    return opened


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
