"""Each workload has the cause that `workloads.yaml` says, leaves nothing behind, and so does its steady twin."""

import subprocess
import sys
from pathlib import Path

import pytest

from vgo_agent.evals.workloads.registry import workloads
from vgo_agent.evals.workloads.surroundings import PROGRAMS
from vgo_agent.evals.workloads.workload import INPUT_BYTES, Workload

from .workload_runs import launch, on_one_cpu, ready

PAGE_BYTES = 4096


@pytest.mark.parametrize("steady", [False, True], ids=["as it is", "steady"])
@pytest.mark.parametrize("workload", workloads(), ids=lambda workload: workload.name)
@pytest.mark.cells(20)
def test_a_run_prints_one_time_and_leaves_nothing_behind(
    workload: Workload, steady: bool, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, elsewhere = disk / "own", disk / "elsewhere"
    own.mkdir()
    elsewhere.mkdir()
    argv = ready(workload.name, own, steady)
    before = sorted(own.iterdir())
    monkeypatch.chdir(elsewhere)
    assert launch(*argv, TMPDIR=str(elsewhere), HOME=str(elsewhere)).time_ms > 0
    assert sorted(own.iterdir()) == before
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("name", sorted({workload.file for workload in workloads() if workload.file.endswith(".py")}))
def test_importing_a_program_does_nothing(name: str) -> None:
    words = [sys.executable, "-c", f"import {name.removesuffix('.py')}"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=PROGRAMS)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_program_that_reads_a_file_says_so() -> None:
    words = [sys.executable, str(PROGRAMS / "beside.py"), "cold-and-contended"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "Give the file to read, such as one of 20 MB on a disk.\n")


def test_cpu_hops_moves_as_often_as_told_and_not_at_all_when_pinned(tmp_path: Path) -> None:
    argv = ready("cpu-hops", tmp_path)
    free = launch(*argv, "100")
    with on_one_cpu():
        pinned = launch(*argv, "100")
    if free.migrations is None:
        pytest.skip("this kernel shows no /proc/PID/sched")
    assert free.migrations >= 90
    assert pinned.migrations == 0


def test_page_faults_follow_the_memory_touched(tmp_path: Path) -> None:
    argv = ready("page-faults", tmp_path)
    few, many = launch(*argv, "16").usage.ru_minflt, launch(*argv, "128").usage.ru_minflt
    assert many - few == pytest.approx((128 - 16) * 2**20 / PAGE_BYTES, rel=0.1)


def test_page_faults_touches_a_different_amount_in_each_run(tmp_path: Path) -> None:
    argv = ready("page-faults", tmp_path)
    drawn = {launch(*argv).usage.ru_minflt for _ in range(8)}
    assert max(drawn) - min(drawn) > 2**20 / PAGE_BYTES


def test_malloc_churn_faults_only_because_malloc_gives_memory_back(tmp_path: Path) -> None:
    argv = ready("malloc-churn", tmp_path)
    thresholds = {"MALLOC_MMAP_THRESHOLD_": "1G", "MALLOC_TRIM_THRESHOLD_": "1G", "MALLOC_TOP_PAD_": "64M"}
    keeps = {name: str(int(value[:-1]) << {"G": 30, "M": 20}[value[-1]]) for name, value in thresholds.items()}
    calm, churning = launch(*argv, "0"), launch(*argv, "100")
    cured = launch(*argv, "100", **keeps)
    assert churning.usage.ru_minflt - calm.usage.ru_minflt > 20_000
    assert abs(cured.usage.ru_minflt - calm.usage.ru_minflt) < 1_000


def test_cold_cache_reads_from_the_disk_after_an_eviction_and_only_then(disk: Path) -> None:
    argv = ready("cold-cache", disk)
    warm, evicting, cold, again = (launch(*argv, choice) for choice in ("keep", "evict", "keep", "keep"))
    read = [ended.usage.ru_inblock * 512 for ended in (warm, evicting, cold, again)]
    assert read[2] >= 0.9 * INPUT_BYTES
    assert max(read[0], read[1], read[3]) < 0.1 * INPUT_BYTES


def test_the_hash_seed_reaches_the_interpreter(tmp_path: Path) -> None:
    interpreter = ready("hash-seed", tmp_path)[:-2]

    def order(seed: str) -> str:
        words = [*interpreter, "-c", "print(list({'a', 'b', 'c', 'd', 'e', 'f'}))"]
        return subprocess.run(words, env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True).stdout

    assert order("0") == order("0") != order("1")
