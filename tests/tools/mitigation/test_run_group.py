"""Control groups of the run: real ones of version 1, version 2 below a fake root; gone after, even a dead agent's."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from vgo_agent.knowledge.actions import Apply, ControlGroup, Spawn, Verify
from vgo_agent.knowledge.errors import VgoError
from vgo_agent.knowledge.schema import Mitigation
from vgo_agent.tools.execution.launch import Launch, RunGroup, Scheduler
from vgo_agent.tools.execution.spawn import ConditionRefused, Spawner
from vgo_agent.tools.machine import Machine
from vgo_agent.tools.mitigation.by_hand import command_line
from vgo_agent.tools.mitigation.observation import READERS, Promise
from vgo_agent.tools.mitigation.program import Process
from vgo_agent.tools.mitigation.restore import restore
from vgo_agent.tools.mitigation.run_group import PREFIX, in_own_group, parts, places
from vgo_agent.tools.mitigation.verification import ENDED, Watcher, promised, prove
from vgo_agent.tools.subject import Subject

from ...conftest import control_groups, groups_of_nobody
from ..conftest import Draws

HERE = places()
v1 = pytest.mark.skipif(
    not all(name in HERE and HERE[name].version == 1 for name in ("cpu", "cpuset")),
    reason="no writable control groups of version 1 with cpu and cpuset here",
)
WEIGHTED = Spawn.model_validate({"group": {"cpu_weight": 1000}})
SUBJECT = Subject(command=("cat", "/proc/self/cgroup"), argv=("/bin/cat", "/proc/self/cgroup"), directory="/")


def left_here() -> set[Path]:
    return groups_of_nobody(PREFIX) | {path for path in control_groups() if path.name.startswith("by-hand-")}


@pytest.fixture(autouse=True)
def no_group_stays() -> Iterator[None]:
    home, cpus, before = Path("/proc/self/cgroup").read_text(), os.sched_getaffinity(0), left_here()
    yield
    assert left_here() == before
    assert Path("/proc/self/cgroup").read_text() == home
    assert os.sched_getaffinity(0) == cpus


@pytest.fixture
def here(machine: Machine) -> Machine:
    return machine.model_copy(update={"groups": HERE})


@v1
def test_the_run_is_born_in_the_group_with_its_children(spawner: Spawner, here: Machine) -> None:
    spawn = Spawn.model_validate({"group": {"cpu_weight": 1000, "cpus": "one_cpu"}})
    line = f"cat /proc/self/cgroup; {sys.executable} -c 'import os; print(os.sched_getaffinity(0))'"
    with in_own_group(Launch(argv=("/bin/sh", "-c", line)), spawn, here) as launch:
        said = spawner.run(launch, capture=True).output.decode()
        folders = [group.folder for group in launch.groups]
        assert all(folder.name in said for folder in folders)
        assert f"{{{here.quiet_cpu}}}" in said
        assert (folders[0] / "cpu.shares").read_text().strip() == "10240"
    assert not any(folder.exists() for folder in folders)


@v1
def test_the_same_agent_runs_within_and_without_in_turns(spawner: Spawner, here: Machine) -> None:
    base = Launch(argv=SUBJECT.argv)
    with in_own_group(base, WEIGHTED, here) as launch:
        said = [PREFIX in spawner.run(each, capture=True).output.decode() for each in (launch, base, launch, base)]
    assert said == [True, False, True, False]


@v1
def test_an_affinity_that_the_user_gave_survives_the_cpuset(spawner: Spawner, here: Machine) -> None:
    if len(here.cpus) < 2:
        pytest.skip("one CPU only")
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {here.cpus[0]})
    try:
        spawn = Spawn.model_validate({"group": {"cpus": "all_but_reserved"}})
        with in_own_group(Launch(argv=("/bin/true",)), spawn, here) as launch:
            spawner.run(launch)
        assert os.sched_getaffinity(0) == {here.cpus[0]}
    finally:
        os.sched_setaffinity(0, before)


@v1
def test_what_a_program_leaves_running_is_moved_out(here: Machine) -> None:
    with in_own_group(Launch(argv=("/bin/true",)), Spawn.model_validate({"group": {"cpu_weight": 1}}), here) as launch:
        (group,) = launch.groups
        with subprocess.Popen(["sleep", "60"]) as left:
            try:
                (group.folder / "cgroup.procs").write_text(str(left.pid))
                (group.folder / "cgroup.procs").read_text()
            finally:
                left.terminate()
    assert not group.folder.exists()


@v1
def test_real_time_in_a_group_that_grants_none_is_told_as_that(spawner: Spawner, here: Machine) -> None:
    if not (Path(HERE["cpu"].folder) / "cpu.rt_runtime_us").exists():
        pytest.skip("this kernel grants real-time to everybody (no RT_GROUP_SCHED)")
    launch = Launch(argv=("/bin/true",), scheduler=Scheduler(os.SCHED_FIFO, 1))
    with (
        in_own_group(launch, Spawn.model_validate({"group": {"cpu_weight": 100}}), here) as inside,
        pytest.raises(ConditionRefused, match=r"cpu.rt_runtime_us is 0: start it in another cpu control group"),
    ):
        spawner.run(inside)


@v1
def test_the_shell_line_puts_the_program_into_such_a_group(one: Callable[..., Mitigation], here: Machine) -> None:
    apply = {"spawn": {"group": {"cpu_weight": 1000, "cpus": "one_cpu"}}}
    line = command_line(one(scope="cgroup", apply=apply), SUBJECT, here)
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True)
    assert done.stdout.count("/by-hand-") == 2
    assert done.stderr == ""


@pytest.fixture
def weighted(one: Callable[..., Mitigation]) -> Mitigation:
    return one(scope="cgroup", apply={"spawn": WEIGHTED.model_dump(exclude_defaults=True)})


@v1
def test_a_value_that_is_not_as_asked_does_not_pass(weighted: Mitigation, spawner: Spawner, here: Machine) -> None:
    with in_own_group(Launch(argv=("/bin/sleep", "0.05")), WEIGHTED, here) as launch:
        (launch.groups[0].folder / "cpu.shares").write_text("7")
        (check,) = prove(weighted, launch, spawner)
    assert (check.expected, check.seen, check.passed) == ("cpu.shares 10240", "cpu.shares 7", False)


@v1
def test_a_run_that_ends_is_never_seen_in_another_group(
    weighted: Mitigation, spawner: Spawner, here: Machine, draws: Draws
) -> None:
    """It leaves its group before it is a zombie, and is then shown in the top one, with the values of that."""
    seen = set()

    def look(pid: int) -> None:
        with suppress(OSError):  # the end
            while True:
                seen.add(READERS["apply.spawn.group"][1](promised(weighted, launch), Process(pid)).seen)

    # Long enough to be seen at all where other work delays whoever looks.
    with in_own_group(Launch(argv=("/bin/sleep", "0.005")), WEIGHTED, here) as launch:
        for _ in range(draws(150, 600)):
            spawner.run(launch, on_started=look)
    assert seen == {"cpu.shares 10240"}


@v1
def test_restore_removes_the_group_of_a_dead_agent_and_no_other(tmp_path: Path, here: Machine) -> None:
    # No process has that start time.
    dead = Path(HERE["cpu"].folder) / f"{PREFIX}{os.getpid()}-1-1"
    foreign = Path(HERE["cpu"].folder) / f"{PREFIX}of-someone"
    dead.mkdir()
    foreign.mkdir()
    try:
        with in_own_group(Launch(argv=("x",)), Spawn.model_validate({"group": {"cpu_weight": 1}}), here) as launch:
            said = restore(folder=tmp_path / "journal", shared_memory=tmp_path, temporary=tmp_path)
            assert said == [f"{dead}: removed, the control group of an agent that died"]
            assert launch.groups[0].folder.exists()
        assert not dead.exists()
        assert foreign.exists()
    finally:
        foreign.rmdir()


def version_2(root: Path, home: str, handed: dict[str, str]) -> None:
    """A tree of version 2 with this process in `home` and these controllers handed on by each group."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(f"0::{home}\n")
    top = root / "sys/fs/cgroup"
    (top / home.lstrip("/")).mkdir(parents=True)
    (top / "cgroup.controllers").write_text("cpuset cpu memory\n")
    for name, controllers in handed.items():
        (top / name.lstrip("/") / "cgroup.subtree_control").write_text(controllers)


