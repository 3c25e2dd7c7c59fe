"""Runs of workloads: how each is started, and what only a process not yet reaped shows of it."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from resource import struct_rusage

import pytest

from vgo_agent.evals.workloads.registry import find, missing, prepare
from vgo_agent.evals.workloads.workload import Workload


@dataclass(frozen=True)
class WorkloadRun:
    time_ms: float
    usage: struct_rusage
    migrations: int | None
    waited_ns: int


def launch(*argv: str, **environment: str) -> WorkloadRun:
    """Run to the end; it prints one time, and nobody of its process group is left then."""
    read, write = os.pipe()
    actions = [(os.POSIX_SPAWN_DUP2, write, 1), (os.POSIX_SPAWN_CLOSE, read)]
    pid = os.posix_spawn(argv[0], argv, {**os.environ, **environment}, file_actions=actions, setpgroup=0)
    os.close(write)
    with open(read) as output:
        text = output.read()
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    moved = re.search(r"nr_migrations\s*:\s*(\d+)", _read(f"/proc/{pid}/sched"))
    waited = _read(f"/proc/{pid}/schedstat").split()
    _, status, usage = os.wait4(pid, 0)
    with pytest.raises(ProcessLookupError):
        os.killpg(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    [time_ms] = re.findall(r"^time_ms ([0-9.]+)$", text, re.MULTILINE)
    return WorkloadRun(float(time_ms), usage, int(moved[1]) if moved else None, int(waited[1]) if waited else 0)


def _read(path: str) -> str:
    return Path(path).read_text() if Path(path).exists() else ""


@contextmanager
def on_one_cpu() -> Iterator[None]:
    """Children born here have one CPU from their first instruction on."""
    cpus = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cpus)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cpus)


def needed(name: str) -> Workload:
    """Find a workload, or skip with what this machine lacks."""
    workload = find(name)
    if reason := missing(workload):
        pytest.skip(reason)
    return workload


def ready(name: str, folder: Path, steady: bool = False) -> tuple[str, ...]:
    """Return the command line, or skip with what this machine lacks."""
    return prepare(needed(name), folder, steady).command
