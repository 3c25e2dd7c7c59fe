"""The layer `delays` counts what all tasks of a run waited for, and no task of anybody else."""

import fcntl
import math
import os
import random
import struct
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.layers.loader import find_layer, open_probe
from vgo_agent.layers.probes import netlink, taskstats
from vgo_agent.tools.execution.launch import Launch

LAYER = find_layer("delays")
SWITCH = Path("/proc/sys/kernel/task_delayacct")
CPU = min(os.sched_getaffinity(0))
EACH_MS = 50
TEAM = 4
BURN_TOGETHER = f"""
import os, time
gate, start = os.pipe()
for _ in range({TEAM}):
    if os.fork() == 0:
        os.close(start)
        os.read(gate, 1)
        while time.process_time() < {EACH_MS / 1000}: pass
        os._exit(0)
os.close(start)
for _ in range({TEAM}): os.wait()
"""
LEAVE_AN_ORPHAN = """
import os, time
if os.fork() == 0:
    if os.fork() == 0:
        os.setsid()
        time.sleep(1000)
    os._exit(0)
os.wait()
"""
THREADS = """
import threading, time
threads = [threading.Thread(target=time.sleep, args=(0.01,)) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
fast = settings(derandomize=True, deadline=None)


@contextmanager
def switched(state):
    """Set the kernel's switch for delay accounting, put it back; other sessions of tests wait."""
    if not SWITCH.exists():
        pytest.skip("this kernel has no switch for delay accounting")
    with SWITCH.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        before = SWITCH.read_text()
        try:
            SWITCH.write_text(state)
        except OSError as error:
            pytest.skip(f"only root may switch delay accounting ({error.strerror})")
        try:
            yield
        finally:
            SWITCH.write_text(before)


@pytest.fixture
def accounting():
    with switched("1"):
        yield


@contextmanager
def opened(spec="delays"):
    probe = open_probe(find_layer(spec))
    try:
        if "taskstats was refused" in probe.absent().get("delay.tasks", ""):
            pytest.skip(probe.absent()["delay.tasks"])
        yield probe
    finally:
        probe.close()


@pytest.fixture
def probe(accounting):
    with opened() as found:
        yield found


def python(code, **conditions):
    return Launch((sys.executable, "-S", "-c", code), **conditions)


def test_what_is_declared_is_given_or_absent_with_a_reason(spawner, probe):
    given_ = {name for name in spawner.run(Launch(("/bin/true",)), [probe]).counters if name.startswith("delay.")}
    absent = probe.absent()
    assert {column.name for column in LAYER.columns} == given_ | set(absent)
    assert not given_ & set(absent)
    assert all(": " in reason for reason in absent.values())


def test_where_delays_are_not_counted_the_layer_is_absent_with_the_cure(spawner):
    with switched("0"), opened() as probe:
        counters = spawner.run(Launch(("/bin/true",)), [probe]).counters
        assert not [name for name in counters if name.startswith("delay.")]
        assert {reason.partition(": ")[2] for reason in probe.absent().values()} == {
            "sysctl -w kernel.task_delayacct=1"
        }


def test_processes_that_wait_for_one_cpu_are_counted_whole(spawner, probe):
    counters = spawner.run(python(BURN_TOGETHER, affinity=frozenset({CPU})), [probe]).counters
    # While each burns its share the others wait: 3 + 2 + 1 shares at the least, in whatever order they are served.
    least = EACH_MS * sum(range(TEAM))
    assert counters["delay.cpu_ms"] >= 0.8 * least
    assert counters["delay.tasks"] == TEAM + 1
    assert counters["delay.cpu_ms"] <= counters["delay.cpu_most_ms"] * (TEAM + 1)
    assert counters["delay.cpu_longest_ms"] <= counters["delay.cpu_most_ms"] <= counters["delay.cpu_ms"]
    assert counters["delay.cpu_count"] >= counters["delay.tasks"]


