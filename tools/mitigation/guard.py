"""The watchdog's own process: wait until the agent dies, then end its run and put back what its journal says.

Where it is told to, it also ends a run past its limit: the agent itself may have no turn beside a real-time program.

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
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...knowledge.errors import VgoError
from ...layers.probes.cgroup_tree import own_groups
from ..execution.processes import PATIENCE_S as ENDING_S
from ..execution.processes import Noted, end_tree, living, noted, noted_orphans, output_name, stat
from .kernel_file import GPU, KernelFiles, SavedKnob, is_setting, put_group_back
from .owned_folder import Owner, begun

LIFELINE, RUNNING = 3, 4
"""File descriptors: a socket to the agent, and the memory where it notes its run."""
READY, WATCH, REST = b"r", b"w", b"."
RUN_GROUP = "vgo-run-"
"""Prefix of the control groups of runs, before the agent's number and start."""
LOOK_MS = 500
TOLD = ".told"
"""Ending of the file that says what was done, for the next agent to tell."""
PATIENCE_S, PAUSE_S = 60.0, 0.01


def main(agent: int, start: int, folder: str) -> None:
    """Guard one agent; `start` is as `Owner` has it."""
    outlive()
    wait_for_end(agent, start)
    end_run(agent, start)
    restore(agent, start, Path(folder))


def outlive() -> None:
    """Be the last to be killed for memory, and run before any program that the agent gave real-time priority."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("-1000")
    with contextlib.suppress(OSError):
        highest = os.sched_get_priority_max(os.SCHED_FIFO)
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(highest))


def wait_for_end(agent: int, start: int) -> None:
    """Wait until the agent has died; one that ends well ends us before."""
    poll = select.poll()
    poll.register(LIFELINE, select.POLLIN)
    try:
        poll.register(os.pidfd_open(agent), select.POLLIN)
    except ProcessLookupError:
        return
    with contextlib.suppress(BrokenPipeError):
        os.write(LIFELINE, READY)
    watching = False
    while Owner(agent, start).alive:
        if LIFELINE in [file for file, _ in poll.poll(LOOK_MS if watching else None)]:
            said = b""
            with contextlib.suppress(ConnectionResetError):
                said = os.read(LIFELINE, 1)
            watching = said == WATCH
            if not said:
                poll.unregister(LIFELINE)  # closed: a child may have it open still, so its end is no sign either
        elif watching:
            end_overdue(agent, noted(RUNNING))


def end_overdue(agent: int, run: Noted) -> None:
    """End a run that the agent should have ended by now."""
    late_s, fields = time.monotonic() - run.until_ns / 1e9, stat(run.pid)
    if run.until_ns and late_s > ENDING_S and fields and int(fields[1]) == agent:
        end_tree(lambda: [run.pid])


def end_run(agent: int, start: int) -> None:
    """Kill the run that the agent left, with all that belongs to it: stopped or spinning, it would stay for ever."""
    run = noted(RUNNING).pid
    left = {*noted_orphans(RUNNING), *members(agent, start), *holders(agent, start)}
    # A number that was given anew since belongs to a process that leads no group, or to one of before.
    if run and leads(run) and begun(run) >= start:
        left.add(run)
    if living(left):
        end_tree(lambda: left)


def leads(pid: int) -> bool:
    """Tell whether a process leads a process group, as every run does."""
    try:
        return os.getpgid(pid) == pid
    except ProcessLookupError:
        return False


def members(agent: int, start: int) -> Iterator[int]:
    """Find what is in the control groups that the agent made for its runs."""
    for folder in {folder for folders in own_groups().values() for folder in folders}:
        for group in folder.glob(f"{RUN_GROUP}{agent}-{start}-*"):
            with contextlib.suppress(OSError):
                (group / "cgroup.kill").write_text("1")  # version 2
            with contextlib.suppress(OSError):
                yield from map(int, (group / "cgroup.procs").read_text().split())


def holders(agent: int, start: int) -> Iterator[int]:
    """Find what has the files of a run open: daemons are nobody's children once the agent is dead."""
    name = f"/memfd:{output_name(agent, start)} (deleted)"
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):  # another user's, or gone
            if any(os.readlink(file) == name for file in os.scandir(f"/proc/{pid}/fd")):
                yield int(pid)


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
    except FileNotFoundError:  # another agent was first
        return True
    files, said, done = KernelFiles(Path(entry["root"])), list[str](), not entry["revert"]
    for group in reversed(entry["groups"]):
        if group["path"].startswith(GPU) or (entry["root"] == "/" and not all(map(is_setting, group["saved"]))):
            done = False
            continue
        try:
            returned = put_group_back(files, SavedKnob(**group), entry["applied"] and not group["coupled"])
        except (VgoError, TypeError):  # told by `vgo-agent restore`, which meets it again
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
