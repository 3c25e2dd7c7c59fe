"""A real-time program that takes every CPU is found out by the runs of its proof, however busy the machine was."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from vgo_agent.knowledge.loader import load
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.execution.spawn import Spawner
from vgo_agent.tools.machine import Machine
from vgo_agent.tools.mitigation.checks import Check
from vgo_agent.tools.mitigation.engine import applied
from vgo_agent.tools.mitigation.room import cpus_at_stake
from vgo_agent.tools.subject import Subject

CPUS = tuple(sorted(os.sched_getaffinity(0)))
SPIN = "end = time.thread_time() + 0.05\nwhile time.thread_time() < end: pass"
ONE = f"import time\n{SPIN}"
FORK = f"children = [os.fork() for _ in range({len(CPUS) - 1})]"
EVERY = f"import os, time\n{FORK}\n{SPIN}\n0 in children or [os.wait() for _ in children]"
MACHINE = Machine(cpus=CPUS, online=len(CPUS), root=True)


@pytest.fixture
def competitors() -> Iterator[None]:
    """Two ordinary processes a CPU that never rest."""
    words = (sys.executable, "-I", "-S", "-c", "while True: pass")
    running = [subprocess.Popen(words) for _ in range(2 * len(CPUS))]
    yield
    for process in running:
        process.kill()
        process.wait()


def proved(code: str, folder: Path) -> tuple[Check, ...]:
    argv = (sys.executable, "-I", "-S", "-c", code)
    subject, launch = Subject(command=argv, argv=argv, directory=str(folder)), Launch(argv=argv, directory=folder)
    with Spawner() as spawner, applied(load().mitigations["sched_fifo"], launch, subject, MACHINE) as change:
        return change.prove(spawner, 20.0)


@pytest.mark.parametrize(("code", "leaves"), [(ONE, True), (EVERY, False)], ids=["one", "every"])
@pytest.mark.usefixtures("competitors")
def test_a_program_that_takes_every_cpu_is_not_proved(code: str, leaves: bool, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("real-time scheduling needs root")
    if len(CPUS) < 2 or len(CPUS) < (os.cpu_count() or 1):
        pytest.skip("it needs two CPUs, and to be allowed on all")
    checks = proved(code, tmp_path)
    assert [check.passed for check in checks if "keeps busy" in check.what] == [leaves]
    assert all(check.passed for check in checks) is leaves


def test_nothing_is_at_stake_where_a_cpu_is_left_or_the_time_is_ordinary() -> None:
    machine, fifo = Machine(cpus=(0, 1), online=2), load().mitigations["sched_fifo"]
    subject = Subject(command=("x",), argv=("/bin/true",), directory="/")
    with applied(fifo, Launch(argv=("/bin/true",)), subject, machine) as change:
        assert cpus_at_stake(change.launch, machine) == 2
        assert cpus_at_stake(change.launch, machine.model_copy(update={"online": 4})) == 0
    assert cpus_at_stake(Launch(argv=("/bin/true",)), machine) == 0
