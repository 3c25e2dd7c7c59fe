"""The layer `process` sees what a run really did."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from vgo_agent.layers.loader import find_layer, open_probe
from vgo_agent.layers.probes.machine import CounterFile, MachineFile, parse_vmstat
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.execution.spawn import RUSAGE

LAYER = find_layer("process")
MEGABYTES = 64
TOUCH = f"b = bytearray({MEGABYTES} << 20)"
HOPS = 300
HOP = f"""
import os
cpus = sorted(os.sched_getaffinity(0))
for turn in range({HOPS}):
    os.sched_setaffinity(0, {{cpus[turn % 2]}})
"""
PAGES = (MEGABYTES << 20) // os.sysconf("SC_PAGESIZE")
two_cpus = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="a process needs two CPUs to hop between")


@pytest.fixture
def probe():
    opened = open_probe(LAYER)
    yield opened
    opened.close()


def needs(probe, *columns):
    missing = {column: probe.absent()[column] for column in columns if column in probe.absent()}
    if missing:
        pytest.skip(str(missing))


def python(code, **conditions):
    return Launch((sys.executable, "-S", "-c", code), **conditions)


def in_a_shell(code):
    """Run Python as a child of a shell that waits for it, as a bench.sh does."""
    return Launch(("/bin/sh", "-c", '"$0" -S -c "$1"; true', sys.executable, code), thp_disable=True)


def test_what_is_declared_is_what_is_given(spawner, probe):
    given = set(spawner.run(Launch(("/bin/true",)), [probe]).counters)
    declared = {column.name for column in LAYER.columns}
    assert given <= declared
    assert declared - set(probe.absent()) == given | {"max_rss_kb"}  # which is missing of a program as small as this
    assert set(RUSAGE) <= given | {"max_rss_kb"}


def test_what_is_absent_has_a_reason(probe):
    assert all(len(reason) > 20 for reason in probe.absent().values())


def test_nothing_goes_backwards(spawner, probe):
    for _ in range(3):
        counters = spawner.run(Launch(("/bin/true",)), [probe]).counters
        # Steal, iowait and idle are corrected by the kernel and may fall a little.
        loose = {"cpu.idle", "cpu.iowait", "cpu.steal"}
        assert [name for name, value in counters.items() if value < 0 and name not in loose] == []


def test_page_faults_are_seen(spawner, probe):
    quiet = spawner.run(python("0", thp_disable=True), [probe]).counters
    faulty = spawner.run(python(TOUCH, thp_disable=True), [probe]).counters
    for column in {"minor_faults", "perf.minor_faults"} - set(probe.absent()):
        assert faulty[column] >= quiet[column] + 0.9 * PAGES, column
    # The whole machine's: what others fault during the quiet run says nothing.
    assert faulty.get("vm.pgfault", PAGES) >= faulty["minor_faults"] * 0.9


@two_cpus
def test_cpu_hops_are_seen(spawner, probe):
    needs(probe, "migrations")
    assert spawner.run(python(HOP), [probe]).counters["migrations"] >= HOPS / 2
    pinned = python("0", affinity=frozenset({min(os.sched_getaffinity(0))}))
    assert spawner.run(pinned, [probe]).counters["migrations"] <= 1


@two_cpus
def test_perf_counts_the_grandchild_of_a_shell_script(spawner, probe):
    needs(probe, *(column.name for column in LAYER.columns if column.name.startswith("perf.")))
    counters = spawner.run(in_a_shell(HOP + TOUCH), [probe]).counters
    assert counters["perf.migrations"] >= HOPS / 2 > counters["migrations"]
    assert counters["perf.context_switches"] >= HOPS / 2 > counters["switches"]
    assert counters["perf.minor_faults"] >= 0.9 * PAGES


def test_a_program_with_threads_is_counted_whole(spawner, probe):
    needs(probe, "on_cpu_ms", "perf.minor_faults")
    work = f"""
