"""What the control group of this process means: its limits, and whether sessions count beside it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from vgo_agent.knowledge.loader import load
from vgo_agent.tools.case import Case
from vgo_agent.tools.machine import Machine, autogrouped, limited
from vgo_agent.tools.record import Record
from vgo_agent.tools.results import LookUpResult
from vgo_agent.tools.steps.look_up import LookUpTool
from vgo_agent.tools.subject import Limits, Subject

Files = dict[str, str]
V1: Files = {
    "proc/self/cgroup": "2:memory:/a\n1:cpu:/a\n",
    "proc/sys/kernel/sched_autogroup_enabled": "1\n",
    "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
    "sys/fs/cgroup/cpu/a/cpu.cfs_quota_us": "-1\n",
    "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
    "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "9223372036854771712\n",
}
V2: Files = {
    "proc/self/cgroup": "0::/a/b\n",
    "proc/sys/kernel/sched_autogroup_enabled": "1\n",
    "sys/fs/cgroup/cgroup.controllers": "cpu memory\n",
    "sys/fs/cgroup/a/cpu.max": "max 100000\n",
    "sys/fs/cgroup/a/memory.max": "max\n",
    "sys/fs/cgroup/a/b/memory.max": "max\n",
}


def machine_root(folder: Path, files: Files) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.mark.parametrize(
    ("files", "found"),
    [
        (V1, ()),
        (V1 | {"sys/fs/cgroup/cpu/a/cpu.cfs_quota_us": "20000\n"}, ("cpu",)),
        (V1 | {"sys/fs/cgroup/memory/memory.limit_in_bytes": "1048576\n"}, ("memory",)),
        (V2, ()),
        (V2 | {"sys/fs/cgroup/a/cpu.max": "20000 100000\n"}, ("cpu",)),
        (V2 | {"sys/fs/cgroup/a/cpu.max": "20000 100000\n", "sys/fs/cgroup/a/memory.max": "4096\n"}, ("cpu", "memory")),
        ({"proc/self/cgroup": "0::/\n"}, ()),
    ],
)
def test_a_limit_of_the_group_or_of_one_further_out_is_seen(tmp_path: Path, files: Files, found: tuple[str]) -> None:
    assert limited(machine_root(tmp_path, files)) == found


@pytest.mark.parametrize(
    ("files", "counts"),
    [
        (V1, False),
        (V1 | {"proc/self/cgroup": "1:cpu:/\n"}, True),
        (V1 | {"proc/self/cgroup": "1:cpu:/\n", "proc/sys/kernel/sched_autogroup_enabled": "0\n"}, False),
        (V2, True),
        (V2 | {"sys/fs/cgroup/a/cpu.weight": "100\n"}, False),
        ({}, False),
    ],
)
def test_sessions_count_where_no_group_stands_before_them(tmp_path: Path, files: Files, counts: bool) -> None:
    assert autogrouped(machine_root(tmp_path, files)) is counts


class Nothing:
    def get(self, sha256: str) -> bytes:
        raise KeyError(sha256)


@pytest.mark.parametrize(
    ("factor", "cure", "controller"),
    [("run_queue_wait", "raise_cpu_quota", "cpu"), ("page_cache_misses", "raise_memory_limit", "memory")],
)
def test_where_a_limit_is_set_what_lifts_it_is_offered_first(factor: str, cure: str, controller: str) -> None:
    def offered(machine: Machine) -> list[str]:
        case = replace(made, machine=machine)
        found = LookUpTool().run(LookUpTool().arguments.model_validate({"factor": factor}), case).result
        assert isinstance(found, LookUpResult)
        return [candidate.mitigation for candidate in found.candidates]

    subject = Subject(command=("x",), argv=("/bin/true",), directory="/")
    made = Case("c001", subject, Limits(), Machine(), load(), Record((), Nothing()))
    free, held = offered(Machine()), offered(Machine.model_validate({"limited": (controller,)}))
    assert free == list(load().factors[factor].mitigations) and free[0] != cure
    assert held == [cure, *(key for key in free if key != cure)]
