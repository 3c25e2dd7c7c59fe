"""The layers `syscalls` and `strace` count what a program calls, exactly."""

import os
import shutil
import sys

import pytest

from vgo_agent.layers.loader import find_layer, open_probe
from vgo_agent.layers.probes.base import SpawnCommand
from vgo_agent.tools.execution.launch import Launch

CALL = "import os, sys\nfor _ in range(int(sys.argv[1])): os.getppid()"
NESTED = "import subprocess, sys\nsubprocess.run([sys.executable, '-S', '-c', *sys.argv[1:]])"
MISS = "import os\nfor _ in range(37):\n    try: os.open('/nowhere', 0)\n    except OSError: pass"


@pytest.fixture(scope="module")
def syscalls():
    probe = open_probe(find_layer("syscalls"))
    yield probe
    probe.close()


@pytest.fixture
def strace():
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed: apt install strace")
    probe = open_probe(find_layer("strace"))
    yield probe
    probe.close()


def run(spawner, probe, *argv):
    wrapped = probe.wrap(SpawnCommand((sys.executable, "-S", "-c", *argv), dict(os.environ)))
    done = spawner.run(Launch(wrapped.argv, wrapped.environment), [probe])
    if done.exit_code and b"ptrace" in done.error.lower():
        pytest.skip("strace may not trace here: --cap-add SYS_PTRACE")
    assert done.exit_code == 0, done.error
    return done.counters


def test_calls_are_counted_exactly_in_the_kernel(spawner, syscalls):
    if "syscalls.all" in syscalls.absent():
        pytest.skip(syscalls.absent()["syscalls.all"])
    few, many = (run(spawner, syscalls, CALL, str(count))["syscalls.all"] for count in (1000, 3000))
    assert many - few == pytest.approx(2000, abs=20)  # An allocation more or less.


def test_the_calls_of_children_are_counted(spawner, syscalls):
    if "syscalls.all" in syscalls.absent():
        pytest.skip(syscalls.absent()["syscalls.all"])
    assert run(spawner, syscalls, NESTED, CALL, "5000")["syscalls.all"] >= 5000


def test_calls_are_counted_by_kind(spawner, syscalls):
    if "syscalls.openat" in syscalls.absent():
        pytest.skip(syscalls.absent()["syscalls.openat"])
    quiet, missing = (run(spawner, syscalls, code) for code in ("0", MISS))
    assert missing["syscalls.openat"] - quiet["syscalls.openat"] == 37
    assert missing["syscalls.write"] == quiet["syscalls.write"]


def test_time_that_a_parent_waits_for_its_children_is_a_consequence_and_so_is_the_sum_that_holds_it(spawner, strace):
    counters = run(spawner, strace, "import os, time\nif os.fork(): os.wait()\nelse: time.sleep(0.1)")
    assert counters["strace.seconds"] > counters["strace.wait4.seconds"] > 0
    assert counters["strace.waitid.seconds"] == 0
    roles = {column.name: column.role for column in find_layer("strace").columns}
    roles |= {name: roles["strace.*.seconds"] for name in ("strace.futex.seconds",) if name not in roles}
    assert [roles[f"strace.{name}"] for name in ("seconds", "wait4.seconds", "futex.seconds")] == [
        *("consequence", "consequence", "factor")
    ]


def test_strace_counts_every_kind_exactly(spawner, strace):
    counters = run(spawner, strace, CALL, "123")
    assert counters["strace.getppid.calls"] == 123
    assert "strace.getppid.errors" not in counters
    assert counters["strace.sched_yield.calls"] == 0
    assert counters["strace.getppid.seconds"] > 0
    kinds = [value for name, value in counters.items() if name.startswith("strace.") and name[7:].endswith(".calls")]
    assert counters["strace.calls"] == sum(kinds)
    assert "strace.total.calls" not in counters


def test_strace_counts_errors_and_follows_children(spawner, strace):
    quiet, missing = (run(spawner, strace, NESTED, code) for code in ("0", MISS))
    assert missing["strace.openat.calls"] - quiet["strace.openat.calls"] == 37
    assert missing["strace.openat.errors"] - quiet["strace.openat.errors"] == 37
    assert missing["strace.errors"] - quiet["strace.errors"] == 37


def test_strace_is_flagged_as_heavy_and_says_that_it_distorts():
    layer = find_layer("strace")
    assert layer.heavy
    assert "distorts" in layer.description
    assert not find_layer("syscalls").heavy
