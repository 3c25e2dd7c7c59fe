"""Which CPUs: by core from sysfs, and few but not none for everybody else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.tools.machine import Machine
from vgo_agent.tools.mitigation.parameters import chosen_cpus, reserved_cpus
from vgo_agent.tools.subject import Subject
from vgo_agent.tools.survey import survey

SUBJECT = Subject(command=("/bin/sh",), argv=("/bin/sh",), directory="/")


def machine_of(root: Path, siblings: dict[int, str], allowed: str) -> Machine:
    """A machine whose kernel shows these siblings of each CPU."""
    for cpu, listed in siblings.items():
        topology = root / f"sys/devices/system/cpu/cpu{cpu}/topology"
        topology.mkdir(parents=True)
        (topology / "thread_siblings_list").write_text(f"{listed}\n")
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/status").write_text(f"Cpus_allowed_list:\t{allowed}\n")
    return survey(SUBJECT, [], root=root)


def test_one_thread_of_each_core_is_taken(tmp_path: Path) -> None:
    machine = machine_of(tmp_path, {0: "0,4", 1: "1,5", 2: "2,6", 3: "3,7", 4: "0,4", 5: "1,5", 6: "2,6"}, "0-6")
    assert machine.cores == ((0, 4), (1, 5), (2, 6), (3,))
    assert chosen_cpus("one_per_core", "0", machine) == {0, 1, 2, 3}


def test_a_sibling_that_is_not_allowed_does_not_count(tmp_path: Path) -> None:
    machine = machine_of(tmp_path, {1: "0-1", 2: "2-3", 3: "2-3"}, "1-3")
    assert machine.cores == ((1,), (2, 3))
    assert chosen_cpus("one_per_core", "0", machine) == {1, 2}


def test_without_topology_every_cpu_is_a_core(tmp_path: Path) -> None:
    machine = machine_of(tmp_path, {}, "0-3")
    assert machine.cores == ()
    assert chosen_cpus("one_per_core", "0", machine) == {0, 1, 2, 3}


def test_this_machine_has_cores() -> None:
    cores = survey(SUBJECT, []).cores
    assert {cpu for core in cores for cpu in core} in (set(), os.sched_getaffinity(0))


@given(st.sets(st.integers(0, 63), min_size=1, max_size=16), st.data())
def test_few_but_not_none(cpus: set[int], data: st.DataObject) -> None:
    machine = Machine(cpus=tuple(sorted(cpus)), quiet_cpu=data.draw(st.sampled_from(sorted(cpus))))
    asked = data.draw(st.integers(0, 20))
    if asked >= len(cpus):
        with pytest.raises(VgoError, match="would leave none"):
            reserved_cpus(str(asked), machine)
        return
    chosen = chosen_cpus("all_but_reserved", str(asked), machine)
    assert len(chosen) == len(cpus) - asked
    assert machine.quiet_cpu in chosen


@pytest.mark.parametrize("asked", ["-1", "1.5", "", "all"])
def test_only_whole_numbers_are_reserved(asked: str) -> None:
    with pytest.raises(VgoError, match="give a whole number"):
        reserved_cpus(asked, Machine(cpus=(0, 1)))
