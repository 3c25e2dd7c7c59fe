"""How a command ends when a signal comes: one line, the settings back, nothing left running, the exit code of a shell.

Imported before all else by every command, so it imports next to nothing.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from ..knowledge.errors import VgoError
from ..tools import ending_signals
from ..tools.execution.environment import keep_environment

LINE_MOST = 2048
"""Bytes of the last line: as much as a pipe takes at once, whether or not somebody reads."""
_ways_on: list[Callable[[], str]] = []


def run(command: Callable[[], int]) -> int:
    """Carry out the command of this process, and return its exit code; where a signal came, leave with that."""
    try:
        ending_signals.listen(_at_last)
        keep_environment()
        status = command()
        ending_signals.ends()
    except BaseException:
        if not ending_signals.came():
            raise
        say_stopped()
    else:
        if not ending_signals.came():
            return status
    _leave()
    return 128 + ending_signals.came()


@contextmanager
def goes_on_with(words: Callable[[], str]) -> Iterator[None]:
    """Note the command line that goes on with what is done here, for who stops it; empty where there is none yet.

    It stays noted where a signal came and what was done until then is answered.
    """
    _ways_on.append(words)
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        now = words()
        _ways_on[-1] = lambda: now
        raise
    if not ending_signals.came():
        _ways_on.pop()


def say_stopped() -> str:
    """Put back what is still changed, and say in one line what became of all; give the line."""
    if ending_signals.settings()[1]:
        from ..tools.mitigation.restore import restore_own

        with suppress(VgoError):  # the line says what is left
            restore_own()
    line = _words("is still changed: vgo-agent restore puts {} back")
    _say(line)
    return line


def _words(of_changed: str) -> str:
    back, left = ending_signals.settings()
    how = (
        "stopped by Ctrl-C"
        if ending_signals.came() == signal.SIGINT
        else f"ended by {signal.Signals(ending_signals.came()).name}"
    )
    parts = [
        how,
        *(f"{_short(name)} is {value} again" for name, value in back.items()),
        *(f"{_short(name)} {of_changed.format(value)}" for name, value in left.items()),
        *(f"go on with: {way()}" for way in _ways_on[-1:] if way()),
    ]
    return "; ".join(parts)


def _short(name: str) -> str:
    return "/".join(name.rsplit("/", 2)[-2:])


def _say(line: str) -> None:
    """Write a line to standard error, if it takes one now: a terminal may be gone or stopped, a pipe full."""
    ready = select.poll()
    ready.register(2, select.POLLOUT)
    with suppress(OSError):
        if any(event == select.POLLOUT for _, event in ready.poll(0)):
            os.write(2, f"vgo-agent: {line}\n".encode(errors="replace")[:LINE_MOST])


def _at_last(number: int) -> None:
    """End it from beside the main thread, which is somewhere else; the watchdog puts back what was changed."""
    _say(_words("is put back to {} by the watchdog"))
    _go(number)


def _leave() -> None:
    """Leave without what Python does at its end: it would wait for threads that nobody needs any more."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    _go(ending_signals.came())


def _go(number: int) -> None:
    """End all that is left, and this process; what threads say of that goes nowhere."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    ending_signals.end_children()
    os._exit(128 + number)
