"""The part of a run that its metric measures is found by marks or by readings of a clock, or told not to be found."""

import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack, suppress

import pytest

from vgo_agent.layers.probes.base import SpawnCommand
from vgo_agent.layers.probes.opened import OpenedRun
from vgo_agent.layers.probes.region import between_readings
from vgo_agent.layers.probes.sched_events import CPU_READING, READING, WRITTEN, SchedTrace
from vgo_agent.layers.probes.sched_trace import ARGUMENT
from vgo_agent.layers.probes.timeline import Timelines
from vgo_agent.layers.schema import Value
from vgo_agent.tools.execution.launch import Launch


def timed(opened, *argv: str):
    """Open the probe of a metric that times a part; give it and how the program is started."""
    probe = opened("stacks")
    probe.has_metric = probe.times_part = True
    return probe, probe.wrap(SpawnCommand(argv, dict(os.environ)))


def run_of(spawner, probe, command) -> tuple[list[float], Mapping[str, Value]]:
    """Run once; give the numbers that were printed, the first a time in ns, and what the time went to, in ms."""
    run = spawner.run(Launch(command.argv, environment=command.environment), [probe], capture=True, timeout_s=60)
    assert run.exit_code == 0, run.error
    printed = [float(word) for word in run.output.split()]
    return printed, probe.split(printed[0])


def ms(values: Mapping[str, Value]) -> dict[str, float]:
    """Milliseconds in each state that the time was in."""
    return {name[7:-3]: float(value) for name, value in values.items() if name.endswith("_ms") and value}


TIMED = """
import os, time
sum(range(10**5))
start = time.perf_counter()
time.sleep(.03)
print(f"{1e9 * (time.perf_counter() - start):.0f}")
time.sleep(.02)
"""


def test_the_part_that_a_metric_measures_is_found_by_the_readings_of_the_clock(spawner, opened):
    probe, command = timed(opened, sys.executable, "-S", "-c", TIMED)
    found = []
    for _ in range(8):  # a run that loses its CPU just when it reads the clock is found by its output, or not
        (took_ns,), values = run_of(spawner, probe, command)
        if values["stacks.region"] == "clock":
            assert sum(ms(values).values()) == pytest.approx(took_ns / 1e6, abs=0.3)
            found.append(29 <= ms(values).get("sleep", 0) < took_ns / 1e6)
    if not found:
        pytest.skip("others took the CPU from every run while it read the clock")
    assert sum(found) > len(found) / 2, "it is the sleep before the output, not that after it"


READS_CPU_TIME = """
import time
for _ in range(%d): time.process_time()
"""


@pytest.mark.skipif(not ARGUMENT, reason="which clock is read is seen on x86-64 and ARM alone")
def test_readings_of_cpu_time_are_none_of_the_clock(spawner, opened):
    seen = []
    for count in (0, 300):
        probe, command = timed(opened, sys.executable, "-S", "-c", READS_CPU_TIME % count)
        spawner.run(Launch(command.argv, environment=command.environment), [probe], timeout_s=60)
        seen.append(probe._rings.read(probe._written).times)
    fewer, more = (len(times[READING]) for times in seen)
    if not fewer:
        pytest.skip("no reading of the clock is seen here")
    assert len(seen[1][CPU_READING]) >= 300 and more - fewer < 100


def test_readings_after_the_output_do_not_hide_the_pair_before_it():
    trace, length, start = SchedTrace(), 20_000_000, 10_000_000
    after = [start + length + 20_000 * one for one in range(5, 100)]
    trace.times[READING] = [(at, 1) for at in (start, start + length, *after)]
    assert between_readings(trace, Timelines(trace, 1), length) is None
    trace.times[WRITTEN] = [(after[0] - 1, 1)]
    found = between_readings(trace, Timelines(trace, 1), length)
    assert found is not None and (found.start, found.end) == (start, start + length)


def test_to_look_for_the_part_changes_nothing_of_the_programs_environment(opened):
    probe, command = timed(opened, "/bin/true")
    assert command.environment == dict(os.environ)


def test_where_no_more_files_may_be_open_the_part_is_looked_for_by_what_is(spawner, opened):
    probe = opened("stacks")
    probe.has_metric = probe.times_part = True
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with ExitStack() as undo:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))) + 3, hard))
        undo.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        with suppress(OSError):
            while True:
                undo.callback(os.close, os.open(os.devnull, os.O_RDONLY))
        command = probe.wrap(SpawnCommand(("/bin/echo", "1000000"), dict(os.environ)))
    _, values = run_of(spawner, probe, command)
    assert ms(values)


