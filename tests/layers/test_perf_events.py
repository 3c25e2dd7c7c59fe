"""What perf_event_open counts of real programs, and what is said where it counts nothing."""

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.layers.loader import find_layer, open_probe
from vgo_agent.layers.probes import perf_open
from vgo_agent.layers.probes.perf_counters import CountGrowth, total
from vgo_agent.layers.probes.perf_events import PerfEvents
from vgo_agent.layers.schema import Column
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.execution.spawn import Spawner

from .tracing import root_with_tracefs

REAL = Path("/")
MEGABYTES = 16
PAGES = (MEGABYTES << 20) // os.sysconf("SC_PAGESIZE")
# Mapped, for what the allocator frees in one thread it may give to the next without a fault.
TOUCH = f"__import__('mmap').mmap(-1, {MEGABYTES} << 20)[:: {os.sysconf('SC_PAGESIZE')}] = bytes({PAGES})"
NAPS = 40
SEEN = NAPS // 2  # at the least: a timer may fire before its sleeper has left the CPU
NAP = f"import time\nfor _ in range({NAPS}): time.sleep(1e-4)"
ON_THREADS = """
import threading, time
def work(): {}
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
ON_PROCESSES = """
import os, time
for _ in range(3):
    if os.fork() == 0:
        {}
        os._exit(0)
