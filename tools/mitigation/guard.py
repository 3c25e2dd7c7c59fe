"""The watchdog's own process: wait until the agent dies, then end its run and put back what its journal says.

Of the standard library only, so that it is up in a few hundredths of a second and nothing can keep it from its work.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ...knowledge.errors import VgoError
from .kernel_file import GPU, KernelFiles, is_setting
from .put_back import put_group_back

LIFELINE, RUNNING = 3, 4
"""File descriptors: a socket to the agent, and the memory where it notes its run."""
READY, DISMISSED = b"r", b"."
TOLD = ".told"
"""Ending of the file that says what was done, for the next agent to tell."""
PATIENCE_S, PAUSE_S = 60.0, 0.01
SIGKILL = 9
ENDING_MS = 1000
"""A run that waits for a disk ends when the disk answers; the settings do not wait for it longer."""


def main(agent: int, start: int, folder: str) -> None:
    """Guard one agent; `start` is field 22 of its /proc/PID/stat."""
    outlive()
    if wait_for_end(agent, start):
        end_run(start)
        restore(agent, start, Path(folder))


def outlive() -> None:
    """Be the last to be killed for memory, and run before any program that the agent gave real-time priority."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("-1000")
    with contextlib.suppress(OSError):
        highest = os.sched_get_priority_max(os.SCHED_FIFO)
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(highest))


def wait_for_end(agent: int, start: int) -> bool:
    """Wait; False when the agent needs no guard any more."""
    poll = select.poll()
    poll.register(LIFELINE, select.POLLIN)
    try:
        poll.register(os.pidfd_open(agent), select.POLLIN)
    except ProcessLookupError:
        return True
    if not alive(agent, start):
        return True
    os.write(LIFELINE, READY)
    while True:
        ready = [file for file, _ in poll.poll()]
        if LIFELINE in ready:
            with contextlib.suppress(ConnectionResetError):
                if os.read(LIFELINE, 1) == DISMISSED:
                    return False
            poll.unregister(LIFELINE)  # closed: a child may have it open still, so its end is no sign either
        if not alive(agent, start):
            return True


def alive(pid: int, start: int) -> bool:
    """Tell whether a process lives; a zombie does not."""
    fields = stat(pid)
    return bool(fields) and int(fields[19]) == start and fields[0] not in ("Z", "X", "x")


def stat(pid: int) -> list[str]:
    """Read the fields of /proc/PID/stat after the name, which may hold anything."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def end_run(start: int) -> None:
    """Kill the run that the agent left, with its process group: stopped or spinning, it would stay for ever."""
    pid = int(os.pread(RUNNING, 16, 0).rstrip(b"\0 ") or 0)
    with contextlib.suppress(OSError):
        # A number that was given anew since belongs to a process that leads no group, or to one of before.
        if pid and os.getpgid(pid) == pid and int(stat(pid)[19]) >= start:
            ended = select.poll()
            ended.register(os.pidfd_open(pid), select.POLLIN)
            os.killpg(pid, SIGKILL)
            ended.poll(ENDING_MS)


def restore(agent: int, start: int, folder: Path) -> None:
    """Put back what the journal says, unless another agent does; what takes libraries comes last."""
    name, left = f"*-{agent}-{start}.json", False
    if not list(folder.glob(name)):
        return
    deadline_s = time.monotonic() + PATIENCE_S
    with open(folder / "lock", "rb") as lock:
        while entries := sorted(folder.glob(name)):
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline_s:
                    return
                time.sleep(PAUSE_S)
                continue
            left = not all([restore_entry(path) for path in entries])
            break
    if left:
        go_on_with_libraries(folder)


def restore_entry(path: Path) -> bool:
    """Put one entry back and forget it; False when something of it is left."""
    try:
        entry: dict[str, Any] = json.loads(path.read_bytes())
    except FileNotFoundError:  # another agent was faster
        return True
    files, said, done = KernelFiles(Path(entry["root"])), list[str](), not entry["revert"]
    for group in reversed(entry["groups"]):
        if group["path"].startswith(GPU) or (entry["root"] == "/" and not all(map(is_setting, group["saved"]))):
            done = False
            continue
        try:
            returned = put_group_back(files, SimpleNamespace(**group), entry["applied"] and not group["coupled"])
        except VgoError:  # told by `vgo-agent restore`, which meets it again
            done = False
        else:
            said += [returned.said] if returned else []
    if said:
        note(path.with_suffix(TOLD), said)
    if done:
        path.unlink(missing_ok=True)
    return done


def note(path: Path, said: list[str]) -> None:
    """Say what was done; it is read once the entry is gone."""
    with contextlib.suppress(OSError):  # on a full disk the settings are back all the same
        path.write_text("".join(f"{line}\n" for line in said), encoding="utf-8")


def go_on_with_libraries(folder: Path) -> None:
    """Become the real `restore`, of ordinary priority."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    line = f"import sys; sys.path.insert(0, {sys.path[0]!r}); from {__package__}.restore import restore_and_note"
    os.execv(sys.executable, [sys.executable, "-I", "-c", f"{line}; restore_and_note({str(folder)!r})"])
