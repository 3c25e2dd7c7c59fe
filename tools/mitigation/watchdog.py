"""Keep a small process beside the agent that puts settings back, and ends a run, when the agent is killed."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

from ...knowledge.errors import VgoError
from ..execution.running import shared_file
from .guard import DISMISSED, LIFELINE, READY, RUNNING
from .owner import this_process

_ABOVE = Path(__file__).parents[3]
"""Where `vgo_agent` lies."""
_CODE = f"import sys; sys.path.insert(0, sys.argv[1]); from {__package__}.guard import main; main"
_DEAF_TO = (
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGTERM,
    signal.SIGPIPE,
    signal.SIGALRM,
    signal.SIGTSTP,
    signal.SIGTTIN,
    signal.SIGTTOU,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGXCPU,
)
"""Meant for the agent, or for all that belongs to a terminal."""
_PATIENCE_S = 30.0


@contextlib.contextmanager
def guarded(journal_folder: Path) -> Iterator[int]:
    """Have a watchdog for the time of the context, and give its process id."""
    ours, theirs = socket.socketpair()
    try:
        with theirs:
            pid = _start(theirs, journal_folder)
        try:
            _await_ready(ours, pid)
            yield pid
        finally:
            with contextlib.suppress(OSError):  # it was killed
                ours.send(DISMISSED)
            ours.close()
            os.waitpid(pid, 0)
    finally:
        ours.close()


def _start(theirs: socket.socket, folder: Path) -> int:
    """Start it in a session of its own, deaf from its first moment, with nothing open but what it needs."""
    owner = this_process()
    words = (sys.executable, "-I", "-S", "-c", f"{_CODE}({owner.pid}, {owner.start}, sys.argv[2])")
    nothing = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)]
    # Copied out of the way first: one of them may have a number that the other is to get.
    spare = 10 + max(theirs.fileno(), shared_file(), RUNNING)
    moved = [
        (os.POSIX_SPAWN_DUP2, theirs.fileno(), spare),
        (os.POSIX_SPAWN_DUP2, shared_file(), spare + 1),
        (os.POSIX_SPAWN_DUP2, spare, LIFELINE),
        (os.POSIX_SPAWN_DUP2, spare + 1, RUNNING),
        (os.POSIX_SPAWN_CLOSE, spare),
        (os.POSIX_SPAWN_CLOSE, spare + 1),
    ]
    try:
        return os.posix_spawn(
            sys.executable,
            (*words, str(_ABOVE), str(folder)),
            os.environ,
            file_actions=[*moved, *nothing],
            setsid=True,
            setsigmask=_DEAF_TO,
            setsigdef=_DEAF_TO,
        )
    except OSError as error:
        raise VgoError(f"The watchdog cannot be started ({error.strerror}), so nothing was changed.") from error


def _await_ready(ours: socket.socket, pid: int) -> None:
    ours.settimeout(_PATIENCE_S)
    try:
        said = ours.recv(1)
    except TimeoutError:
        said = b""
    if said != READY:
        os.kill(pid, signal.SIGKILL)
        raise VgoError(
            "The watchdog does not come up, so nothing was changed: see whether `python -I -S` runs, or use "
            "--allow process."
        )