def test_what_stands_between_us_and_the_program_holds_nothing_up(spawner, opened, tmp_path):
    probe, command = timed(opened, sys.executable, "-S", "-c", TIMED)
    through = ("/bin/sh", "-c", '"$@"; exit $?', "sh", *command.argv)  # as a launcher or a tracer that forks
    elsewhere = [word.replace("/gate", "/not-here") for word in command.argv]  # as in a container
    for argv in (through, elsewhere, through, command.argv):
        run = spawner.run(Launch(tuple(argv), environment=command.environment), [probe], capture=True, timeout_s=60)
        took_ns = float(run.output)
        assert run.exit_code == 0 and not run.timed_out and probe.split(took_ns)["stacks.on_cpu_ms"]


def test_a_program_that_forks_and_fails_does_so_while_its_readings_of_the_clock_are_watched(spawner, opened):
    script = "for i in 1 2 3 4 5; do /bin/true || exit 7; done; date +%N > /dev/null; exit 3"
    probe, command = timed(opened, "/bin/sh", "-c", script)
    run = spawner.run(Launch(command.argv, environment=command.environment), [probe], capture=True)
    assert run.exit_code == 3


MARKING = """
import ctypes, time
def mark(text):
    with open("/proc/thread-self/comm", "w") as file: file.write(text)
def name(text): ctypes.CDLL(None).prctl(15, text.encode(), 0, 0, 0)
def now(): return time.clock_gettime_ns(time.CLOCK_MONOTONIC)
name("worker")
time.sleep(.01)
mark("vgo:begin"); mark("vgo:end")
outer = now(); %s("vgo:begin"); inner = now()
sum(range(10**5)); time.sleep(.02); sum(range(10**5))
ended = now(); %s("vgo:end"); print(ended - inner, now() - outer)
time.sleep(.01)
"""


@pytest.mark.parametrize("how", ["mark", "name"])
def test_the_part_between_the_last_marks_is_looked_at_and_a_mark_is_no_name(spawner, opened, how):
    probe, command = timed(opened, sys.executable, "-S", "-c", MARKING % (how, how))
    run_of(spawner, probe, command)  # to watch its clock as well may take too much of it
    (inner_ns, outer_ns), values = run_of(spawner, probe, command)
    assert values["stacks.region"] == "marks"
    assert inner_ns / 1e6 <= sum(ms(values).values()) <= outer_ns / 1e6 and ms(values)["sleep"] >= 20
    opened_run = str(values["stacks.opened"])
    parts = OpenedRun.read(opened_run).parts
    assert any(part.what.startswith("worker") for part in parts) and "vgo:" not in opened_run


def test_a_script_marks_what_its_children_do(spawner, opened):
    script = "sleep .01; echo vgo:begin > /proc/self/comm; sleep .02; echo vgo:end > /proc/self/comm; echo 20000000"
    probe, command = timed(opened, "/bin/sh", "-c", script)
    _, values = run_of(spawner, probe, command)
    assert values["stacks.region"] == "marks"
    assert 0 < ms(values)["sleep"] < 25 and sum(ms(values).values()) >= 20, "it may sleep while the shell has no CPU"


def test_marks_tell_the_part_of_a_metric_that_is_no_time_too(spawner, opened):
    probe = opened("stacks")
    probe.has_metric = True
    command = probe.wrap(SpawnCommand((sys.executable, "-S", "-c", MARKING % ("mark", "mark")), dict(os.environ)))
    spawner.run(Launch(command.argv, environment=command.environment), [probe], capture=True, timeout_s=60)
    values = probe.split(None)
    assert values["stacks.region"] == "marks" and sum(ms(values).values()) >= 20


def test_a_metric_that_is_longer_than_the_run_has_no_part(spawner, opened):
    probe, command = timed(opened, sys.executable, "-S", "-c", TIMED)
    spawner.run(Launch(command.argv, environment=command.environment), [probe], capture=True, timeout_s=60)
    assert probe.split(1e13)["stacks.region"] == "run: shorter than the metric says"


CPU_TIMES = {
    "of the process": ("process_time_ns", ""),
    "of a thread": ("thread_time_ns", "threading.Thread(target=sum, args=(range(10**5),)).start()"),
}
IN_CPU_TIME = """
import threading, time
time.sleep(.01)
start = time.%s()
%s
sum(range(3 * 10**5)); time.sleep(.02); sum(range(10**5))
end = time.%s()
time.sleep(.01); print(end - start)
"""
C_PROGRAM = """
#include <stdio.h>
#include <time.h>
#include <unistd.h>
int main(void) {
    volatile double sum = 0;
    usleep(10000);
    clock_t start = clock();
    for (int i = 0; i < 3000000; i++) sum += i;
    usleep(20000);
    clock_t end = clock();
    printf("%.0f\\n", 1e9 * (end - start) / CLOCKS_PER_SEC);
    return 0;
}
"""