def test_a_hog_on_the_same_cpu_shows_as_waiting_for_it(spawner, probe):
    burn_here = f"import os\nos.sched_setaffinity(0, {{{CPU}}})\nwhile 1: pass"
    hog = subprocess.Popen([sys.executable, "-S", "-c", burn_here])
    try:
        while os.sched_getaffinity(hog.pid) != {CPU}:
            time.sleep(0.001)
        burn = "import time\nwhile time.process_time() < 0.1: pass"
        counters = spawner.run(python(burn, affinity=frozenset({CPU})), [probe]).counters
    finally:
        hog.kill()
        hog.wait()
    # Two that burn share the CPU; a session of its own may get the hog a little less.
    assert counters["delay.cpu_ms"] >= 30
    assert counters["delay.tasks"] == 1


def test_threads_are_counted(spawner, probe):
    counters = spawner.run(python(THREADS), [probe]).counters
    assert counters["delay.tasks"] == 4


def test_what_a_run_leaves_behind_is_counted_when_it_is_ended(spawner, probe):
    run = spawner.run(python(LEAVE_AN_ORPHAN), [probe])
    assert run.survivors == 1
    assert run.counters["delay.tasks"] == 3
    assert spawner.run(Launch(("/bin/true",)), [probe]).counters["delay.tasks"] == 1


def test_what_others_start_and_end_meanwhile_is_not_counted(spawner, probe):
    # On SIGTERM the shell first waits for the child that it has: killed, it would leave us an orphan to reap.
    storm = subprocess.Popen(["/bin/sh", "-c", "trap exit TERM; while :; do /bin/true; done"])
    try:
        counters = spawner.run(Launch(("/bin/sleep", "0.1")), [probe]).counters
    finally:
        storm.terminate()
        storm.wait()
    assert counters["delay.tasks"] == 1


def test_a_read_from_the_disk_is_a_wait_for_it(spawner, probe, cold_file):
    # Below a shell, whose main thread reads nothing; past the page cache, in which read-ahead may have it in time.
    read = Launch(("/bin/sh", "-c", f"dd if={cold_file} of=/dev/null bs=4k iflag=direct status=none; true"))
    runs = [spawner.run(read, [probe]).counters for _ in range(20)]
    assert all(run["delay.blkio_count"] > 0 for run in runs)
    # A first wait that Linux counts from its boot is no time: that was so in 0 to 23 of 100 runs.
    assert sum(run.get("delay.blkio_ms", 0) for run in runs) > 0


def test_records_that_do_not_fit_make_the_cells_missing_and_the_next_run_whole(spawner, accounting):
    with opened("delays:buffer_mib=0.01") as probe:
        crowd = Launch(("/bin/sh", "-c", "for i in $(seq 200); do /bin/true; done"))
        crowded = spawner.run(crowd, [probe]).counters
        assert not [name for name in crowded if name.startswith("delay.")]
        assert "buffer_mib" in probe.absent()["delay.cpu_ms"]
        assert spawner.run(Launch(("/bin/true",)), [probe]).counters["delay.tasks"] == 1
        assert "delay.cpu_ms" not in probe.absent()


def test_what_ended_between_two_runs_does_not_spoil_the_next(spawner, accounting):
    with opened("delays:buffer_mib=0.01") as probe:
        subprocess.run(["/bin/sh", "-c", "for i in $(seq 200); do /bin/true; done"], check=True)
        assert spawner.run(Launch(("/bin/true",)), [probe]).counters["delay.tasks"] == 1


def test_switching_the_accounting_off_in_mid_session_gives_no_zeros(spawner, probe):
    SWITCH.write_text("0")
    counters = spawner.run(Launch(("/bin/true",)), [probe]).counters
    assert not [name for name in counters if name.startswith("delay.")]
    assert "sysctl -w" in probe.absent()["delay.cpu_ms"]
    SWITCH.write_text("1")
    assert spawner.run(Launch(("/bin/true",)), [probe]).counters["delay.tasks"] == 1


