"""The layer `cgroup` shows what limits held a run back, counts the run alone, and leaves no group behind."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from vgo_agent.layers.loader import find_layer, open_probe
from vgo_agent.layers.probes.cgroup_leaf import NAME
from vgo_agent.layers.probes.cgroup_tree import own_groups, unified
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.mitigation.restore import restore

from ..conftest import control_groups

CPUS = sorted(os.sched_getaffinity(0))
two_cpus = pytest.mark.skipif(len(CPUS) < 2, reason="a neighbour needs a CPU of its own")
CALM = "import time\nwhile time.process_time() < 0.1: pass"
BURN_TOGETHER = """
import os, time
gate, start = os.pipe()
for _ in range(3):
    if os.fork() == 0:
        os.close(start)
        os.read(gate, 1)
        while time.process_time() < 0.05: pass
        os._exit(0)
os.close(start)
for _ in range(3): os.wait()
"""
NOBODY_WAITS = """
import os, time
done, end = os.pipe()
if os.fork() == 0:
    if os.fork() == 0:
        while time.process_time() < 0.1: pass
        os._exit(0)
    os._exit(0)
os.wait()
os.close(end)
os.read(done, 1)
"""
"""The grandchild holds the other end of the pipe until it ends; then its time is in no rusage of the run."""
HOLD = """
import sys, time
from vgo_agent.layers.loader import find_layer, open_probe
probe = open_probe(find_layer("cgroup"))
print(open("/proc/self/cgroup").read().splitlines()[-1], flush=True)
time.sleep(1000)
"""


def home():
    return Path("/proc/self/cgroup").read_text()


def leaves():
    """Those of this process: other tests open the layer at the same time."""
    top = unified()
    return [str(path) for path in control_groups(top) if path.name == f"{NAME}{os.getpid()}"] if top else []


@contextmanager
def opened(spec="cgroup", root=Path("/")):
    probe = open_probe(find_layer(spec), root)
    try:
        yield probe
    finally:
        probe.close()


@contextmanager
def opened_leaf():
    with opened() as found:
        if "leaf.usage_ms" in found.absent():
            pytest.skip(found.absent()["leaf.usage_ms"])
        yield found


@pytest.fixture
def probe():
    with opened_leaf() as found:
        yield found


def python(code, **conditions):
    return Launch((sys.executable, "-S", "-c", code), **conditions)


@contextmanager
def hogs(cpu, number):
    """Keep a CPU busy, with several that wait for each other; opened before the leaf, so that they are not in it."""
    code = f"import os\nos.sched_setaffinity(0, {{{cpu}}})\nwhile 1: pass"
    with ExitStack() as ending:
        for _ in range(number):
            hog = subprocess.Popen([sys.executable, "-S", "-c", code])
            ending.callback(hog.wait)
            ending.callback(hog.kill)
            while os.sched_getaffinity(hog.pid) != {cpu}:
                time.sleep(0.001)
        yield


def test_what_is_declared_is_given_or_absent_with_a_reason(spawner, probe):
    given = {n for n in spawner.run(Launch(("/bin/true",)), [probe]).counters if n.startswith(("cgroup.", "leaf."))}
    absent = probe.absent()
    assert {column.name for column in find_layer("cgroup").columns} == given | set(absent)
    assert not given & set(absent)
    assert all(": " in reason for reason in absent.values())


def test_the_process_comes_back_and_no_group_is_left():
    before, there, files = home(), leaves(), sorted(os.listdir("/proc/self/fd"))
    with opened_leaf():
        assert home() != before
        assert len(leaves()) == len(there) + 1
    assert home() == before
    assert leaves() == there
    assert sorted(os.listdir("/proc/self/fd")) == files


def test_what_was_started_in_the_leaf_and_lives_on_comes_out_with_it():
    there = leaves()
    with opened():
        stays = subprocess.Popen(["/bin/sleep", "1000"])
    try:
        assert leaves() == there
        assert Path(f"/proc/{stays.pid}/cgroup").read_text() == home()
    finally:
        stays.kill()
        stays.wait()


def group_said(process):
    """Wait until a process has opened the layer, and return its line of cgroup v2."""
    return next(iter(process.stdout), "").strip()


def die_in_a_leaf():
    """Let a process that has opened the layer be killed; return the leaf that it left."""
    with subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE, text=True) as process:
        line = group_said(process)
        process.send_signal(signal.SIGKILL)
    leaf = Path(f"{unified()}{line.removeprefix('0::')}")
    if not leaf.name.startswith(NAME):
        pytest.skip("no leaf can be made here")
    return leaf


def test_the_next_to_open_removes_the_leaf_of_a_killed_one_and_spares_that_of_a_living_one():
    living = subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE, text=True)
    try:
        alive = Path(f"{unified()}{group_said(living).removeprefix('0::')}")
        dead = die_in_a_leaf()
        assert dead.exists()
        with opened():
            assert not dead.exists()
            assert alive.exists()
    finally:
        living.kill()
        living.communicate()
    assert str(alive) in " ".join(restore())
    assert not alive.exists()


def test_restore_removes_the_leaf_of_a_killed_agent_and_says_so(tmp_path):
    leaf = die_in_a_leaf()
    assert any(str(leaf) in said for said in restore(folder=tmp_path, shared_memory=tmp_path))
    assert not leaf.exists()


def test_a_second_opening_in_the_same_process_is_absent_and_harms_nothing(probe):
    inside = home()
    with opened() as second:
        assert "once" in second.absent()["leaf.usage_ms"]
    assert home() == inside


def test_without_the_leaf_nothing_moves(spawner):
    before = home()
    with opened("cgroup:leaf=false") as probe:
        assert home() == before
        counters = spawner.run(Launch(("/bin/true",)), [probe]).counters
        assert not [name for name in counters if name.startswith("leaf.")]
        assert "leaf=true" in probe.absent()["leaf.usage_ms"]


def test_where_no_group_can_be_made_the_leaf_is_absent_with_the_reason():
    if os.geteuid() != 0 or unified() is None:
        pytest.skip("it takes root and cgroup v2 to mount it read-only for a moment")
    program = """