def test_in_version_2_the_group_lies_where_controllers_are_handed_on(tmp_path: Path) -> None:
    version_2(tmp_path, "/user.slice/session.scope", {"/": "cpuset cpu memory", "/user.slice": "cpu memory"})
    found = places(tmp_path)
    top = tmp_path / "sys/fs/cgroup"
    assert {name: (place.folder, place.version) for name, place in found.items()} == {
        "cpu": (str(top / "user.slice"), 2),
        "cpuset": (str(top), 2),
    }


def test_in_version_2_the_weight_keeps_its_scale(tmp_path: Path) -> None:
    version_2(tmp_path, "/job", {"/": "cpuset cpu"})
    machine = Machine(cpus=(0, 1, 2), quiet_cpu=1, groups=places(tmp_path))
    spawn = Spawn.model_validate({"group": {"cpu_weight": 1000, "cpus": "all_but_reserved"}, "reserved_cpus": "1"})
    (part,) = parts(spawn, machine)
    assert part.controllers == ("cpu", "cpuset")
    assert part.values == {"cpu.weight": "1000", "cpuset.cpus": "1,2"}
    with in_own_group(Launch(argv=("x",)), spawn, machine, tmp_path) as launch:
        (group,) = launch.groups
        assert (group.folder / "cpu.weight").read_text() == "1000"
        assert (group.home, group.members) == (tmp_path / "sys/fs/cgroup/job", "cgroup.procs")


