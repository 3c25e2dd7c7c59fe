"""Keep a small process beside the agent that ends its run, and puts settings back, when the agent is killed."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ...knowledge.errors import VgoError
from ..ending_signals import OUTLIVES
from ..execution.waiting import shared_file
from .guard import LIFELINE, READY, REST, RUNNING, WATCH
from .owned_folder import this_process

_ABOVE = Path(__file__).parents[3]
"""Where `vgo_agent` lies."""
_CODE = f"import sys; sys.path.insert(0, sys.argv[1]); from {__package__}.guard import main; main"
DEAF_TO = (
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


@dataclass
class _Watchdog:
    agent: int
    """The process that it stands beside; a fork of that has none."""
    folder: Path
    pid: int
    lifeline: socket.socket
    up: bool = False

    @property
    def serves(self) -> bool:
        """Tell whether it is ours and lives."""
        try:
            return self.agent == os.getpid() and os.waitpid(self.pid, os.WNOHANG) == (0, 0)
        except ChildProcessError:  # it was killed, and reaped by whoever reaps all
            return False


_lock = threading.Lock()
_watchdogs: list[_Watchdog] = []
"""At most one, to the end of this process."""


def stand_by(journal_folder: Path) -> None:
    """Have a watchdog, which comes up while the work begins; it costs 0.04 s of another CPU and 12 MB.

    Where none can be started the work goes on, as long as nothing is set that it would have to put back.
    """
    with _lock, contextlib.suppress(VgoError):
        if not (_watchdogs and _watchdogs[0].serves):
            _replace(journal_folder)


@contextlib.contextmanager
def guarded(journal_folder: Path, watch: bool = False) -> Iterator[int]:
    """Have the watchdog up, and give its process id; let it `watch` that no run goes on past its limit, too."""
    with _lock:
        if not (_watchdogs and _watchdogs[0].folder == journal_folder and _watchdogs[0].serves):
            _replace(journal_folder)
        one = _watchdogs[0]
        if not one.up:
            _await_ready(one)
    if watch:
        _tell(one, WATCH)
    try:
        yield one.pid
    finally:
        if watch:
            _tell(one, REST)


def _tell(one: _Watchdog, word: bytes) -> None:
    with contextlib.suppress(OSError):  # it was killed
        one.lifeline.send(word)


def _replace(folder: Path) -> None:
    _dismiss()
    ours, theirs = socket.socketpair()
    with theirs:
        _watchdogs[:] = [_Watchdog(os.getpid(), folder, _start(theirs, folder), ours)]


@atexit.register
def _dismiss() -> None:
    """End it: it has nothing to do for an agent that ends well."""
    for one in _watchdogs:
        one.lifeline.close()
        if one.agent == os.getpid():
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(one.pid, signal.SIGKILL)
                os.waitpid(one.pid, 0)
    _watchdogs.clear()


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
            (*words, str(_ABOVE), str(folder), OUTLIVES),
            os.environ,
            file_actions=[*moved, *nothing],
            setsid=True,
            setsigmask=DEAF_TO,
            setsigdef=DEAF_TO,
        )
    except OSError as error:
        raise VgoError(f"The watchdog cannot be started ({error.strerror}).") from error


def _await_ready(one: _Watchdog) -> None:
    one.lifeline.settimeout(_PATIENCE_S)
    try:
        one.up = one.lifeline.recv(1) == READY
    except TimeoutError:
        one.up = False
    if not one.up:
        _dismiss()
        raise VgoError(
            "The watchdog does not come up, so nothing was changed: see whether `python -I -S` runs, or use "
            "--allow process."
        )