def is_cpu_time(spawner, probe, command) -> None:
    """Check that a metric in CPU time is one of states on a CPU that add up to it."""
    off, printed, found = [], [], []
    for _ in range(8):
        (took_ns,), values = run_of(spawner, probe, command)
        found.append(values["stacks.region"] == "CPU clock")
        if found[-1]:
            assert list(ms(values)) == ["on_cpu"]
            off.append(abs(took_ns / 1e6 - ms(values)["on_cpu"]))
            printed.append(took_ns / 1e6)
    assert sum(found) >= 5, "where the clock was watched at a cost, or by others' doing, there is none"
    assert statistics.median(off) <= max(0.05, 0.01 * statistics.median(printed))


@pytest.mark.parametrize("name", CPU_TIMES)
def test_of_a_metric_in_cpu_time_the_states_on_a_cpu_add_up_to_it_whatever_it_waits_for(spawner, opened, name):
    clock, beside = CPU_TIMES[name]
    is_cpu_time(spawner, *timed(opened, sys.executable, "-S", "-c", IN_CPU_TIME % (clock, beside, clock)))


WITH_CHILDREN = """
import os, resource, time
def cpu_ns():
    waited = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time_ns() + int(1e9 * (waited.ru_utime + waited.ru_stime))
start = cpu_ns()
for _ in range(2):
    child = os.fork()
    if not child:
        sum(range(2 * 10**5))
        os._exit(0)
    os.waitpid(child, 0)
sum(range(10**5))
print(cpu_ns() - start)
"""


def test_a_metric_in_cpu_time_may_count_children_that_were_waited_for(spawner, opened):
    is_cpu_time(spawner, *timed(opened, sys.executable, "-S", "-c", WITH_CHILDREN))


def test_no_time_that_we_hold_a_program_is_told_as_its_own(spawner, opened):
    probe, command = timed(opened, "/bin/sh", "-c", "sleep .02; echo 5")
    for _ in range(2):
        run = spawner.run(Launch(command.argv, environment=command.environment), [probe], timeout_s=60)
        states = ms(probe.split(5.0))
        assert sum(states.values()) == pytest.approx(run.wall_ns / 1e6, abs=0.3)
        assert states.get("peer_on_cpu", 0) < 15, "to watch the clock takes a fifth of a second"


def compiled(tmp_path, source: str, *flags: str) -> str:
    """Compile a C program; skips where that cannot be done."""
    if shutil.which("gcc") is None:
        pytest.skip("the package gcc is not installed")
    (tmp_path / "program.c").write_text(source)
    if subprocess.run(["gcc", "-O1", *flags, "-o", "program", "program.c"], cwd=tmp_path).returncode:
        pytest.skip(f"gcc {' '.join(flags)} finds no library to link")
    return str(tmp_path / "program")


def test_so_do_those_of_a_c_program_that_calls_clock(spawner, opened, tmp_path):
    is_cpu_time(spawner, *timed(opened, compiled(tmp_path, C_PROGRAM)))


def test_what_is_printed_as_the_program_leaves_tells_no_part_and_says_so(spawner, opened, tmp_path):
    by_the_clock = C_PROGRAM.replace("clock_t", "double").replace("/ CLOCKS_PER_SEC", "").replace("clock()", "now()")
    reads = "static double now(void) {struct timespec t; clock_gettime(1, &t); return t.tv_sec + t.tv_nsec / 1e9;}"
    program = compiled(tmp_path, by_the_clock.replace("int main", f"{reads}\nint main"), "-static")
    probe, command = timed(opened, program)
    assert run_of(spawner, probe, command)[1]["stacks.region"] == "run: no reading"
    linked = timed(opened, compiled(tmp_path, (tmp_path / "program.c").read_text()))
    assert run_of(spawner, *linked)[1]["stacks.region"] != "run: no reading"


@pytest.mark.parametrize("often", [False, True])
def test_a_pair_of_readings_stands_out_or_is_found_too_rarely_to_count(often):
    chance, found, runs = random.Random(5), 0, 60
    for _ in range(runs):
        length = chance.randrange(20_000_000, 40_000_000)
        beside = sorted(chance.randrange(100_000_000) for _ in range(5000 if often else 10))
        start = chance.randrange(30_000_000)
        end = start + length + chance.randrange(-3000, 3000)
        trace = SchedTrace()
        trace.times[READING] = [(at, 1) for at in sorted((*beside, *(() if often else (start, end))))]
        region = between_readings(trace, Timelines(trace, 1), length)
        found += region is not None and (often or region.end == end)
    assert found <= 0.1 * runs if often else found >= 0.95 * runs
