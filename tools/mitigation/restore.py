"""Put back what a dead agent left, safe to repeat, and keep a process beside this one that does so if it is killed."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ...knowledge.errors import VgoError
from ...layers.probes.cgroup_leaf import remove_leaves
from ..ending_signals import OUTLIVES
from ..execution.processes import shared_file
from .guard import LIFELINE, READY, REST, RUNNING, TOLD, WATCH, note
from .journal import Journal, JournalEntry, journal_folder, put_back
from .owned_folder import SHARED_MEMORY, boot_id, stale_folders, temporary_place, this_process
from .run_group import remove_run_groups

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


def restore(
    *,
    force: bool = False,
    folder: Path | None = None,
    shared_memory: Path = SHARED_MEMORY,
    temporary: Path | None = None,
) -> list[str]:
    """Put back what was left behind and say what was done; with `force` also the settings of a living agent.

    To be called by every command that measures, before it does.
    """
    journal = Journal(folder or journal_folder())
    told = _removed(shared_memory, "the working copy")
    told += _removed(temporary or temporary_place(), "the temporary folder")
    told += [f"{leaf}: removed, the control group of an agent that died" for leaf in remove_leaves()]
    told += remove_run_groups()
    entries = journal.entries()
    journal.remove_drafts()
    if not any(force or entry.left_behind for entry in entries):
        return told + journal.take_told()
    # A living agent holds the lock: who forces means to override it.
    with contextlib.nullcontext() if force else journal.locked():
        return told + restore_entries(journal, force=force)


def restore_own() -> None:
    """Put back what this process has changed, where a signal came while that was being done."""
    journal = Journal(journal_folder())
    with journal.locked():
        for entry in journal.entries():
            if (entry.pid, entry.start) == this_process():
                _restore(journal, entry)


def restore_and_note(folder: str) -> None:
    """Put back what the watchdog alone could not, for the next agent to tell."""
    told = restore(folder=Path(folder))
    if told:
        note(Path(folder) / f"{os.getpid()}{TOLD}", told)


def restore_entries(journal: Journal, *, force: bool = False) -> list[str]:
    """Go through the entries; the caller holds the lock. One that cannot be put back does not keep the others."""
    told, failed = journal.take_told(), list[VgoError]()
    for entry in journal.entries():
        if force or entry.left_behind:
            try:
                told += _restore(journal, entry)
            except VgoError as error:
                failed.append(error)
    if failed:
        raise failed[0]
    return told


def _restore(journal: Journal, entry: JournalEntry) -> list[str]:
    if entry.boot_id != boot_id():
        told = [f"{entry.mitigation}: forgotten, because its settings ended with the boot that they were made in"]
    else:
        told = [returned.said for returned in put_back(entry)]
        if entry.revert:
            from .scripts import ran  # it loads the knowledge base

            ran(entry.revert)
            told.append(f"{entry.mitigation}: reverted by `{' '.join(entry.revert)}`")
    journal.remove(entry)
    return told


def _removed(place: Path, what: str) -> list[str]:
    told = []
    for left in stale_folders(place):
        with contextlib.suppress(FileNotFoundError):  # another agent may be at it, too
            shutil.rmtree(left)
        told.append(f"{left}: removed, {what} of an agent that died")
    return told


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