for _ in range(3): os.wait()
"""
law = settings(derandomize=True, deadline=None)


@pytest.fixture(scope="module")
def spawner():
    with Spawner() as opened:
        yield opened


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    with root_with_tracefs(tmp_path_factory.mktemp("root")) as root:
        yield root


def counted(spawner, events, code, root=REAL, **conditions):
    """Run Python code with the events on; the values in the order of the events."""
    probe = PerfEvents([Column(name=f"e{n}", description="", unit="", read=e) for n, e in enumerate(events)], root)
    try:
        if probe.absent():
            pytest.skip(next(iter(probe.absent().values())))
        run = spawner.run(Launch((sys.executable, "-S", "-c", code), **conditions), [probe])
        return [run.counters[f"e{number}"] for number in range(len(events))]
    finally:
        probe.close()


@pytest.mark.parametrize("shape", [ON_THREADS, ON_PROCESSES], ids=["threads", "processes"])
def test_a_program_of_several_threads_or_processes_is_counted_whole(spawner, shape):
    (idle,) = counted(spawner, ["page-faults"], shape.format("0"), thp_disable=True)
    (busy,) = counted(spawner, ["page-faults"], shape.format(TOUCH), thp_disable=True)
    assert busy - idle >= 0.9 * 3 * PAGES


@pytest.mark.parametrize("shape", [ON_THREADS, ON_PROCESSES], ids=["threads", "processes"])
def test_every_nap_of_every_thread_is_a_context_switch(spawner, shape):
    naps = f"[time.sleep(1e-4) for _ in range({NAPS})]"
    (switches,) = counted(spawner, ["context-switches"], shape.format(naps))
    assert switches >= 3 * SEEN


def test_an_event_of_the_kernel_and_the_tracepoint_at_the_same_place_count_alike(spawner, traced):
    switches, traced_switches = counted(spawner, ["context-switches", "sched:sched_switch"], NAP, traced)
    assert switches == traced_switches >= SEEN


def test_filters_take_a_tracepoint_apart(spawner, traced):
    at = "sched:sched_switch"
    every, ready, waiting = counted(
        spawner, [at, f"{at} if !(prev_state & 255)", f"{at} if prev_state & 255"], NAP, traced
    )
    assert every == ready + waiting
    assert waiting >= SEEN


def test_the_layer_tracepoints_counts_every_process_that_a_shell_starts(spawner, traced):
    layer = find_layer("tracepoints")
    probe = open_probe(layer, traced)
    try:
        run = spawner.run(Launch(("/bin/sh", "-c", "for i in 1 2 3 4 5 6 7; do /bin/true; done")), [probe])
        there = {column.name for column in layer.columns} - set(probe.absent())
        assert there == set(probe.values())
        if "trace.forks" in probe.absent():
            pytest.skip(probe.absent()["trace.forks"])
        assert run.counters["trace.forks"] == 7
        if "trace.user_faults" in there:
            assert run.counters["trace.user_faults"] > 7
    finally:
        probe.close()


def test_on_the_whole_machine_at_least_as_much_happens_as_in_the_run(spawner):
    columns = [
        Column(name=scope, description="", unit="", read="context-switches", scope=scope)
        for scope in ("run", "machine")
    ]
    probe = PerfEvents(columns, REAL)
    counters = spawner.run(Launch((sys.executable, "-S", "-c", NAP)), [probe]).counters
    probe.close()
    if probe.absent():
        pytest.skip(str(probe.absent()))
    assert counters["machine"] >= counters["run"] >= SEEN


def test_events_of_the_machine_share_a_group_on_each_cpu_and_none_is_mixed_up(spawner, traced):
    # A tracepoint last: on Linux 6.18 one that joins a running group of another kind counts nothing.
    names = ["context-switches", "sched:sched_switch", "page-faults", "sched:sched_process_fork"]
    probe = PerfEvents(
        [Column(name=f"e{i}", description="", unit="", read=n, scope="machine") for i, n in enumerate(names)], traced
    )
    try:
        if probe.absent():
            pytest.skip(next(iter(probe.absent().values())))
        script = "for i in 1 2 3 4 5 6 7; do /bin/true; done"
        counters = spawner.run(Launch(("/bin/sh", "-c", script)), [probe]).counters
    finally:
        probe.close()
    switches, traced_switches, faults, forks = (counters[f"e{i}"] for i in range(4))
    # The two are neither read in the same instant nor counted in the same place of the kernel's scheduler, so on a busy
    # machine they differ; one that joined its group too early would be 0.
    assert min(switches, traced_switches) >= forks >= 8
    assert faults > forks


def test_a_pmu_of_sysfs_counts_time_stamps_of_the_processor(spawner):
    burn = "import time\nwhile time.process_time() < {}: pass"
    short, long = (counted(spawner, ["msr/tsc/", "task-clock"], burn.format(s)) for s in (0.05, 0.2))
    assert long[0] > 2 * short[0] > 0
    # The same clock rate in both: ticks for each nanosecond on a CPU.
    assert long[0] / long[1] == pytest.approx(short[0] / short[1], rel=0.2)


def test_a_ratio_of_two_events_is_the_ratio_of_their_counts(spawner):
    faults, minor, ratio = counted(spawner, ["page-faults", "minor-faults", "minor-faults / page-faults"], TOUCH)
    assert ratio == minor / faults


def test_a_ratio_over_nothing_is_missing(spawner):
    columns = [Column(name="ratio", description="", unit="", read="minor-faults / dummy")]
    probe = PerfEvents(columns, REAL)
    counters = spawner.run(Launch(("/bin/true",)), [probe]).counters
    probe.close()
    assert "ratio" not in counters


def test_user_mode_alone_is_a_part_of_the_whole(spawner):
    user, kernel, both = counted(spawner, ["minor-faults:u", "minor-faults:k", "minor-faults"], TOUCH)
    assert both == user + kernel
    assert 0 < user < both


def test_a_tracepoint_counts_for_runs_of_whichever_thread_starts_them(spawner, traced):
    probe = PerfEvents([Column(name="forks", description="", unit="", read="sched:sched_process_fork")], traced)
    seen = []

    def run():
        seen.append(spawner.run(Launch(("/bin/sh", "-c", "/bin/true; :")), [probe]).counters["forks"])

    try:
        run()
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        run()
    finally:
        probe.close()
    assert seen == [1, 1, 1]


def test_a_helper_started_aside_is_not_counted(spawner, tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    # The helper works while the run is on: it waits for the run to open the pipe, and the run for it to end.
    helper = [sys.executable, "-S", "-c", f"file = open({str(fifo)!r}, 'w')\n{TOUCH}"]
    probe = PerfEvents([Column(name="faults", description="", unit="", read="page-faults")], REAL)
    if probe.absent():
        pytest.skip(probe.absent()["faults"])
    seen = []
    for start in (subprocess.Popen, perf_open.popen):
        helping = start(helper)
        seen.append(spawner.run(Launch(("/bin/cat", str(fifo))), [probe]).counters["faults"])
        helping.wait()
    probe.close()
    ordinary, beside = seen
    assert ordinary >= 0.9 * PAGES > PAGES / 2 > beside


def test_closing_gives_every_file_back_however_often(traced):
    before = sorted(os.listdir("/proc/self/fd"))
    for spec, root in [("perf:events=all,more=msr/tsc/+page-faults", REAL)] * 20 + [("tracepoints", traced)]:
        probe = open_probe(find_layer(spec), root)
        assert sorted(os.listdir("/proc/self/fd")) != before
        probe.close()
        assert sorted(os.listdir("/proc/self/fd")) == before


# What is absent, and why.


def absence(read, root=REAL):
    probe = PerfEvents([Column(name="it", description="", unit="", read=read)], root)
    probe.close()
    return probe.absent().get("it", "")


def test_a_column_that_was_not_asked_for_says_how_to_ask_or_that_there_is_nothing_to_ask(tmp_path):
    real = open_probe(find_layer("perf:events=page-faults"))
    real.close()
    folder = tmp_path / "sys/bus/event_source/devices/cpu"
    folder.mkdir(parents=True)
    (folder / "type").write_text("4\n")
    there = open_probe(find_layer("perf:events=page-faults"), tmp_path)
    there.close()
    assert "--layer perf:more=llc_loads" in there.absent()["perf.llc_loads"]
    without_pmu = not any(
        (Path("/sys/bus/event_source/devices") / n).exists() for n in ("cpu", "cpu_core", "armv8_pmuv3_0")
    )
    assert ("no hardware counters" in real.absent()["perf.llc_loads"]) == without_pmu


def test_without_a_pmu_hardware_events_are_absent_and_never_zero(spawner, tmp_path):
    (tmp_path / "sys/bus/event_source/devices").mkdir(parents=True)
    probe = open_probe(find_layer("perf"), tmp_path)
    counters = spawner.run(Launch(("/bin/true",)), [probe]).counters
    probe.close()
    for name in probe.absent():
        assert name not in counters
    for name in {"perf.cycles", "perf.ghz"} - set(counters):
        assert "no hardware counters" in probe.absent()[name]


def test_an_event_asked_for_by_name_becomes_a_column_beside_the_known_ones(spawner):
    layer = find_layer("perf:events=page-faults+msr/event=0;/,more=minor-faults:u")
    probe = open_probe(layer)
    counters = spawner.run(Launch(("/bin/true",)), [probe]).counters
    probe.close()
    assert counters["event.page-faults"] >= counters["event.minor-faults_u"] > 0
    assert all(layer.column(name) for name in probe.values())
    assert "event.msr_event_0" in {**counters, **probe.absent()}


def test_tracepoints_without_tracefs_say_how_to_mount_it_and_are_not_mounted_silently(tmp_path):
    (tmp_path / "sys/kernel/tracing").mkdir(parents=True)
    assert "mount -t tracefs nodev /sys/kernel/tracing" in absence("sched:sched_switch", tmp_path)
    assert os.listdir(tmp_path / "sys/kernel/tracing") == []


def test_a_kernel_without_tracepoints_says_so(tmp_path):
    assert "CONFIG_FTRACE" in absence("sched:sched_switch", tmp_path)


def test_a_tracepoint_that_this_kernel_does_not_have_is_named(traced):
    assert "no tracepoint sched:sched_nonsense" in absence("sched:sched_nonsense", traced)


def test_tracefs_is_found_in_debugfs_too(tmp_path):
    place = tmp_path / "sys/kernel/debug/tracing/events/sched/sched_switch"
    place.mkdir(parents=True)
    (place / "id").write_text("999999\n")
    assert "perf_event_open was refused" in absence("sched:sched_switch", tmp_path)


def test_a_filter_that_the_kernel_does_not_understand_makes_the_column_absent(traced):
    assert "encoding" in absence("sched:sched_switch if nonsense == 1", traced)
    assert "takes no filter" in absence("page-faults if nonsense == 1")


def fake_pmu(root, kind):
    folder = root / "sys/bus/event_source/devices/odd"
    (folder / "format").mkdir(parents=True)
    (folder / "type").write_text(f"{kind}\n")
    (folder / "format/event").write_text("config:0-63\n")


@pytest.mark.parametrize(
    ("kind", "cure"),
    [(1, "no such event"), (5, "does not take this encoding"), (2_000_000, "no such event")],
    ids=["ENOENT", "EINVAL", "a PMU that is gone"],
)
def test_each_refusal_of_the_kernel_has_its_reason_and_cure(tmp_path, kind, cure):
    fake_pmu(tmp_path, kind)
    said = absence("odd/event=0x7777/", tmp_path)
    assert "perf_event_open was refused" in said and cure in said


def test_too_many_open_files_cost_the_columns_that_did_not_fit_and_nothing_else():
    program = """
