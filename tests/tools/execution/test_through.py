"""A proof looks at the program, not at the launcher that stands before it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest

from vgo_agent.knowledge.loader import load
from vgo_agent.layers.launcher import open_launcher
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.execution.spawn import Spawner
from vgo_agent.tools.execution.way import Through, Ways
from vgo_agent.tools.machine import Machine
from vgo_agent.tools.mitigation.by_hand import command_line
from vgo_agent.tools.mitigation.engine import mitigated
from vgo_agent.tools.mitigation.preconditions import beyond_reach
from vgo_agent.tools.mitigation.verification import Check, prove
from vgo_agent.tools.subject import Subject

KNOWN = load().mitigations
CPUS = sorted(os.sched_getaffinity(0))
ARGV = ("/bin/sleep", "0.5")
SUBJECT = Subject(command=ARGV, argv=ARGV, directory="/")
LONG_S = 60.0


@pytest.fixture(scope="module")
def spawner() -> Iterator[Spawner]:
    with Spawner() as opened:
        yield opened


def proved(spawner: Spawner, mitigation: str, launcher: str) -> tuple[Check, ...]:
    base = Launch(ARGV, environment=dict(os.environ))
    launch = mitigated(base, KNOWN[mitigation], SUBJECT, Machine(quiet_cpu=CPUS[0]))
    starts = Through(spawner, Ways(open_launcher(launcher)))
    return prove(KNOWN[mitigation], launch, starts, LONG_S)


@pytest.mark.skipif(len(CPUS) < 2, reason="needs two CPUs")
def test_a_launcher_that_undoes_a_mitigation_is_found_out(spawner: Spawner) -> None:
    (check,) = proved(spawner, "pin_to_cpu", f"taskset:cpus={','.join(map(str, CPUS))}")
    assert not check.passed
    assert check.expected == str(CPUS[0])


def test_a_launcher_that_leaves_it_alone_is_no_hindrance(spawner: Spawner) -> None:
    (check,) = proved(spawner, "pin_to_cpu", f"taskset:cpus={CPUS[0]}")
    assert check.passed


def test_the_environment_of_a_mitigation_reaches_the_ranks(spawner: Spawner) -> None:
    if not shutil.which("mpirun"):
        pytest.skip("needs mpirun: apt install openmpi-bin")
    (check,) = proved(spawner, "glibc_malloc_thresholds", "mpirun:ranks=2")
    assert check.passed, check


def test_a_program_out_of_reach_is_not_mitigated_from_here() -> None:
    away = Machine(away="the program runs on node7, through the launcher ssh")
    (reason,) = beyond_reach(KNOWN["pin_to_cpu"], away)
    assert "runs on node7" in reason and "by hand" in reason
    by_hand = next(mitigation for mitigation in KNOWN.values() if mitigation.apply is None)
    assert beyond_reach(by_hand, away) == ()
    assert beyond_reach(KNOWN["pin_to_cpu"], Machine()) == ()


def test_the_command_to_repeat_it_by_hand_has_the_launcher() -> None:
    launched = Machine(quiet_cpu=3, launching=("mpirun", "-n", "2"))
    assert command_line(KNOWN["pin_to_cpu"], SUBJECT, launched) == "taskset -c 3 mpirun -n 2 /bin/sleep 0.5"
    assert command_line(KNOWN["ld_bind_now"], SUBJECT, launched).startswith("mpirun -n 2 env LD_BIND_NOW=1 /bin/sleep")
