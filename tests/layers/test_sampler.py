"""The sampler reads while a run is on, out of its way, and never changes what is measured."""

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.layers.loader import find_layer, open_probe
from vgo_agent.layers.probes.sampler import IDLE_ROUNDS, MOST_OF_CPU, SamplingProbe, go_round, spare
from vgo_agent.layers.probes.sysfs import cpu_numbers, name_of, unlike
from vgo_agent.layers.schema import Column
from vgo_agent.tools.execution.launch import Launch

cpu_sets = st.sets(st.integers(0, 400))
fast = settings(derandomize=True, deadline=None)


class Watch(SamplingProbe[object]):
    """The smallest probe that samples."""

    def __init__(self, read, interval_s=0.002):
        self._reader = read
        super().__init__(interval_s)

    def read(self, pid):
        return self._reader(pid)

    def readings(self):
        return [value for _, value in self.samples()]


@pytest.fixture
def sampled():
    opened = []

    def make(read, *arguments):
        opened.append(Watch(read, *arguments))
        return opened[-1]

    yield make
    for probe in opened:
        probe.close()
    assert ours() == []


def ours():
    return [thread for thread in threading.enumerate() if thread.name == "sampler"]


def in_thread():
    return threading.current_thread().name == "sampler"


def until(file, **conditions):
    """Return a program that ends once the file is there: so a test waits for what it tests, not for a time."""
    return Launch(("/bin/sh", "-c", f"until [ -e {file} ]; do sleep 0.01; done"), **conditions)


def test_the_shortest_run_has_a_reading_at_its_start_and_one_at_its_end(spawner, sampled):
    probe = sampled(lambda pid: pid, 1000.0)
    for _ in range(5):
        spawner.run(Launch(("/bin/true",)), [probe])
        readings = probe.readings()
        assert readings[0] == 0 < readings[-1]
        times = [moment for moment, _ in probe.samples()]
        assert times == sorted(times)


def test_a_longer_run_has_readings_of_its_process_in_between(spawner, sampled, tmp_path):
    seen = []

    def read(pid):
        if in_thread() and pid:
            seen.append(Path(f"/proc/{pid}/comm").read_text().strip())
            if len(seen) == 5:
                (tmp_path / "enough").touch()
        return pid

    probe = sampled(read)
    spawner.run(until(tmp_path / "enough"), [probe])
    assert len(probe.readings()) >= 7
    assert seen[:5] == ["sh"] * 5


def test_a_reading_that_fails_is_missing_and_the_others_are_there(spawner, sampled, tmp_path):
    calls = []

    def read(pid):
        if not in_thread():
            return "ours"
        calls.append(pid)
        if len(calls) == 6:
            (tmp_path / "enough").touch()
        if len(calls) % 2:
            raise OSError("gone")
        return None if len(calls) == 2 else "seen"

    probe = sampled(read)
    spawner.run(until(tmp_path / "enough"), [probe])
    readings = probe.readings()
    assert readings[0] == readings[-1] == "ours"
    assert set(readings[1:-1]) == {"seen"}
    assert 2 <= len(readings) - 2 <= len(calls) // 2


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="a thread needs a second CPU to step aside")
def test_the_thread_steps_aside_to_a_cpu_that_the_run_does_not_use_and_comes_back(spawner, sampled, tmp_path):
    allowed = os.sched_getaffinity(0)
    seen = []

    def read(pid):
        if in_thread() and pid:
            seen.append(os.sched_getaffinity(0))
            if len(seen) >= 3:
                (tmp_path / "enough").touch()
        return pid

    probe = sampled(read)
    for cpu in sorted(allowed)[:2]:
        spawner.run(until(tmp_path / "enough", affinity=frozenset({cpu})), [probe])
        assert len(seen[-1]) == 1 and cpu not in seen[-1]
        (tmp_path / "enough").unlink()
        seen.clear()
    spawner.run(until(tmp_path / "enough"), [probe])
    assert seen[-1] == os.sched_getaffinity(0) == allowed


def test_what_the_thread_does_is_in_no_counter_of_the_run(spawner, sampled, tmp_path):
    """The thread is created after the events that its creator lets be inherited, and faults all the time."""
    process = open_probe(find_layer("process"))
    try:
        if "perf.minor_faults" in process.absent():
            pytest.skip(process.absent()["perf.minor_faults"])
        (tmp_path / "enough").touch()
        calm = spawner.run(until(tmp_path / "enough"), [process])
        (tmp_path / "enough").unlink()
        calls = []

        def read(pid):
            if in_thread():
                calls.append(bytearray(16 << 20)[::4096])
                if len(calls) == 5:
                    (tmp_path / "enough").touch()
            return pid

        sleeps = Launch(("/bin/sh", "-c", f"read line < {tmp_path / 'pipe'}"))
        os.mkfifo(tmp_path / "pipe")
        probe = sampled(read)
        opener = threading.Thread(target=write_when, args=(calls, tmp_path / "pipe"))
        opener.start()
        busy = spawner.run(sleeps, [process, probe])
        opener.join()
        assert len(calls) >= 5
        assert busy.counters["perf.minor_faults"] <= calm.counters["perf.minor_faults"] + 50
        assert busy.survivors == calm.survivors == 0
    finally:
        process.close()