import os, resource
from pathlib import Path
from vgo_agent.layers.probes.perf_events import PerfEvents
from vgo_agent.layers.schema import Column
names = ["page-faults", "minor-faults", "major-faults", "context-switches"]
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
probe = PerfEvents([Column(name="all", description="", unit="", read="page-faults")], Path("/"))
probe.close()
resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))) + 3, hard))
probe = PerfEvents([Column(name=f"e{n}", description="", unit="", read=e) for n, e in enumerate(names)], Path("/"))
probe.before(); os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0); probe.after()
print(sorted(probe.values()), sorted(probe.absent()), set(probe.absent().values()))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    if "paranoid" in done.stdout:
        pytest.skip(done.stdout)
    assert done.stdout.startswith("['e0'") and "'e3'" in done.stdout.partition("]")[2]
    assert "ulimit -n" in done.stdout


def test_a_user_who_may_not_count_hears_of_paranoid_and_of_the_capability():
    if Path("/proc/sys/kernel/perf_event_paranoid").read_text().strip() in ("-1", "0", "1"):
        pytest.skip("perf is open to everyone here")
    program = """
from pathlib import Path
from vgo_agent.layers.probes.perf_events import PerfEvents
from vgo_agent.layers.schema import Column
events = {"software": "page-faults", "other": "msr/tsc/"}
probe = PerfEvents([Column(name=n, description="", unit="", read=e) for n, e in events.items()], Path("/"))
probe.before(); probe.after()
print(dict(probe.values()), probe.absent()["software"])
print(probe.absent()["other"])
"""
    loser = ["setpriv", "--bounding-set", "-perfmon,-sys_admin"] if os.geteuid() == 0 else []
    done = subprocess.run([*loser, sys.executable, "-c", program], capture_output=True, text=True, check=True)
    software, other = done.stdout.splitlines()
    assert software.startswith("{} ")
    for said in (software, other) if Path("/sys/bus/event_source/devices/msr").exists() else (software,):
        assert "perf_event_paranoid is" in said and "CAP_PERFMON" in said