import threading, time
def work():
    b = bytearray({MEGABYTES // 4} << 20)
    while time.thread_time() < 0.05: pass
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
    counters = spawner.run(python(work, thp_disable=True), [probe]).counters
    used_ms = (counters["user_s"] + counters["system_s"]) * 1e3
    assert used_ms >= counters["on_cpu_ms"] + 0.9 * 200, "the threads' own 50 ms each, however long the start takes"
    assert min(counters["minor_faults"], counters["perf.minor_faults"]) >= 0.9 * PAGES
    assert counters["perf.context_switches"] > counters["switches"]


def test_perf_counts_every_run_alike_and_nothing_of_the_harness(spawner, probe):
    needs(probe, "perf.minor_faults")
    seen = []
    for _ in range(30):
        counters = spawner.run(Launch(("/bin/true",)), [probe]).counters
        ours = [bytearray(1 << 20) for _ in range(30)]  # Faults of our own, between the runs.
        assert len(ours) == 30
        seen.append(counters["perf.minor_faults"])
    # A few pages more or less come from random addresses.
    assert min(seen) > 0
    assert max(seen) <= min(seen) + 20


def test_perf_does_not_count_what_the_harness_does_during_a_run(spawner, probe):
    needs(probe, "perf.minor_faults")
    calm = spawner.run(Launch(("/bin/true",)), [probe]).counters["perf.minor_faults"]
    busy = spawner.run(Launch(("/bin/true",)), [probe], on_started=lambda pid: bytearray(MEGABYTES << 20))
    assert busy.counters["perf.minor_faults"] <= calm + 20


def test_perf_counts_runs_of_another_thread(spawner, probe):
    needs(probe, "perf.minor_faults")
    seen = []
    for _ in range(2):
        thread = threading.Thread(target=lambda: seen.append(spawner.run(Launch(("/bin/true",)), [probe]).counters))
        thread.start()
        thread.join()
    assert [counters["perf.minor_faults"] > 0 for counters in seen] == [True, True]


def test_a_survivor_does_not_count_for_the_next_run(spawner, probe):
    needs(probe, "perf.minor_faults")
    leaves = f"{sys.executable} -S -c '{TOUCH}; import time; time.sleep(1000)' & exit"
    spawner.run(Launch(("/bin/sh", "-c", leaves)), [probe])
    after = spawner.run(Launch(("/bin/true",)), [probe]).counters
    assert after["perf.minor_faults"] < PAGES / 10


def test_reading_from_the_disk_is_seen_and_reading_from_the_page_cache_is_not(spawner, probe, cold_file):
    needs(probe, "read_bytes", "read_chars")
    size = cold_file.stat().st_size
    # A shell between, because the bytes of a child count once it was waited for.
    read = Launch(("/bin/sh", "-c", f"cat {cold_file} > /dev/null; true"))
    cold, warm = (spawner.run(read, [probe]).counters for _ in range(2))
    assert cold["read_bytes"] >= size > warm["read_bytes"]
    assert min(cold["read_chars"], warm["read_chars"]) >= size
    assert cold["blocks_in"] >= size / 512


def test_writing_is_seen(spawner, probe, tmp_path):
    needs(probe, "write_chars", "write_calls")
    write = python(
        f"import os\nf = os.open({str(tmp_path / 'out')!r}, 65)\nfor _ in range(100): os.write(f, bytes(1000))"
    )
    counters = spawner.run(write, [probe]).counters
    assert counters["write_chars"] >= 100_000
    assert counters["write_calls"] >= 100


def test_time_on_a_cpu_is_what_the_program_used(spawner, probe):
    needs(probe, "on_cpu_ms", "run_delay_ms")
    burn = "import time\nwhile time.process_time() < 0.1: pass"
    run = spawner.run(python(burn), [probe])
    assert run.counters["on_cpu_ms"] + 1 >= 100
    assert run.counters["on_cpu_ms"] + run.counters["run_delay_ms"] <= run.wall_ns / 1e6 + 1


def test_the_last_cpu_is_the_one_it_was_pinned_to(spawner, probe):
    cpu = max(os.sched_getaffinity(0))
    run = spawner.run(Launch(("/bin/true",), affinity=frozenset({cpu})), [probe])
    assert run.counters["last_cpu"] == cpu


def test_started_processes_are_counted(spawner, probe):
    counters = spawner.run(Launch(("/bin/sh", "-c", "for i in 1 2 3 4 5; do /bin/true; done")), [probe]).counters
    assert counters["stat.processes"] >= 6


def test_what_only_grows_with_time_is_declared_a_consequence():
    roles = {column.name: column.role for column in LAYER.columns}
    for name in (
        "on_cpu_ms",
        "user_s",
        "system_s",
        "cpu.user",
        "cpu.idle",
        "irq.LOC",
        "softirq.RCU",
        "psi.cpu_some_us",
    ):
        assert roles[name] == "consequence"
    for name in ("minor_faults", "migrations", "run_delay_ms", "cpu.steal", "irq.RES", "vm.thp_fault_alloc"):
        assert roles[name] == "factor"
    assert roles["last_cpu"] == "setting"


def test_a_file_that_is_not_there_makes_its_columns_absent_and_not_zero(tmp_path):
    gone = CounterFile(
        MachineFile(str(tmp_path / "pressure"), ("vm.",), parse_vmstat, "boot with psi=1"), ["vm.pgfault", "x"]
    )
    gone.before()
    gone.after()
    assert gone.values() == {}
    assert list(gone.absent()) == ["vm.pgfault"]
    assert "No such file" in gone.absent()["vm.pgfault"]
    assert "boot with psi=1" in gone.absent()["vm.pgfault"]
    gone.close()


def test_a_counter_that_the_kernel_does_not_have_is_absent_and_the_others_are_read(tmp_path):
    file = tmp_path / "vmstat"
    file.write_text("pgfault 5\npgfree 7\n")
    part = CounterFile(MachineFile(str(file), ("vm.",), parse_vmstat), ["vm.pgfault", "vm.pgfree", "vm.pgmagic"])
    part.before()
    file.write_text("pgfault 8\npgfree 7\n")
    part.after()
    assert part.values() == {"vm.pgfault": 3.0, "vm.pgfree": 0.0}
    assert list(part.absent()) == ["vm.pgmagic"]
    part.close()


def test_where_perf_is_forbidden_its_columns_are_absent_with_the_cure():
    if Path("/proc/sys/kernel/perf_event_paranoid").read_text().strip() in ("-1", "0", "1"):
        pytest.skip("perf is open to everyone here")
    program = """
from vgo_agent.layers.loader import find_layer, open_probe
probe = open_probe(find_layer("process"))
probe.before(); probe.after()
print(sorted(name for name in probe.absent() if name.startswith("perf.")))
print(probe.absent()["perf.migrations"])
print(any(name.startswith("perf.") for name in probe.values()))
"""
    loser = ["setpriv", "--bounding-set", "-perfmon,-sys_admin"] if os.geteuid() == 0 else []
    done = subprocess.run([*loser, sys.executable, "-c", program], capture_output=True, text=True, check=True)
    names, reason, given = done.stdout.splitlines()
    assert names == "['perf.context_switches', 'perf.major_faults', 'perf.migrations', 'perf.minor_faults']"
    assert "perf_event_paranoid is" in reason and "run as root or sysctl -w" in reason
    assert given == "False"


def test_closing_gives_every_file_back():
    before = sorted(os.listdir("/proc/self/fd"))
    probe = open_probe(LAYER)
    assert sorted(os.listdir("/proc/self/fd")) != before
    probe.close()
    assert sorted(os.listdir("/proc/self/fd")) == before
