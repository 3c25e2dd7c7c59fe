"""Agents of their own, in processes that tests kill."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from vgo_agent.knowledge.schema import Mitigation
from vgo_agent.tools.mitigation.engine import Applied
from vgo_agent.tools.mitigation.restore import restore

KnobSet = Callable[[], AbstractContextManager[Applied]]

PRELUDE = """
import json, sys, time
from pathlib import Path
from vgo_agent.knowledge.schema import Mitigation
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.machine import Machine
from vgo_agent.tools.mitigation.engine import applied
from vgo_agent.tools.subject import Subject

mitigation = Mitigation.model_validate(json.loads(sys.argv[1]))
subject = Subject(command=("true",), argv=("/bin/true",), directory=sys.argv[2])
launch = Launch(argv=subject.argv)
"""
HOLDER = (
    PRELUDE
    + """
with applied(mitigation, launch, subject, Machine(root=True), root=Path(sys.argv[3])) as change:
    change.on()
    print("on", flush=True)
    time.sleep(60)
"""
)


def put_back(*, force: bool = False) -> list[str]:
    """What `restore` says of settings: folders and groups of agents that died may be those of tests beside this one."""
    return [line for line in restore(force=force) if "of an agent that died" not in line]


@contextlib.contextmanager
def holding(mitigation: Mitigation, directory: Path, root: Path = Path("/")) -> Iterator[subprocess.Popen[str]]:
    """An agent that has applied the mitigation; it is ended with the context, if it has not been before."""
    words = [sys.executable, "-c", HOLDER, mitigation.model_dump_json(), str(directory), str(root)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "on\n"
            yield holder
        finally:
            holder.kill()


def watchdog_of(pid: int) -> int:
    """The only child of such an agent."""
    (child,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(child)


def killed_with_its_watchdog(mitigation: Mitigation, directory: Path, root: Path = Path("/")) -> None:
    """An agent that has applied the mitigation and is then killed, and its watchdog before it."""
    with holding(mitigation, directory, root) as holder:
        assert put_back() == [], "its owner lives"
        os.kill(watchdog_of(holder.pid), signal.SIGKILL)


def gone_soon(pid: int) -> None:
    """Wait until a process has ended; whoever it fell to has reaped it."""
    deadline = time.monotonic() + 20
    while Path(f"/proc/{pid}").exists():
        with contextlib.suppress(ChildProcessError):  # this process is a subreaper while it has a spawner
            os.waitpid(pid, os.WNOHANG)
        if "\nState:\tZ" in (said := status(pid)):
            return
        assert time.monotonic() < deadline, f"process {pid} stays: {said}"
        time.sleep(0.005)


def status(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
