"""What a model needs is held against what this process may take, within its control groups too."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from vgo_agent.agent.model.gguf_file import SMALL, context_for, free_memory, need, read_gguf, threads_for

from ...tiny_gguf import tiny

GB = 1 << 30
LARGE = SMALL + 1


def written(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text + "\n")
    return root


MACHINE = {"proc/meminfo": f"MemTotal: 99 kB\nMemFree: 1 kB\nMemAvailable: {8 * GB // 1024} kB"}
SECOND = MACHINE | {"proc/self/cgroup": "0::/a/b", "sys/fs/cgroup/cgroup.controllers": "cpu memory"}
FIRST = MACHINE | {"proc/self/cgroup": "4:memory:/a\n3:cpu,cpuacct:/a"}


def test_without_groups_the_machine_says_what_is_free(tmp_path: Path) -> None:
    assert free_memory(written(tmp_path, MACHINE)) == 8 * GB


def test_a_limit_further_out_holds_and_pages_of_files_are_given_back(tmp_path: Path) -> None:
    group = {
        "sys/fs/cgroup/a/memory.max": str(3 * GB),
        "sys/fs/cgroup/a/memory.current": str(2 * GB),
        "sys/fs/cgroup/a/memory.stat": f"anon 5\ninactive_file {GB // 4}\nactive_file {GB // 4}",
        "sys/fs/cgroup/a/b/memory.max": "max",
        "sys/fs/cgroup/a/b/memory.current": str(GB),
    }
    assert free_memory(written(tmp_path, SECOND | group)) == GB + GB // 2


def test_the_first_version_of_groups_is_read_too(tmp_path: Path) -> None:
    group = {
        "sys/fs/cgroup/memory/a/memory.limit_in_bytes": str(2 * GB),
        "sys/fs/cgroup/memory/a/memory.usage_in_bytes": str(GB),
        "sys/fs/cgroup/memory/a/memory.stat": f"inactive_file 0\ntotal_inactive_file {GB // 2}",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712",
        "sys/fs/cgroup/memory/memory.usage_in_bytes": str(7 * GB),
    }
    assert free_memory(written(tmp_path, FIRST | group)) == GB + GB // 2


def test_a_full_group_leaves_nothing(tmp_path: Path) -> None:
    group = {
        f"sys/fs/cgroup/a/{name}": text for name, text in (("memory.max", str(GB)), ("memory.current", str(2 * GB)))
    }
    group |= {"sys/fs/cgroup/a/b/memory.max": "max"}
    assert free_memory(written(tmp_path, SECOND | group)) == 0


def test_threads_are_physical_cores_within_the_quota(tmp_path: Path) -> None:
    cpus = sorted(os.sched_getaffinity(0))
    siblings = {f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list": "0-1" for cpu in cpus}
    assert threads_for(0, LARGE, written(tmp_path / "one", SECOND | siblings)) == 1
    assert threads_for(0, LARGE, written(tmp_path / "each", SECOND)) == len(cpus)
    quota = {"sys/fs/cgroup/a/b/cpu.max": "150000 100000", "sys/fs/cgroup/a/cpu.max": "max 100000"}
    assert threads_for(0, LARGE, written(tmp_path / "quota", SECOND | quota)) == 1
    legacy = {"sys/fs/cgroup/cpu/a/cpu.cfs_quota_us": "50000", "sys/fs/cgroup/cpu/a/cpu.cfs_period_us": "100000"}
    assert threads_for(0, LARGE, written(tmp_path / "legacy", FIRST | legacy)) == 1
    assert threads_for(7, LARGE, tmp_path / "one") == 7


def test_the_need_grows_with_the_context(tmp_path: Path) -> None:
    model = read_gguf(tiny(tmp_path / "x.gguf", layers=3, heads=2, width=32))
    one, two = need(model, 1000), need(model, 2000)
    assert two.cache == 2 * one.cache == 2 * 1000 * 3 * 2 * (16 + 16) * 2
    assert two.compute - one.compute == 512 * 2 * 1000 * 4
    assert one.weights == model.weights
    assert one.total > one.weights + one.cache + one.compute


@pytest.mark.parametrize(
    ("trained", "asked", "free", "chosen"),
    [
        (32768, 0, 64 * GB, 8192),
        (512, 0, 64 * GB, 512),
        (32768, 0, 1, 2048),
        (32768, 9000, 1, 9000),
        (512, 9000, 1, 512),
    ],
)
def test_the_context_is_the_usual_one_or_what_fits(
    tmp_path: Path, trained: int, asked: int, free: int, chosen: int
) -> None:
    assert context_for(read_gguf(tiny(tmp_path / "x.gguf", context=trained)), asked, free) == chosen


def test_words_need_less_context_than_characters(tmp_path: Path) -> None:
    words = tuple(f"word{number}" for number in range(4000))
    assert context_for(read_gguf(tiny(tmp_path / "x.gguf", context=32768, words=words)), 0, 64 * GB) == 4096
