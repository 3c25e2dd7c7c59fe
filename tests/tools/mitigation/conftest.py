"""A program that shows every mitigation in /proc, and a guard that no setting stays changed."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from vgo_agent.knowledge.schema import Mitigation
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.execution.spawn import Spawner
from vgo_agent.tools.machine import Machine
from vgo_agent.tools.mitigation.engine import applied
from vgo_agent.tools.mitigation.kernel_file import in_force
from vgo_agent.tools.subject import Subject

from .agents import KnobSet

WATCHED = (
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/kernel/mm/transparent_hugepage/defrag",
    "/proc/sys/vm/swappiness",
    "/proc/sys/vm/stat_interval",
    "/proc/sys/vm/dirty_bytes",
    "/proc/sys/vm/dirty_ratio",
    "/proc/sys/vm/dirty_background_bytes",
    "/proc/sys/vm/dirty_background_ratio",
    "/proc/sys/vm/dirty_writeback_centisecs",
    "/proc/sys/vm/compaction_proactiveness",
    "/proc/sys/kernel/sched_autogroup_enabled",
    "/proc/sys/kernel/numa_balancing",
    "/proc/sys/kernel/watchdog",
    "/proc/sys/kernel/soft_watchdog",
    "/proc/sys/kernel/nmi_watchdog",
)

INPUT = random.Random(1).randbytes(1 << 20)
# Says who it is, fills 32 MB on the heap, and stays so that it can be looked at: some seconds, or until a file exists.
PROGRAM = """\
import os, sys, time
open(sys.argv[1], "w").write(str(os.getpid()))
heap = bytearray(b"1" * (32 << 20))
if sys.argv[2].startswith("/"):
    while not os.path.exists(sys.argv[2]):
        time.sleep(0.005)
else:
    time.sleep(float(sys.argv[2]))
"""


@pytest.fixture(autouse=True)
def nothing_stays_changed() -> Iterator[None]:
    before = settings_now()
    yield
    assert settings_now() == before
    assert not list(Path("/dev/shm").glob(f"vgo-agent-{os.getpid()}-*"))


def settings_now() -> dict[str, str]:
    return {path: in_force(Path(path).read_text()) for path in WATCHED if os.path.exists(path)}


@pytest.fixture(autouse=True)
def journal_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "journal"
    monkeypatch.setenv("VGO_AGENT_JOURNAL", str(folder))
    return folder


@pytest.fixture(scope="module")
def spawner() -> Iterator[Spawner]:
    with Spawner() as opened:
        yield opened


@pytest.fixture
def subject(tmp_path: Path) -> Subject:
    """The program with its input, in a working directory of its own."""
    work = tmp_path / "work directory"
    work.mkdir()
    (work / "program.py").write_text(PROGRAM)
    with (work / "input.dat").open("wb") as file:
        file.write(INPUT)
        # On the disk, so that it can be evicted from the page cache.
        os.fsync(file.fileno())
    command = (sys.executable, "program.py", str(tmp_path / "pid"), "0.08", "input.dat")
    return Subject(command=command, argv=command, directory=str(work), inputs=(str(work / "input.dat"),))


@pytest.fixture
def launch(subject: Subject) -> Launch:
    return Launch(argv=subject.argv, directory=Path(subject.directory))


@pytest.fixture
def machine() -> Machine:
    """Every CPU of this one; the rest of the facts stand in the tests that need them."""
    cpus = tuple(sorted(os.sched_getaffinity(0)))
    return Machine(cpus=cpus, quiet_cpu=cpus[-1], root=os.geteuid() == 0)


@pytest.fixture
def one() -> Callable[..., Mitigation]:
    """Make a mitigation from what matters in a test."""

    def make(key: str = "some_mitigation", scope: str = "process", **fields: object) -> Mitigation:
        return Mitigation.model_validate(
            {"key": key, "name": key, "description": "d", "scope": scope, "when": "w", "hurts": "h", **fields}
        )

    return make


@pytest.fixture
def knob(tmp_path: Path) -> Path:
    """A kernel file of a fake tree."""
    path = tmp_path / "root/sys/knob"
    path.parent.mkdir(parents=True)
    path.write_text("old\n")
    return path


@pytest.fixture
def sets_knob(one: Callable[..., Mitigation]) -> Mitigation:
    return one(scope="system", apply={"write": [{"path": "/sys/knob", "value": "wanted"}]})


@pytest.fixture
def knob_set(sets_knob: Mitigation, tmp_path: Path, subject: Subject, launch: Launch, machine: Machine) -> KnobSet:
    """Have the knob ready to be set, in the fake tree."""
    return lambda: applied(sets_knob, launch, subject, machine, root=tmp_path / "root")
