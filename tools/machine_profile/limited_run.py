"""Run one command under a quota with the terminal of its own, and count how often the quota stopped it."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from ..execution.resolve import start_failure
from ..execution.system_calls import prctl
from ..stop import handled_by
from .form import Quota
from .quota import counted, limited_group

PR_SET_PDEATHSIG = 1


class LimitedRunResult(NamedTuple):
    """How it ended, and what the group counted."""

    exit_code: int
    """As a shell gives it: 128 + N for a signal."""
    throttled: int
    periods: int
    wall_s: float
    cpu_s: float
    """Of the program and the children that it waited for."""
    left: str
    """What could not be removed, in words."""


def limited_run(argv: Sequence[str], quota: Quota) -> LimitedRunResult:
    """Run it to its end; nothing of the group stays, whoever ends it."""
    with limited_group(quota) as group:
        began_s, before = time.monotonic(), os.times()
        code = _run(argv, _entering(group.folder))
        wall_s, after = time.monotonic() - began_s, os.times()
        found = counted(group.folder)
        folder = group.folder
    left = f"{folder} stays: end what runs in it, then vgo-agent restore." if folder.exists() else ""
    cpu_s = after.children_user + after.children_system - before.children_user - before.children_system
    code = 128 - code if code < 0 else code
    return LimitedRunResult(code, found.get("nr_throttled", 0), found.get("nr_periods", 0), wall_s, cpu_s, left)


def _entering(folder: Path) -> Callable[[], None]:
    """Make what the child does before it becomes the program: it enters the group, and dies with this process."""
    members = str(folder / "cgroup.procs")

    def enter() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        with open(members, "w") as file:
            file.write(str(os.getpid()))

    return enter


def _run(argv: Sequence[str], enter: Callable[[], None]) -> int:
    """Start it and wait; Ctrl-C reaches it from the terminal, and what ends this process is handed on."""
    with _handing_on() as programs:
        try:
            programs.append(subprocess.Popen(argv, preexec_fn=enter))
        except OSError as error:
            raise start_failure(argv[0], error) from error
        return programs[0].wait()


@contextmanager
def _handing_on() -> Iterator[list[subprocess.Popen[bytes]]]:
    programs: list[subprocess.Popen[bytes]] = []

    def hand_on(number: int, frame: FrameType | None) -> None:
        if number != signal.SIGINT:  # the program had it too
            for program in programs:
                program.send_signal(number)

    with handled_by(hand_on):  # what they mean is for the program to say: this command is but around it
        yield programs