def test_in_version_2_a_quota_and_a_limit_of_memory_stand_in_one_group(tmp_path: Path) -> None:
    version_2(tmp_path, "/job", {"/": "cpu memory"})
    spawn = Spawn.model_validate({"group": {"cpu_quota_us": 50000, "memory_bytes": 1 << 26}})
    (part,) = parts(spawn, Machine(groups=places(tmp_path)))
    assert part.controllers == ("cpu", "memory")
    assert part.values == {"cpu.max": "50000 100000", "memory.max": "67108864"}


def test_in_version_2_memory_that_is_not_handed_on_cannot_be_limited(tmp_path: Path) -> None:
    version_2(tmp_path, "/job", {"/": "cpu"})
    with pytest.raises(VgoError, match="the controller memory can be made here"):
        parts(Spawn.model_validate({"group": {"memory_bytes": 1 << 26}}), Machine(groups=places(tmp_path)))


@v1
def test_a_quota_of_the_group_is_proved_in_the_run(
    one: Callable[..., Mitigation], spawner: Spawner, here: Machine
) -> None:
    apply = {"spawn": {"group": {"cpu_quota_us": 20000}}}
    mitigation = one(scope="cgroup", apply=apply)
    assert mitigation.apply is not None
    with in_own_group(Launch(argv=("/bin/sleep", "0.05")), mitigation.apply.spawn, here) as launch:
        (check,) = prove(mitigation, launch, spawner)
    assert check.passed and "cpu.cfs_quota_us 20000" in check.seen


def test_in_version_2_the_leaf_of_the_layer_cgroup_is_not_left(tmp_path: Path) -> None:
    version_2(tmp_path, f"/vgo-agent-{os.getpid()}", {"/": "cpu"})
    spawn = Spawn.model_validate({"group": {"cpu_weight": 1000}})
    machine = Machine(groups=places(tmp_path))
    with pytest.raises(VgoError, match="leave the layer out"), in_own_group(Launch(("x",)), spawn, machine, tmp_path):
        pass


def test_where_no_group_can_be_made_the_cure_is_told(tmp_path: Path) -> None:
    assert places(tmp_path) == {}
    with pytest.raises(VgoError, match="systemd-run --scope -p Delegate=yes"):
        parts(Spawn.model_validate({"group": {"cpu_weight": 1000}}), Machine())


def test_what_has_ended_and_is_not_yet_reaped_shows_no_group() -> None:
    made = RunGroup(Path("/"), Path("/"), "tasks", ("cpu",), {"cpu.shares": "7"})
    apply = Apply(spawn=Spawn(group=ControlGroup(cpu_weight=1)))
    with subprocess.Popen(["/bin/true"]) as ended:
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        watcher = Watcher(Promise(apply, Verify(), Launch(argv=("/bin/true",), groups=(made,))))
        watcher.start(ended.pid)
        (check,) = watcher.stop().values()
    assert check.seen == ENDED