from vgo_agent.layers.loader import find_layer, open_probe
before = open("/proc/self/cgroup").read()
probe = open_probe(find_layer("cgroup"))
print(probe.absent()["leaf.usage_ms"], open("/proc/self/cgroup").read() == before)
"""
    shell = f'mount -o remount,bind,ro {unified()} && exec "$0" -c "$1"'
    command = ["unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", shell, sys.executable, program]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "Read-only file system" in said and "run as root" in said
    assert said.strip().endswith("True")


@two_cpus
def test_cpu_use_is_that_of_the_run_alone_whoever_else_is_busy(spawner):
    with hogs(CPUS[1], 1), opened_leaf() as probe:
        for code in (CALM, BURN_TOGETHER, "0"):
            counters = spawner.run(python(code, affinity=frozenset(CPUS[:1])), [probe]).counters
            used_ms = (counters["user_s"] + counters["system_s"]) * 1e3
            assert abs(counters["leaf.usage_ms"] - used_ms) <= 1
            assert counters["leaf.user_ms"] + counters["leaf.system_ms"] == pytest.approx(counters["leaf.usage_ms"])


def test_descendants_that_nobody_waited_for_are_counted(spawner, probe):
    counters = spawner.run(python(NOBODY_WAITS), [probe]).counters
    assert counters["leaf.usage_ms"] >= 95 > (counters["user_s"] + counters["system_s"]) * 1e3


def test_pressure_grows_when_the_processes_of_a_run_wait_for_one_cpu(spawner, probe):
    counters = spawner.run(python(BURN_TOGETHER, affinity=frozenset(CPUS[:1])), [probe]).counters
    # Until two of three have had their 50 ms, one at least waits.
    assert counters["leaf.cpu_some_us"] >= 80_000
    assert counters["leaf.cpu_full_us"] <= counters["leaf.cpu_some_us"]


@two_cpus
def test_a_crowd_on_another_cpu_is_pressure_on_the_machine_and_none_of_the_run(spawner):
    def waited_us():
        return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e3

    with hogs(CPUS[1], 3), opened("process") as process, opened_leaf() as probe:
        before = waited_us()
        run = spawner.run(python(CALM, affinity=frozenset(CPUS[:1])), [process, probe])
        ours = waited_us() - before
    counters = run.counters
    # Somebody else may be on the CPU of the run: what its one thread waited, and ours, is all that may be there.
    assert counters["leaf.cpu_some_us"] <= counters["run_delay_ms"] * 1e3 + ours + 2000
    if "psi.cpu_some_us" in counters:
        assert counters["psi.cpu_some_us"] >= 0.2 * run.wall_ns / 1e3


def test_neither_the_cpus_nor_the_counters_of_a_run_mind_the_leaf(spawner, probe):
    show = "import os\nb = bytearray(64 << 20)\nprint(sorted(os.sched_getaffinity(0)))"
    with opened("process") as process:
        run = spawner.run(python(show, affinity=frozenset(CPUS[-1:]), thp_disable=True), [process, probe], capture=True)
        assert run.output.decode().strip() == str(CPUS[-1:])
        if "perf.minor_faults" not in process.absent():
            assert run.counters["perf.minor_faults"] >= 0.9 * (64 << 20) / os.sysconf("SC_PAGESIZE")


@contextmanager
def group_with_quota(quota_us, period_us):
    """Make a group that may use so much CPU time in a period, in whichever version has the controller."""
    top = own_groups().get("cpu", [None])[0]
    names = ("cpu.cfs_period_us", "cpu.cfs_quota_us")
    if top is None:
        pytest.skip("no cpu controller of cgroup v1 is mounted")
    group = top / f"vgo-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no group can be made in {top} ({error.strerror})")
    try:
        for name, value in zip(names, (period_us, quota_us), strict=True):
            (group / name).write_text(str(value))
        yield group
    finally:
        group.rmdir()


def test_a_child_that_a_quota_of_its_own_group_holds_back_is_seen(spawner):
    probe = open_probe(find_layer("stacks"))
    if why := probe.absent().get("stacks.throttled_ms"):
        pytest.skip(why)
    child = (
        "import sys, time\nopen(sys.argv[1] + '/cgroup.procs', 'w').write('0')\nwhile time.process_time() < 0.03: pass"
    )
    start = "import subprocess, sys\nsubprocess.run([sys.executable, '-S', '-c', *sys.argv[1:]], check=True)"
    with group_with_quota(1_000, 20_000) as group:
        run = spawner.run(Launch((sys.executable, "-S", "-c", start, child, str(group))), [probe])
        spent = probe.split(None)
    probe.close()
    assert 0 < float(spent["stacks.throttled_ms"]) < run.wall_ns / 1e6


@pytest.mark.slow
def test_a_cpu_quota_shows_as_throttling():
    program = """