# Scaling.


def added(*parts: CountGrowth, together: bool = True) -> Any:
    return total(parts, together=together)


parts = st.builds(
    lambda value, running, more: CountGrowth(value, running + more, running),
    st.integers(0, 1 << 40),
    st.integers(1, 1 << 40),
    st.integers(0, 1 << 40),
)


@law
@given(parts)
def test_a_count_is_scaled_by_the_time_that_it_missed_and_whole_counts_stay_exact(part):
    count = added(part)
    assert count.value == pytest.approx(part.value * part.enabled / part.running)
    assert count.share == part.running / part.enabled
    if part.running == part.enabled:
        assert count.value == part.value


@law
@given(parts, st.integers(1, 1000))
def test_scaling_does_not_depend_on_the_unit_of_time(part, factor):
    longer = CountGrowth(part.value, part.enabled * factor, part.running * factor)
    assert added(part) == pytest.approx(added(longer))


@law
@given(parts, parts)
def test_counts_on_cpus_add_up_each_scaled_by_itself(one, other):
    both = added(one, other, together=False)
    alone = [added(part, together=False) for part in (one, other)]
    assert both.value == pytest.approx(sum(count.value for count in alone))
    assert both.share == min(count.share for count in alone)


@law
@given(st.integers(0, 1 << 40), st.integers(0, 1 << 40), st.integers(1, 1 << 40), st.integers(1, 1 << 40))
def test_a_run_that_moves_between_unlike_cores_is_not_scaled_by_the_time_on_the_other(here, there, long, short):
    enabled = long + short
    count = added(CountGrowth(here, enabled, long), CountGrowth(there, enabled, short))
    assert count == (here + there, 1.0)


@law
@given(parts, st.booleans())
def test_an_event_that_never_ran_has_no_value_and_not_zero(part, together):
    never = CountGrowth(0, part.enabled, 0)
    assert added(never, together=together) == (None, 0.0)
    assert added(CountGrowth(0, 0, 0), together=together) is None


@law
@given(parts, st.sampled_from(["value", "enabled", "running"]))
def test_a_number_that_fell_makes_the_cell_missing(part, field):
    assert added(part._replace(**{field: -1})) is None