def write_when(calls, pipe):
    while len(calls) < 5:
        time.sleep(0.001)
    pipe.write_text("go\n")


def test_one_thread_serves_all_samplers_each_at_its_own_interval(spawner, sampled, tmp_path):
    threads = set()
    counts = {"often": 0, "seldom": 0}

    def reader(name):
        def read(pid):
            if in_thread():
                threads.add(threading.get_native_id())
                counts[name] += 1
                if counts["often"] == 20:
                    (tmp_path / "enough").touch()
            return pid

        return read

    probes = [sampled(reader("often"), 0.002), sampled(reader("seldom"), 1000.0)]
    spawner.run(until(tmp_path / "enough"), probes)
    assert counts["often"] >= 20
    assert counts["seldom"] <= 1
    assert len(threads) == 1 and len(ours()) == 1


def test_the_thread_sleeps_when_no_run_comes_and_wakes_for_the_next(spawner, sampled, tmp_path):
    interval_s = 0.002
    seen = []

    def read(pid):
        if in_thread():
            seen.append(pid)
            (tmp_path / "enough").touch()
        return pid

    probe = sampled(read, interval_s)
    (thread,) = ours()
    deadline = time.monotonic() + 60
    was = -1
    while was != (now := wake_ups(thread)):
        assert time.monotonic() < deadline
        was = now
        time.sleep(5 * IDLE_ROUNDS * interval_s)
    spawner.run(until(tmp_path / "enough"), [probe])
    assert seen
    assert wake_ups(thread) > was


def wake_ups(thread):
    status = Path(f"/proc/self/task/{thread.native_id}/status").read_text()
    return int(status.split("\nvoluntary_ctxt_switches:")[1].split()[0])


def test_no_signal_is_taken_by_the_thread(sampled, spawner, tmp_path):
    sampled(lambda pid: pid)
    spawner.run(Launch(("/bin/true",)))
    (thread,) = ours()
    deadline = time.monotonic() + 60
    while True:  # It blocks them as the first thing it does.
        status = Path(f"/proc/self/task/{thread.native_id}/status").read_text()
        blocked = int(status.split("\nSigBlk:")[1].split()[0], 16)
        if all(blocked >> (number - 1) & 1 for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)):
            return
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_the_thread_ends_with_its_last_sampler_and_another_starts_a_new_one(spawner):
    for _ in range(20):
        probe, other = Watch(lambda pid: pid), Watch(lambda pid: pid)
        assert len(ours()) == 1
        spawner.run(Launch(("/bin/true",)), [probe])
        probe.close()
        assert len(ours()) == 1
        other.close()
        assert ours() == []


def test_a_sampler_that_is_closed_in_mid_run_does_no_harm(sampled):
    probe = sampled(lambda pid: pid)
    probe.before()
    probe.close()
    probe.after()
    assert probe.readings() == []


@fast
@given(cpu_sets, cpu_sets)
def test_the_spare_cpu_is_allowed_and_free_if_any_is(allowed, used):
    there = spare(frozenset(allowed), used)
    assert there <= allowed
    if allowed - used and allowed & used:
        assert len(there) == 1 and not there & used
    else:
        assert there == allowed


@fast
@given(cpu_sets)
def test_lists_of_cpus_are_read_as_the_kernel_writes_them(cpus):
    parts: list[list[int]] = []
    for cpu in sorted(cpus):
        if parts and parts[-1][1] == cpu - 1:
            parts[-1][1] = cpu
        else:
            parts.append([cpu, cpu])
    said = ",".join(f"{first}" if first == last else f"{first}-{last}" for first, last in parts)
    assert cpu_numbers(f"{said}\n") == cpus


@fast
@given(st.lists(st.sampled_from(["coretemp", "nvme", "acpitz"])))
def test_things_of_one_name_are_told_apart_by_a_number(names):
    told = unlike(names)
    assert len(set(told)) == len(names)
    for name, word in zip(names, told, strict=True):
        assert word == name if names.count(name) == 1 else word.startswith(name)


@fast
@given(st.text())
def test_any_name_of_the_kernel_makes_a_column_name(said):
    assert Column(name=f"temp.{name_of(said)}.max_c", description="", unit="C")


def test_a_dear_reading_comes_less_often():
    """Whatever it costs, the thread takes a small share of one CPU: a run may have no other."""

    class Dear:
        due, interval_s, cost_s = 0.0, 0.002, 0.0

        def sample(self):
            began = time.thread_time()
            while time.thread_time() - began < 0.005:
                pass

    one: Any = Dear()
    now = time.monotonic()
    go_round([one])
    assert one.due - time.monotonic() <= one.interval_s, "one reading alone may be dear for another reason"
    one.due, now = 0.0, time.monotonic()
    go_round([one])
    assert one.due - now >= 0.005 / MOST_OF_CPU
