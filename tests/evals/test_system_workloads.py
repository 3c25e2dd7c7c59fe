"""The causes that the kernel makes are there, are gone in the steady twin, and everything around them is put back."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from resource import struct_rusage

import pytest

from vgo_agent.evals.workloads import surroundings
from vgo_agent.evals.workloads.registry import find, has_twin, prepare, surrounded, workloads
from vgo_agent.evals.workloads.workload import Workload
from vgo_agent.knowledge.errors import VgoError
from vgo_agent.layers.probes.cgroup_tree import own_groups
from vgo_agent.tools.mitigation import run_group
from vgo_agent.tools.mitigation.restore import restore

from ..conftest import control_groups
from .workload_runs import needed

SURROUNDED = [workload for workload in workloads() if workload.around]
STEERING = Path(surroundings.LOOPBACK_STEERING)
PATIENCE_S = 10.0


@pytest.fixture(autouse=True)
def own_journal(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is set is noted in a journal of the test."""
    monkeypatch.setenv("VGO_AGENT_JOURNAL", str(tmp_path_factory.mktemp("journal")))


def run(command: Sequence[str], folder: Path) -> struct_rusage:
    """Run once in the folder and return what it used."""
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert re.fullmatch(r"time_ms [0-9.]+\n", process.stdout.read())
    return os.wait4(process.pid, 0)[2]


def around_here() -> tuple[object, ...]:
    """Everything that surroundings may change: groups, the steering of packets, neighbours."""
    groups = [path for path in control_groups() if path.name.startswith(f"vgo-run-{os.getpid()}-")]
    steering = STEERING.read_text() if STEERING.exists() else ""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    told = os.environ.get(surroundings.BEGAN)
    return Path("/proc/self/cgroup").read_text(), groups, steering, children, os.sched_getaffinity(0), told


def counted(controller: str, name: str) -> str:
    """Read a file of the group that this process is in."""
    groups = own_groups()
    return (groups.get(controller) or groups[""])[0].joinpath(name).read_text()


def network_softirqs(cpu: int) -> int:
    [line] = [line for line in Path("/proc/softirqs").read_text().splitlines() if "NET_RX" in line]
    return int(line.split()[1 + cpu])


@pytest.mark.parametrize("workload", SURROUNDED, ids=lambda workload: workload.name)
def test_what_was_around_a_workload_is_put_back(workload: Workload, disk: Path) -> None:
    needed(workload.name)
    command = prepare(workload, disk).command
    before = around_here()
    with surrounded(workload):
        assert around_here() != before
        run(command, disk)
    assert around_here() == before


@pytest.mark.parametrize("workload", SURROUNDED, ids=lambda workload: workload.name)
def test_an_error_within_puts_everything_back_too(workload: Workload) -> None:
    needed(workload.name)
    before = around_here()
    with pytest.raises(RuntimeError, match="within"), surrounded(workload):
        raise RuntimeError("within")
    assert around_here() == before


@pytest.mark.parametrize("workload", SURROUNDED, ids=lambda workload: workload.name)
def test_the_steady_twin_has_no_neighbour_no_limit_and_no_setting(workload: Workload) -> None:
    before = around_here()
    with surrounded(workload, steady=True):
        assert around_here()[2:] == before[2:]
        changed = set(Path("/proc/self/cgroup").read_text().splitlines()) - set(str(before[0]).splitlines())
        assert {line.split(":")[1] for line in changed} <= {"cpu", "cpu,cpuacct", ""}
    assert around_here() == before


@pytest.mark.parametrize("name", [workload.name for workload in SURROUNDED])
@pytest.mark.cells(3)
def test_what_a_killed_process_left_is_put_back_by_restore(name: str) -> None:
    needed(name)
    before = around_here()
    program = (
        "import time\n"
        "from vgo_agent.evals.workloads.registry import find, surrounded\n"
        f"with surrounded(find({name!r})):\n    print('there', flush=True)\n    time.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "there\n"
    neighbours = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    process.send_signal(signal.SIGKILL)
    process.wait()
    restore()
    assert around_here() == before
    assert not [path for path in control_groups() if path.name.startswith(f"vgo-run-{process.pid}-")]
    assert eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in neighbours))