def test_without_the_capability_the_layer_is_absent_with_the_cure(accounting):
    program = """
from vgo_agent.layers.loader import find_layer, open_probe
print(set(open_probe(find_layer("delays")).absent().values()))
"""
    done = subprocess.run(
        ["setpriv", "--bounding-set", "-net_admin", sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "CAP_NET_ADMIN" in done.stdout


def test_closing_gives_every_file_back(accounting):
    before = sorted(os.listdir("/proc/self/fd"))
    with opened():
        assert sorted(os.listdir("/proc/self/fd")) != before
    assert sorted(os.listdir("/proc/self/fd")) == before


def record(version, pid, parent, tgid, life_us=2**40, **delays):
    """Write a struct taskstats as the kernel of that version does; delays are (count, nanoseconds)."""
    raw = bytearray(700)
    struct.pack_into("=H", raw, 0, version)
    struct.pack_into("=II", raw, taskstats.PID, pid, parent)
    struct.pack_into("=Q", raw, taskstats.LIFE, life_us)
    if version >= taskstats.TGID_SINCE:
        struct.pack_into("=I", raw, taskstats.TGID, tgid)
    for name, pair in delays.items():
        struct.pack_into("=QQ", raw, taskstats.KINDS[name][1], *pair)
    return bytes(raw)


def message(*records):
    """Wrap records as the kernel does, with the sum over the process that follows the last of its tasks."""
    return b"".join(
        netlink.attribute(kind, netlink.attribute(1, struct.pack("=I", 7)) + netlink.attribute(taskstats.STATS, one))
        for one in records
        for kind in (taskstats.AGGREGATE_OF_TASK, 5)
    )


@fast
@given(st.integers(1, 17).filter(lambda version: version != 15), st.integers(0, 2**40), st.integers(0, 2**40))
def test_a_record_of_any_version_gives_what_it_has_and_nothing_else(version, count, spent):
    delays = {name: (count, spent) for name, (since, _) in taskstats.KINDS.items() if since <= version}
    tasks = list(taskstats.tasks_of(message(record(version, 7, 1, 7, **delays))))
    assert [(task.pid, task.tgid, task.parent) for task in tasks] == [(7, 7, 1)]
    values = taskstats.totals(tasks)
    assert {name[6:-3] for name in values if name.endswith("_ms")} - {"cpu_most", "cpu_longest"} == set(delays)
    assert all(values[f"delay.{name}_count"] == count and values[f"delay.{name}_ms"] == spent / 1e6 for name in delays)


def test_a_wait_that_is_longer_than_the_life_of_its_task_is_no_number():
    delays = {"cpu": (3, 2_000_000), "blkio": (2, 23_257_703_555_459)}
    whole = record(16, 8, 7, 8, life_us=300_000, cpu=(1, 1_000_000))
    values = taskstats.totals(list(taskstats.tasks_of(message(whole, record(16, 7, 1, 7, life_us=300_000, **delays)))))
    assert math.isnan(values["delay.blkio_ms"]) and values["delay.blkio_count"] == 2
    assert (values["delay.cpu_count"], values["delay.cpu_ms"]) == (4, 3)


@fast
@given(st.lists(st.integers(0, 30), max_size=30), st.randoms(use_true_random=False))
def test_a_tree_is_found_in_whatever_order_its_tasks_ended(parents, chance: random.Random):
    # Process 100 + n + 1 was started by process 100 + parents[n], an earlier one; the run is 101, started by 100.
    pairs = [(100 + n + 1, 100 + min(parent, n)) for n, parent in enumerate(parents)]
    strangers = [(900 + n, 800) for n in range(5)]
    tasks = [taskstats.EndedTask(pid, pid, parent, 16, b"") for pid, parent in pairs + strangers]
    chance.shuffle(tasks)
    assert {task.pid for task in taskstats.tree(tasks, 101, 100)} == {pid for pid, _ in pairs}


@fast
@given(st.lists(st.tuples(st.integers(0, 1000), st.binary(max_size=40))))
def test_attributes_are_read_as_they_were_written(pairs):
    assert list(netlink.attributes_of(b"".join(netlink.attribute(*pair) for pair in pairs))) == pairs