import json, os, sys
from vgo_agent.layers.loader import find_layer, open_probe
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.execution.spawn import Spawner
open(sys.argv[1] + "/cgroup.procs", "w").write(str(os.getpid()))
probe, ledger = open_probe(find_layer("cgroup:leaf=false")), open_probe(find_layer("ledger"))
with Spawner() as spawner:
    run = spawner.run(Launch((sys.executable, "-S", "-c", sys.argv[2])), [probe, ledger])
print(json.dumps({**run.counters, **ledger.split(None), "wall_ms": run.wall_ns / 1e6}))
"""
    burn = "import time\nwhile time.process_time() < 0.03: pass"
    with group_with_quota(1_000, 20_000) as group:
        done = subprocess.run(
            [sys.executable, "-c", program, str(group), burn], capture_output=True, text=True, check=True
        )
    counters = json.loads(done.stdout)
    # 30 ms of work at 1 ms for each 20: it takes a machine with less than 5 % of a CPU to do it without a stop.
    assert counters["cgroup.periods"] >= counters["cgroup.throttled"] >= 1
    assert counters["cgroup.throttled_us"] > 0
    if "ledger.throttled_ms" in counters:
        assert 0 < counters["ledger.throttled_ms"] <= counters["cgroup.throttled_us"] / 1e3
        spent = [value for name, value in counters.items() if name.startswith("ledger.")]
        assert sum(spent) == pytest.approx(counters["wall_ms"], abs=1e-6)


class Container:
    """A fake machine: cgroup v2 as a container with limits sees it, below a slice with a quota."""

    own = "sys/fs/cgroup/slice/box"

    def __init__(self, folder):
        self.root = folder
        self.write("proc/self/cgroup", "0::/slice/box\n")
        self.write("sys/fs/cgroup/cgroup.controllers", "cpu io memory pids\n")
        self.write("sys/fs/cgroup/cpu.stat", "usage_usec 5\n")
        self.cpu("sys/fs/cgroup/slice", 10, 2, 5000)
        self.cpu(self.own, 100, 20, 50_000)
        self.write(f"{self.own}/memory.events.local", "low 0\nhigh 4\nmax 1\noom 0\noom_kill 0\noom_group_kill 0\n")
        self.write(f"{self.own}/memory.max", "1048576\n")
        self.write("sys/fs/cgroup/slice/memory.max", "max\n")
        self.write(f"{self.own}/memory.current", "786432\n")
        self.write(f"{self.own}/pids.events", "max 3\n")
        self.write(f"{self.own}/io.stat", "254:0 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0\n")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def cpu(self, group, periods, throttled, spent_us):
        self.write(
            f"{group}/cpu.stat",
            f"usage_usec 9\nnr_periods {periods}\nnr_throttled {throttled}\nthrottled_usec {spent_us}\n",
        )


def test_limits_of_a_container_and_of_the_groups_above_it_are_counted_together(tmp_path):
    box = Container(tmp_path)
    with opened("cgroup:leaf=false", box.root) as probe:
        probe.before()
        box.cpu("sys/fs/cgroup/slice", 12, 3, 7000)
        box.cpu(box.own, 105, 24, 90_000)
        box.write(f"{box.own}/memory.events.local", "low 0\nhigh 9\nmax 2\noom 0\noom_kill 1\n")
        box.write(f"{box.own}/memory.current", "1000000\n")
        box.write(
            f"{box.own}/io.stat", "254:0 rbytes=8192 wbytes=1 rios=2 wios=1\n254:16 rbytes=100 wbytes=0 rios=1 wios=0\n"
        )
        probe.after()
        assert probe.values() == {
            "cgroup.periods": 7.0,
            "cgroup.throttled": 5.0,
            "cgroup.throttled_us": 42_000.0,
            "cgroup.memory_high": 5.0,
            "cgroup.memory_max": 1.0,
            "cgroup.oom_kill": 1.0,
            "cgroup.memory_share": 75.0,
            "cgroup.pids_max": 0.0,
            "cgroup.reads": 2.0,
            "cgroup.writes": 1.0,
            "cgroup.read_bytes": 4196.0,
            "cgroup.write_bytes": 1.0,
        }


def test_a_counter_that_goes_backwards_or_away_is_a_missing_cell_and_no_zero(tmp_path):
    box = Container(tmp_path)
    with opened("cgroup:leaf=false", box.root) as probe:
        probe.before()
        box.cpu(box.own, 1, 21, 51_000)
        box.write(f"{box.own}/pids.events", "")
        probe.after()
        values = probe.values()
        assert "cgroup.periods" not in values and "cgroup.pids_max" not in values
        assert values["cgroup.throttled"] == 1.0


def test_in_a_container_that_sees_only_its_own_group_that_one_is_read(tmp_path):
    box = Container(tmp_path)
    box.write("proc/self/cgroup", "0::/docker/0123456789\n")
    box.cpu("sys/fs/cgroup", 10, 2, 5000)
    with opened("cgroup:leaf=false", box.root) as probe:
        probe.before()
        box.cpu("sys/fs/cgroup", 20, 3, 6000)
        probe.after()
        assert probe.values()["cgroup.throttled_us"] == 1000.0