def eventually(holds: Callable[[], bool]) -> bool:
    """Wait for something that others do."""
    end = time.monotonic() + PATIENCE_S
    while not holds() and time.monotonic() < end:
        time.sleep(0.05)
    return holds()


def test_all_have_a_steady_twin_but_the_one_that_is_steady() -> None:
    assert [workload.name for workload in workloads() if not has_twin(workload)] == ["steady"]


@pytest.mark.parametrize(("name", "arguments"), [("cpu-quota", []), ("quota-sidecar", ["loud"])])
def test_the_quota_stops_the_program(name: str, arguments: list[str], disk: Path) -> None:
    workload = needed(name)
    command = (*prepare(workload, disk).command, *arguments)

    def stopped() -> int:
        return int(re.findall(r"nr_throttled (\d+)", counted("cpu", "cpu.stat"))[0])

    with surrounded(workload):
        before = stopped()
        assert eventually(lambda: bool(run(command, disk)) and stopped() > before)


def test_a_file_larger_than_the_memory_of_the_group_is_read_back_from_the_disk(disk: Path) -> None:
    workload = needed("memory-limit")
    command = prepare(workload, disk).command
    places = [str(place) for place in range(0, 120, 8)]
    with surrounded(workload):
        for place in places:
            run((*command, place), disk)
        read = [run((*command, place), disk).ru_inblock for place in places]
        kept = [run((*command, *workload.steady), disk).ru_inblock for _ in range(3)]
    assert sum(read) * 512 > 16 << 20
    assert kept[1:] == [0, 0]


def test_sync_writes_reach_the_disk_as_often_as_told(disk: Path) -> None:
    workload = needed("sync-writes")
    command = prepare(workload, disk).command
    never, often = (run((*command, times), disk).ru_oublock for times in ("0", "20"))
    assert often - never >= 15 * 16 * 1024 // 512


def test_a_neighbour_writes_to_the_disk() -> None:
    workload = needed("busy-disk")
    with surrounded(workload):
        neighbour = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()[-1]

        def written() -> int:
            said = Path(f"/proc/{neighbour}/io").read_text()
            return int(re.findall(r"^write_bytes: (\d+)", said, re.M)[0])

        assert eventually(lambda: written() >= 16 << 20)


def test_reads_are_held_back(disk: Path) -> None:
    workload = needed("io-limit")
    command = (*prepare(workload, disk).command, "8")

    def taken_ms() -> float:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return float(done.stdout.split()[1])

    with surrounded(workload):
        # 60 a second: seven of them need more than a tenth of a second, however fast the disk is.
        assert sum(taken_ms() for _ in range(4)) > 100


def test_a_realtime_neighbour_has_the_cpu_of_the_program() -> None:
    workload = needed("realtime-hog")
    with surrounded(workload):
        neighbour = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()[-1]
        assert os.sched_getscheduler(int(neighbour)) == os.SCHED_FIFO
        assert os.sched_getaffinity(int(neighbour)) == {max(os.sched_getaffinity(0))}


def test_packets_are_worked_through_on_the_cpu_of_the_program() -> None:
    workload = needed("packet-flood")
    cpu = max(os.sched_getaffinity(0))
    with surrounded(workload):
        before = network_softirqs(cpu)
        assert eventually(lambda: network_softirqs(cpu) > before + 1_000)


def test_short_sleeps_sleeps_as_often_as_told(disk: Path) -> None:
    workload = needed("short-sleeps")
    command = prepare(workload, disk).command
    never, often = (run((*command, times), disk).ru_nvcsw for times in ("0", "200"))
    assert 190 <= often - never <= 230


@pytest.mark.parametrize("name", ["cpu-quota", "memory-limit", "io-limit"])
def test_a_controller_that_is_not_there_is_named_with_the_cure(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_group, "own_groups", lambda root: {})
    monkeypatch.setattr(surroundings, "whole_disk", lambda folder: "8:0")
    controller = {"cpu-quota": "cpu", "memory-limit": "memory", "io-limit": "blkio"}[name]
    with (
        pytest.raises(VgoError, match=rf"controller {controller} can be made here; start vgo-agent as root"),
        surrounded(find(name)),
    ):
        pass
