"""Each workload has the cause that the registry says, and prints its own time."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from resource import struct_rusage

import pytest

from vgo_agent.evals.workloads import page_faults
from vgo_agent.evals.workloads.registry import INPUT_BYTES, WORKLOADS, find, missing, prepare
from vgo_agent.evals.workloads.workload import Workload

PAGE_BYTES = 4096


@dataclass(frozen=True)
class Ended:
    output: str
    exit_code: int
    usage: struct_rusage
    migrations: int | None
    waited_ns: int


def launch(*argv: str, **environment: str) -> Ended:
    """Run to the end, and read the counters that only a process not yet reaped shows."""
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
    with pytest.raises(ProcessLookupError):  # nobody is left of its group
        os.killpg(pid, 0)
    migrations = int(moved[1]) if moved else None
    return Ended(text, os.waitstatus_to_exitcode(status), usage, migrations, int(waited[1]) if waited else 0)


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


def ready(name: str, folder: Path) -> tuple[str, ...]:
    """Return the command line, or skip with what this machine lacks."""
    workload = find(name)
    if reason := missing(workload):
        pytest.skip(reason)
    return prepare(workload, folder).command


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_a_run_prints_one_time_and_leaves_nothing_behind(
    workload: Workload, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, elsewhere = disk / "own", disk / "elsewhere"
    own.mkdir()
    elsewhere.mkdir()
    argv = ready(workload.name, own)
    before = sorted(own.iterdir())
    monkeypatch.chdir(elsewhere)
    ended = launch(*argv, TMPDIR=str(elsewhere), HOME=str(elsewhere))
    assert ended.exit_code == 0
    [time] = re.findall(workload.metric, ended.output)
    assert float(time) > 0
    assert sorted(own.iterdir()) == before
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("name", ["cpu_hops", "page_faults", "malloc_churn", "contention", "hash_seed", "steady"])
def test_a_workload_also_runs_as_a_module(name: str) -> None:
    module = f"vgo_agent.evals.workloads.{name}"
    done = subprocess.run([sys.executable, "-m", module], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"time_ms [0-9]+\.[0-9]{4}\n", done.stdout)


def test_layout_as_a_module_builds_itself() -> None:
    if reason := missing(find("layout")):
        pytest.skip(reason)
    module = [sys.executable, "-m", "vgo_agent.evals.workloads.layout"]
    assert re.fullmatch(r"time_ms [0-9]+\.[0-9]{4}\n", subprocess.run(module, capture_output=True, text=True).stdout)


def test_importing_the_workloads_does_nothing() -> None:
    files = ["layout.py", *(workload.file for workload in WORKLOADS if workload.file.endswith(".py"))]
    program = "".join(f"import vgo_agent.evals.workloads.{file.removesuffix('.py')}\n" for file in files)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


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


def test_page_faults_touches_a_different_amount_in_each_run() -> None:
    drawn = {page_faults.draw_megabytes() for _ in range(500)}
    assert len(drawn) > 50
    assert page_faults.LEAST <= min(drawn) <= max(drawn) <= page_faults.MOST


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


def test_a_loud_neighbour_makes_the_program_wait(tmp_path: Path) -> None:
    ended = launch(*ready("contention", tmp_path), "loud")
    if not ended.waited_ns:
        pytest.skip("this kernel shows no /proc/PID/schedstat")
    assert ended.waited_ns > 1_000_000


def test_a_neighbour_left_alone_ends() -> None:
    program = "from vgo_agent.evals.workloads.contention import be_neighbour; be_neighbour(True, 0, 1)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=4)
    assert (done.returncode, done.stdout) == (0, b".")


def test_the_hash_seed_reaches_the_interpreter(tmp_path: Path) -> None:
    interpreter = ready("hash-seed", tmp_path)[:-1]
    first, second, other = (
        launch(*interpreter, "-c", "print(list({'a', 'b', 'c', 'd', 'e', 'f'}))", PYTHONHASHSEED=seed).output
        for seed in ("0", "0", "1")
    )
    assert first == second != other
