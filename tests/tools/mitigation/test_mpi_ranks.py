"""Where ranks may run, read of plain processes that call themselves ranks: no MPI is needed."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from vgo_agent.tools.mitigation.mpi_ranks import of_ranks
from vgo_agent.tools.mitigation.program import Process

CPUS = sorted(os.sched_getaffinity(0))
FIRST, LAST = CPUS[0], CPUS[-1]
ALL = ",".join(map(str, CPUS))
Start = Callable[..., Process]

pytestmark = pytest.mark.skipif(len(CPUS) < 2 or not shutil.which("taskset"), reason="needs two CPUs and taskset")


@pytest.fixture
def ranks() -> Iterator[Start]:
    """Start a parent whose children are ranks, each on some CPUs."""
    parents: list[subprocess.Popen[bytes]] = []

    def start(*cpus: str, of: int | None = None) -> Process:
        lines = [
            f"OMPI_COMM_WORLD_RANK={rank} OMPI_COMM_WORLD_LOCAL_SIZE={of or len(cpus)} taskset -c {one} sleep 60 &"
            for rank, one in enumerate(cpus)
        ]
        parent = subprocess.Popen(["/bin/sh", "-c", "\n".join([*lines, "wait"])], start_new_session=True)
        parents.append(parent)
        _wait_for_sleep(parent.pid, len(cpus))
        return Process(parent.pid)

    yield start
    for parent in parents:
        os.killpg(parent.pid, 9)
        parent.wait()


def _wait_for_sleep(parent: int, count: int) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        names = [Path(f"/proc/{child}/comm").read_text().strip() for child in children]
        if names == ["sleep"] * count:
            return
        time.sleep(0.01)
    raise AssertionError("the ranks did not start")


def test_ranks_of_which_each_has_its_own_cpus_are_apart(ranks: Start) -> None:
    seen = of_ranks("apart", None, ranks(str(FIRST), str(LAST)))
    assert seen.passed and seen.seen == f"rank 0: {FIRST}, rank 1: {LAST}"


def test_ranks_that_share_a_cpu_are_not(ranks: Start) -> None:
    assert not of_ranks("apart", None, ranks(str(FIRST), ALL)).passed


def test_a_rank_leads_to_its_parent_and_so_to_all_ranks(ranks: Start) -> None:
    parent = ranks(str(FIRST), str(LAST))
    child = next(iter(Process(parent.pid).family()))
    first = int(Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()[0])
    assert of_ranks("apart", None, Process(first)) == of_ranks("apart", None, parent)


def test_free_is_all_that_the_launcher_may_use(ranks: Start) -> None:
    assert of_ranks("free", None, ranks(ALL, ALL)).passed
    assert not of_ranks("free", None, ranks(ALL, str(LAST))).passed


def test_within_is_none_but_the_cpus_asked_for(ranks: Start) -> None:
    kept = frozenset({LAST})
    assert of_ranks("within", kept, ranks(str(LAST), str(LAST))).passed
    assert not of_ranks("within", kept, ranks(str(LAST), str(FIRST))).passed
    assert not of_ranks("within", None, ranks(str(LAST))).passed


def test_one_memory_node_holds_all_cpus_of_a_small_machine(ranks: Start) -> None:
    nodes = list(Path("/sys/devices/system/node").glob("node[0-9]*/cpulist"))
    if len(nodes) != 1:
        pytest.skip("needs a machine with one memory node that the kernel shows")
    assert of_ranks("numa", None, ranks(ALL)).passed


def test_ranks_that_are_not_all_there_yet_prove_nothing(ranks: Start) -> None:
    seen = of_ranks("apart", None, ranks(str(FIRST), of=2))
    assert not seen.passed and seen.seen == "not every MPI rank was there (1 of 2)"


def test_a_process_of_the_script_that_has_just_ended_hides_no_rank(tmp_path: Path) -> None:
    for pid, variables, children in ((10, "A=1", "12 11"), (11, "OMPI_COMM_WORLD_RANK=0", "")):
        task = tmp_path / str(pid) / "task" / str(pid)
        task.mkdir(parents=True)
        (task / "children").write_text(children)
        (tmp_path / str(pid) / "environ").write_text(f"{variables}\0")
        (tmp_path / str(pid) / "status").write_text(f"Cpus_allowed_list:\t{FIRST}\n")
    seen = of_ranks("free", None, Process(10, tmp_path))  # 12 was a child when the list was read
    assert seen.passed and seen.seen == f"rank 0: {FIRST}"


def test_a_program_without_ranks_says_so() -> None:
    seen = of_ranks("free", None, Process(os.getpid()))
    assert not seen.passed and seen.seen == "not every MPI rank was there (0 of 1)"
