"""Preconditions: one reason a field, each with its cure, and never fewer when more is asked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgo_agent.knowledge.actions import Precondition
from vgo_agent.tools.machine import Machine
from vgo_agent.tools.mitigation.preconditions import unmet
from vgo_agent.tools.subject import Subject

SUBJECT = Subject(command=("./bench",), argv=("/work/bench",), directory="/work")

ASKING: dict[str, object] = {
    "root": True,
    "min_cpus": 4,
    "min_numa_nodes": 2,
    "glibc": "2.35",
    "library": "libjemalloc.so.2",
    "executable": "numactl",
    "file": "/sys/kernel/mm/transparent_hugepage/enabled",
    "single_threaded": True,
    "multi_threaded": True,
    "dynamic": True,
    "python": True,
    "openmp": True,
    "inputs": True,
    "capability": "sys_resource",
    "kernel": "5.14",
    "group": ("cpu",),
    "smt": True,
    "sensor": True,
    "gpu": True,
}
HAVING: dict[str, object] = {
    "root": True,
    "cpus": (0, 1, 2, 3),
    "numa_nodes": 2,
    "glibc": "2.41",
    "libraries": ("libjemalloc.so.2",),
    "executables": ("numactl",),
    "files": ("/sys/kernel/mm/transparent_hugepage/enabled",),
    "program_dynamic": True,
    "program_python": True,
    "program_openmp": True,
    "capabilities": ("sys_resource",),
    "kernel": "6.1.0-28-amd64",
    "groups": {"cpu": {"folder": "/sys/fs/cgroup/cpu", "version": 1}},
    "cores": ((0, 1), (2, 3)),
    "sensor": True,
    "gpus": 1,
}


def some(fields: dict[str, object]) -> st.SearchStrategy[dict[str, object]]:
    return st.sets(st.sampled_from(sorted(fields))).map(lambda names: {name: fields[name] for name in names})


@given(some(ASKING), some(ASKING), some(HAVING), st.none() | st.floats(0, 8))
def test_asking_for_more_never_takes_a_reason_away(
    asked: dict[str, object], more: dict[str, object], has: dict[str, object], busy: float | None
) -> None:
    machine = Machine.model_validate(has)
    fewer = unmet(Precondition.model_validate(asked), machine, SUBJECT, busy)
    assert set(fewer) <= set(unmet(Precondition.model_validate(asked | more), machine, SUBJECT, busy))


@given(some(ASKING), some(HAVING), some(HAVING), st.none() | st.floats(0, 8))
def test_a_machine_with_more_never_gives_more_reasons(
    asked: dict[str, object], has: dict[str, object], more: dict[str, object], busy: float | None
) -> None:
    condition = Precondition.model_validate(asked)
    poor, rich = Machine.model_validate(has), Machine.model_validate(has | more)
    assert len(unmet(condition, rich, SUBJECT, busy)) <= len(unmet(condition, poor, SUBJECT, busy))


@pytest.mark.parametrize("name", sorted(ASKING))
def test_each_field_is_refused_for_one_reason_where_it_does_not_hold(name: str) -> None:
    condition = Precondition.model_validate({name: ASKING[name]})
    assert len(unmet(condition, Machine(), SUBJECT, None)) == 1


def test_a_machine_that_has_everything_gives_no_reason() -> None:
    condition = Precondition.model_validate(ASKING | {"multi_threaded": False})
    subject = SUBJECT.model_copy(update={"inputs": ("/work/input",)})
    assert unmet(condition, Machine.model_validate(HAVING), subject, 0.9) == ()


def test_no_condition_is_always_met() -> None:
    assert unmet(Precondition(), Machine(), SUBJECT, None) == ()


def test_the_reason_says_how_to_install() -> None:
    condition = Precondition(library="libjemalloc.so.2")
    assert unmet(condition, Machine(), SUBJECT, 1.0) == (
        "libjemalloc.so.2 is not installed (Debian: apt install libjemalloc2)",
    )


@pytest.mark.parametrize(("have", "met"), [("2.9", False), ("2.34", False), ("2.35", True), ("2.41", True)])
def test_versions_of_glibc_compare_as_numbers(have: str, met: bool) -> None:
    assert (unmet(Precondition(glibc="2.35"), Machine(glibc=have), SUBJECT, 1.0) == ()) is met


def test_one_busy_thread_and_several_are_told_apart_by_the_profile() -> None:
    one, several = Precondition(single_threaded=True), Precondition(multi_threaded=True)
    assert unmet(one, Machine(), SUBJECT, 1.0) == ()
    assert unmet(several, Machine(), SUBJECT, 1.9) == ()
    assert "keeps 1.9 CPUs busy" in unmet(one, Machine(), SUBJECT, 1.9)[0]
    assert "keeps 1.0 CPUs busy" in unmet(several, Machine(), SUBJECT, 1.0)[0]


@pytest.mark.parametrize(
    ("have", "met"),
    [("5.9", False), ("5.14", True), ("5.14.0-427.el9", True), ("6.1.0-28-amd64", True), ("unknown", False)],
)
def test_versions_of_the_kernel_compare_as_numbers(have: str, met: bool) -> None:
    assert (unmet(Precondition(kernel="5.14"), Machine(kernel=have), SUBJECT, 1.0) == ()) is met


def test_a_library_of_another_machine_is_named_as_such() -> None:
    machine = Machine(foreign_libraries={"libx.so.1": "32-bit x86"}, program_machine="64-bit x86-64")
    (reason,) = unmet(Precondition(library="libx.so.1"), machine, SUBJECT, 1.0)
    assert reason.startswith("libx.so.1 is here for 32-bit x86 only, and the program is 64-bit x86-64")


def test_a_static_program_is_told_from_one_that_is_no_elf_file() -> None:
    asked = Precondition(dynamic=True)
    assert "statically linked" in unmet(asked, Machine(program_static=True), SUBJECT, 1.0)[0]
    assert "no ELF file" in unmet(asked, Machine(), SUBJECT, 1.0)[0]
