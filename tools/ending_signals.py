"""Ctrl-C, SIGTERM and SIGHUP: raised in the main thread, and the process is ended all the same where that is too slow.

Python runs a handler only between two bytecodes of its main thread, which may be inside a library for seconds, and what
the handler raises may be swallowed there. So a thread hears of each signal too, and has the last word.
"""

from __future__ import annotations

import _thread
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sys import UnraisableHookArgs
    from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
AGAIN = signal.SIGURG
"""By which the thread has the main thread look again; otherwise it means nothing to us."""
PATIENCE_S = 0.8
"""From the first signal until the process is ended wherever it is: it has to be gone within a second."""
ANSWER_S = 10.0
"""As long again may it take to keep what would be lost, once the run has ended and every setting is back."""
IMPORT_S = 0.2
"""For the import of a module to come to its end; what goes on there needs no unwinding."""
RETRY_S = 0.01
SWEEP_S = 0.15
"""For ending children that start others meanwhile."""


OUTLIVES = "vgo-agent:outlives-its-parent"
"""Last word of the command line of a process of ours that goes on when the one that started it ends."""


class _State:
    """Of this process: signals come to a process, not to an object."""

    # A plain class: dataclasses take longer to import than `vgo-agent --help` may.
    def __init__(self) -> None:
        self.number = 0
        self.held = 0
        self.answering = False
        self.owed = False
        """It came where nothing may be raised: it is raised as soon as that is over."""
        self.changed: dict[str, str] = {}
        self.at_signal: dict[str, str] = {}


_state = _State()
AtLast = Callable[[int], object]


def came() -> int:
    """Give the first ending signal that came; 0 where none did."""
    return _state.number


def changes(values: Mapping[str, str]) -> None:
    """Note settings that this process is about to change, with what they go back to."""
    _state.changed.update(values)


def changed_no_more(names: Iterable[str]) -> None:
    """Note settings that are as before."""
    for name in names:
        _state.changed.pop(name, None)


def settings() -> tuple[dict[str, str], dict[str, str]]:
    """Give what was changed when the signal came, with the values before: what is back since, and what is not."""
    back = {name: value for name, value in _state.at_signal.items() if name not in _state.changed}
    return back, dict(_state.changed)


def listen(at_last: AtLast) -> None:
    """Hear signals from now on; `at_last` is called in a thread when the process has not ended in time, and ends it.

    SIGINT is heard even where a shell made it ignored, as for jobs in the background; SIGHUP is not, since `nohup`
    means it.
    """
    told, heard = os.pipe()
    os.set_blocking(heard, False)
    signal.set_wakeup_fd(heard, warn_on_full_buffer=False)
    signal.signal(AGAIN, _hear_again)
    _thread.start_new_thread(_watch, (told, at_last, _thread.get_ident()))
    for number in SIGNALS:
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _hear)


def hear_hangup() -> None:
    """Hear SIGHUP even where it was ignored: an app whose terminal has gone is of no use, and would read for ever."""
    signal.signal(signal.SIGHUP, _hear)


@contextmanager
def held() -> Iterator[None]:
    """Let no signal cut short what is done here, for a moment; a second one does, by ending the process."""
    if _thread.get_ident() != _main_thread():
        yield
        return
    _state.held += 1
    try:
        yield
    finally:
        _state.held -= 1
        if _state.owed:
            _raise_if_fit(sys._getframe())


@contextmanager
def handled_by(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Give the signals to another handler meanwhile; the thread does not hear of them, not even later."""
    heard = signal.set_wakeup_fd(-1)
    before = {number: signal.signal(number, handler) for number in SIGNALS}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)
        signal.set_wakeup_fd(heard, warn_on_full_buffer=False)


def ends() -> None:
    """Raise no signal any more: the command is carried out, and Python comes to its end; it is ended if it does not."""
    _state.held += 1


def answers() -> None:
    """Note that nothing runs and nothing is changed any more: only what was found has to be kept."""
    _state.answering = True


def end_children() -> None:
    """Kill all that descends from this process and is not meant to outlive it; what will not die is not waited for."""
    from .execution.processes import end_tree, kin

    end_tree(lambda: kin()(os.getpid()), SWEEP_S, _outlives)


def _hear(number: int, frame: FrameType | None) -> None:
    """Raise at the first signal; what the second one does is done by the thread."""
    if not _state.number:
        _note(number)
        _be_quiet()
        _raise_if_fit(frame)


def _note(number: int) -> None:
    _state.number = number
    _state.at_signal = dict(_state.changed)


def _hear_again(number: int, frame: FrameType | None) -> None:
    """The thread asks whether what is owed can be raised now."""
    if _state.owed:
        _raise_if_fit(frame)


def _raise_if_fit(frame: FrameType | None) -> None:
    _state.owed = bool(_state.held) or _imports(frame)
    if not _state.owed:
        raise KeyboardInterrupt if _state.number == signal.SIGINT else SystemExit(128 + _state.number)


def _imports(frame: FrameType | None) -> bool:
    """Tell whether a module is being imported: interrupted there, libraries fail in ways of their own."""
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


def _be_quiet() -> None:
    """What breaks in another thread because all is being ended is of no use to anyone; a destructor lost our signal."""

    def lost(one: UnraisableHookArgs) -> None:
        _state.owed |= one.exc_type in (KeyboardInterrupt, SystemExit)

    sys.unraisablehook = lost
    if threading := sys.modules.get("threading"):
        threading.excepthook = lambda _: None  # type: ignore[attr-defined]


def _watch(told: int, at_last: AtLast, main: int) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # what waits in the main thread is to be woken
    number = _next(told, None)
    began_s, again = time.monotonic(), 0
    while not again and time.monotonic() - began_s < (PATIENCE_S if _state.held or not _state.owed else IMPORT_S):
        again = _next(told, time.monotonic() + RETRY_S)
        if _state.owed:
            _thread.interrupt_main(AGAIN)
        elif not _state.number:  # it came just before a call that waits, and waits on
            signal.pthread_kill(main, AGAIN)
    if not _state.number:
        _note(number)
    if _state.answering and not again:
        _next(told, time.monotonic() + ANSWER_S)
    at_last(number)


def _next(told: int, until_s: float | None) -> int:
    """Wait for a signal that is ours to handle; 0 when it is too late for one."""
    while True:
        left_s = None if until_s is None else max(0.0, until_s - time.monotonic())
        if not select.select([told], [], [], left_s)[0]:
            return 0
        number = os.read(told, 1)[0]
        if number in SIGNALS and signal.getsignal(number) is _hear:
            return number


def _main_thread() -> int:
    threading = sys.modules.get("threading")
    return threading.main_thread().ident if threading else _thread.get_ident()


def _outlives(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().endswith(f"\0{OUTLIVES}\0".encode())
    except OSError:
        return False
