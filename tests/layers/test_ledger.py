"""The layer `ledger`: what it says a run's time went to adds up to that time, and is where it went."""

import errno
import json
import os
import random
import struct
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.knowledge.time_states import TimeState
from vgo_agent.layers.loader import find_layer, open_probe
from vgo_agent.layers.probes.kernel_stack import KernelStacks
from vgo_agent.layers.probes.lanes import MOST_PIECES, RunLanes
from vgo_agent.layers.probes.open_files import OpenFiles
from vgo_agent.layers.probes.opened import OpenedRun
from vgo_agent.layers.probes.sched_events import Event, Fork, Ran, SchedTrace, Switch, SwitchedIn, TimerSet, Waking
from vgo_agent.layers.probes.timeline import Timelines, totals
from vgo_agent.tools.execution.launch import Launch


def split(spawner, probe, *argv: str):
    """Run once; give the run, and what its time went to in ms by state."""
    run = spawner.run(Launch(argv), [probe], capture=True)
    values = probe.split(None)
    return run, values


def ms(values, *states: str) -> float:
    """Milliseconds in some of the states."""
    return float(sum(value for name, value in values.items() if name.rpartition("_ms")[0].split(".")[-1] in states))


PROGRAMS = {
    "sleeps": ("/bin/sleep", "0.05"),
    "computes": (sys.executable, "-S", "-c", "sum(range(10**6))"),
    "has a child": ("/bin/sh", "-c", "sleep 0.05; true"),
    "is a pipeline": ("/bin/sh", "-c", "head -c 10M /dev/zero | tail -c 1 > /dev/null"),
    "has threads": (
        sys.executable,
        "-S",
        "-c",
        "import threading\nts = [threading.Thread(target=sum, args=(range(10**5),)) for _ in range(3)]\n"
        "for t in ts: t.start()\nfor t in ts: t.join()",
    ),
}


@pytest.mark.parametrize("spec", ["ledger", "stacks"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_states_of_a_run_add_up_to_its_wall_time(spawner, opened, name, spec):
    run, values = split(spawner, opened(spec), *PROGRAMS[name])
    spent = [value for key, value in values.items() if key.endswith("_ms")]
    assert sum(spent) == pytest.approx(run.wall_ns / 1e6, abs=1e-6)
    assert all(value >= 0 for value in spent)


def test_a_sleep_is_blocked(spawner, opened):
    _, values = split(spawner, opened("ledger"), *PROGRAMS["sleeps"])
    assert ms(values, "blocked") >= 50


def test_a_wait_for_a_child_is_what_the_child_did(spawner, opened):
    _, values = split(spawner, opened("stacks"), *PROGRAMS["has a child"])
    # While the shell waits for a CPU to begin its wait, the child may sleep already.
    assert ms(values, "sleep", "queue_others", "queue_own") >= 50
    assert ms(values, "child") < 50


IN_A_NAMESPACE = """
import json
from vgo_agent.layers.loader import find_layer, open_probe
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.execution.spawn import Spawner
probe = open_probe(find_layer("stacks"))
with Spawner() as spawner:
    spawner.run(Launch(("/bin/sh", "-c", "sleep 0.05; true")), [probe])
print(json.dumps(dict(probe.split(None))))
probe.close()
"""


def test_in_a_container_tasks_are_told_apart_though_the_kernel_numbers_them_otherwise(opened):
    opened("stacks")
    if subprocess.run(("unshare", "--pid", "--fork", "--mount-proc", "true"), capture_output=True).returncode:
        pytest.skip("only root, with CAP_SYS_ADMIN, makes a PID namespace")
    argv = ("unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", IN_A_NAMESPACE)
    values = json.loads(subprocess.run(argv, capture_output=True, check=True).stdout)
    assert ms(values, "sleep", "queue_others", "queue_own") >= 50
    assert any(part.what == "sleep (child): clock_nanosleep" for part in OpenedRun.read(values["stacks.opened"]).parts)


def test_time_on_a_cpu_is_that_of_the_program_and_its_children(spawner, opened):
    probe, code = opened("ledger"), "sum(range(3 * 10**6))"
    for argv in ((sys.executable, "-S", "-c", code), ("/bin/sh", "-c", f"{sys.executable} -S -c '{code}'; true")):
        run, values = split(spawner, probe, *argv)
        used_ms = 1e3 * (float(run.counters["user_s"]) + float(run.counters["system_s"]))
        assert 0.7 * used_ms < ms(values, "on_cpu") < used_ms + 2, "not what it uses before it starts, and as it ends"


def test_a_program_that_reads_its_cpu_time_all_the_time_is_split_at_least_from_its_second_run_on(spawner, opened):
    probe, code = opened("ledger"), "import time\nwhile time.process_time() < .1: pass"
    split(spawner, probe, sys.executable, "-S", "-c", code)  # it is charged each time: that may fill the rings
    assert ms(split(spawner, probe, sys.executable, "-S", "-c", code)[1], "on_cpu") >= 99


def test_time_beside_another_program_on_another_cpu_is_told(spawner, opened):
    here, *others = sorted(os.sched_getaffinity(0))
    if not others:
        pytest.skip("there is one CPU")
    spin, computes = "while True: pass", f"import os; os.sched_setaffinity(0, {{{here}}}); sum(range(3 * 10**6))"
    probe = opened("stacks")
    spinners = [subprocess.Popen(("taskset", "-c", str(cpu), sys.executable, "-S", "-c", spin)) for cpu in others]
    try:
        _, values = split(spawner, probe, sys.executable, "-S", "-c", computes)
    finally:
        for one in spinners:
            one.kill()
            one.wait()
    run = OpenedRun.read(values["stacks.opened"])
    on_cpu = sum(part.ms for part in run.parts if part.state == "on_cpu")
    assert 0.1 * on_cpu < run.beside_ms <= on_cpu + 1e-3


def test_events_that_do_not_fit_make_the_cells_missing_with_the_cure(spawner, opened):
    small = opened("ledger:ring_mib=0.004")
    many = "for i in 1 2 3 4 5 6 7 8 9; do sleep 0; sleep 0; sleep 0; sleep 0; done"
    assert not split(spawner, small, "/bin/sh", "-c", many)[1]
    assert "ring_mib=0.016" in small.absent()["ledger.blocked_ms"]


WAITS = {
    "pipe": "out, into = os.pipe(); once_asleep(os.write, into, b'x'); os.read(out, 1)",
    "lock": "lock = _thread.allocate_lock(); lock.acquire(); once_asleep(lock.release); lock.acquire()",
    "socket": "a, b = socket.socketpair(); once_asleep(b.send, b'x'); a.recv(1)",
    "poll": "a, b = socket.socketpair(); once_asleep(b.send, b'x'); select.select([a], [], [])",
    "file_lock": "a, b = open('f', 'w'), open('f'); fcntl.flock(a, 2); once_asleep(fcntl.flock, a, 8); "
    "fcntl.flock(b, 2)",
}
PREPARED = """
import _thread, fcntl, os, select, socket, time
def switches():
    lines = dict(line.split(":", 1) for line in open(f"/proc/self/task/{os.getpid()}/status"))
    return lines["voluntary_ctxt_switches"] if "S" in lines["State"] else None
def once_asleep(do, *what):
    def later():
        before, now = None, switches()
        while now is None or now != before:  # it may wait for this thread to give up the interpreter
            time.sleep(.02)
            before, now = now, switches()
        time.sleep(.05)
        do(*what)
    _thread.start_new_thread(later, ())
"""


@pytest.mark.parametrize("wait", WAITS)
def test_of_a_wait_for_another_thread_its_kind_is_told_and_what_the_other_did_is_the_time(
    spawner, opened, wait, tmp_path
):
    program = f"import os; os.chdir({str(tmp_path)!r}){PREPARED}{WAITS[wait]}"
    run, values = split(spawner, opened("stacks"), sys.executable, "-S", "-c", program)
    assert run.exit_code == 0
    parts = OpenedRun.read(values["stacks.opened"]).parts
    assert sum(part.ms for part in parts if part.own == wait) >= 50
    assert sum(part.ms for part in parts if part.own == wait and part.state == "sleep") >= 50
    assert ms(values, wait) < 50


def test_a_call_of_a_file_names_it(spawner, opened, tmp_path):
    program = f"import os, time; f = open({str(tmp_path / 'journal')!r}, 'w'); time.sleep(.05)\n" + (
        "for _ in range(20): f.write('x' * 100000); f.flush(); os.fsync(f.fileno())\n"
        "time.sleep(.2)"  # open files are looked at now and then, and a call is named by the first look after it
    )
    _, values = split(spawner, opened("stacks"), sys.executable, "-S", "-c", program)
    named = [part.what for part in OpenedRun.read(values["stacks.opened"]).parts if "fsync" in part.what]
    if not named:
        pytest.skip("the disk of this machine ends every fsync at once")
    assert any(str(tmp_path / "journal") in what for what in named)


def test_a_file_without_a_name_is_called_the_same_in_every_run(tmp_path):
    try:
        file = os.open(tmp_path, os.O_TMPFILE | os.O_RDWR)
    except OSError as error:
        pytest.skip(f"the file system has none: {error}")
    files = OpenFiles()
    files.before()
    files.started(os.getpid())
    files.after()
    files.settle()
    assert files.name(os.getpid(), file, 0) == f"an unnamed file in {tmp_path}/"
    files.close()
    os.close(file)


def test_where_the_kernel_refuses_every_column_is_absent_with_the_cure(monkeypatch):
    def refused(*_: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("vgo_agent.layers.probes.perf_ring.perf_event_open", refused)
    probe = open_probe(find_layer("stacks"))
    assert "perf_event_open was refused" in probe.absent()["stacks.socket_ms"] and not probe.split(None)
    probe.close()


MS = 1_000_000
UNIT = 10_000
"""Nanoseconds: less than that is not called stolen."""


def events(chance: random.Random, tasks: int, cpus: int, count: int):
    """Any events at all, in any order: the kernel leaves some out."""
    for at in sorted(UNIT * chance.randrange(1000) for _ in range(count)):
        cpu, one, other = chance.randrange(cpus), chance.randrange(tasks + 1), chance.randrange(tasks + 1)
        yield chance.choice(
            (
                Switch(at, cpu, one, chance.choice((0, 1, 2, 0x10, 0x100)), other),
                SwitchedIn(at, cpu, one),
                Waking(at, cpu, one, other, chance.choice((0, 8, 16))),
                Fork(at, cpu, one, other),
                Ran(at, cpu, one, UNIT * chance.randrange(200)),
                TimerSet(at, cpu, one, UNIT * chance.randrange(1000)),
            )
        )


class Sleeping(KernelStacks):
    """Every task that waits does so for its timer."""

    def _named(self, stack: bytes) -> tuple[str, ...]:
        return ("do_nanosleep",)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_path_of_a_run_covers_it_and_its_lanes_say_who_ended_a_wait(spawner, opened, name):
    run, values = split(spawner, opened("stacks"), *PROGRAMS[name])
    lanes = RunLanes.read(values["stacks.lanes"])
    assert lanes.ns == run.wall_ns and lanes.lanes[0].own
    assert [piece.start_ns for piece in lanes.path] == [0, *(piece.end_ns for piece in lanes.path[:-1])]
    assert lanes.path[-1].end_ns == run.wall_ns and len(values["stacks.lanes"]) < 60_000
    for lane in lanes.lanes:
        assert all(a.end_ns <= b.start_ns for a, b in zip(lane.pieces, lane.pieces[1:], strict=False))
    if name == "has a child":
        woken_by = [lanes.lanes[piece.lane].name for piece in lanes.lanes[0].pieces if piece.state == "child"]
        assert any(one.startswith("sleep") for one in woken_by)


def test_of_very_many_pieces_neighbours_are_put_together(spawner, opened):
    program = (
        "import os\n"
        "a, b = os.pipe(), os.pipe()\nif os.fork():\n for _ in range(2000): os.write(a[1], b'x'); os.read(b[0], 1)\n"
        "else:\n for _ in range(2000): os.read(a[0], 1); os.write(b[1], b'x')"
    )
    run, values = split(spawner, opened("stacks"), sys.executable, "-S", "-c", program)
    if not values:
        pytest.skip("events of other programs filled the rings")
    lanes = RunLanes.read(values["stacks.lanes"])
    assert sum(piece.end_ns - piece.start_ns for piece in lanes.path) == run.wall_ns
    assert len(lanes.path) + sum(len(lane.pieces) for lane in lanes.lanes) <= MOST_PIECES
    assert max(piece.pieces for piece in lanes.path) > 1


@settings(deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 6), st.integers(1, 3), st.integers(0, 60))
def test_every_nanosecond_is_charged_once_whatever_the_events(chance, tasks, cpus, count):
    trace = SchedTrace(list(events(chance, tasks, cpus, count)), stolen=chance.random() < 0.5)
    timelines, stopped = (
        Timelines(trace, 1, Sleeping() if chance.random() < 0.5 else None),
        UNIT * chance.randrange(300),
    )
    walked = list(timelines.walk(1, 100 * UNIT, 900 * UNIT))
    pieces = list(timelines.throttled(walked, stopped))
    assert [piece.start for piece in pieces] == [100 * UNIT, *(piece.end for piece in pieces[:-1])]
    assert pieces[-1].end == 900 * UNIT and sum(totals(pieces).values()) == 800 * UNIT
    assert all(piece.end > piece.start for piece in pieces)
    assert totals(pieces)[TimeState.THROTTLED] <= totals(walked)[TimeState.THROTTLED] + cpus * stopped


@pytest.mark.parametrize("stolen", [True, False])
def test_a_task_is_on_a_cpu_as_long_as_the_kernel_says_and_the_rest_the_host_has_taken(stolen):
    ms = 1_000_000
    trace = SchedTrace(
        [
            Waking(1 * ms, 0, 0, 1, 8),
            Switch(3 * ms, 0, 0, 0, 1),
            Ran(5 * ms, 0, 1, 3 * ms),  # it was picked 1 ms before the switch to it
            Ran(9 * ms, 0, 1, 1 * ms),
            Ran(12 * ms, 0, 1, 3 * ms),
            Switch(12 * ms + 5_000, 0, 1, 1, 0),
            Waking(20 * ms, 0, 0, 1, 8),
        ],
        stolen=stolen,
    )
    spent = totals(Timelines(trace, 1).walk(1, 1 * ms, 20 * ms))
    assert spent[TimeState.STOLEN] == 3 * ms * stolen and spent[TimeState.BLOCKED] == 8 * ms
    assert spent[TimeState.ON_CPU] == 10 * ms - spent[TimeState.STOLEN] and spent[TimeState.QUEUE_NOBODY] == 1 * ms


@pytest.mark.parametrize("wakes", [Waking(30 * MS, 0, 2, 1, 8), Waking(30 * MS, 0, 2, 1, 0), SwitchedIn(30 * MS, 0, 1)])
@pytest.mark.parametrize("due", [20 * MS, 30 * MS - 50_000, 40 * MS, 10**18])
def test_what_passes_after_a_timer_was_due_until_an_interrupt_wakes_the_task_is_its_lateness(wakes, due):
    went: list[Event] = [Switch(1 * MS, 0, 0, 0, 1), TimerSet(9 * MS, 0, 1, due), Switch(10 * MS, 0, 1, 1, 2)]
    trace = SchedTrace([*went, wakes, SwitchedIn(31 * MS, 0, 1)])
    spent = totals(Timelines(trace, 1, Sleeping()).walk(1, 1 * MS, 31 * MS))
    by_a_task = isinstance(wakes, Waking) and not wakes.flags
    late = 10 * MS if due == 20 * MS and not by_a_task else 0
    assert spent[TimeState.TIMER_LATE] == late
    assert spent[TimeState.SLEEP] == (0 if by_a_task else 20 * MS - late)


def test_a_timer_of_an_earlier_wait_makes_no_later_one_late():
    asleep: list[Event] = [Switch(1 * MS, 0, 0, 0, 1), TimerSet(2 * MS, 0, 1, 20 * MS), Switch(3 * MS, 0, 1, 1, 0)]
    woken: list[Event] = [Waking(4 * MS, 0, 2, 1, 8), Switch(5 * MS, 0, 0, 0, 1), Switch(6 * MS, 0, 1, 1, 0)]
    trace = SchedTrace([*asleep, *woken, Waking(40 * MS, 0, 2, 1, 8), SwitchedIn(41 * MS, 0, 1)])
    assert totals(Timelines(trace, 1, Sleeping()).walk(1, 1 * MS, 41 * MS))[TimeState.TIMER_LATE] == 0


def test_the_timer_of_a_sleep_is_seen_to_be_set(spawner, opened):
    probe = opened("stacks")
    spawner.run(Launch(("/bin/sleep", "0.03")), [probe])
    started, ended = probe._window
    events = probe._rings.read(probe._written).events
    due = [one.due for one in events if isinstance(one, TimerSet) and one.task == probe._pid]
    if not due:
        pytest.skip("no timer is seen here: the kernel hides the addresses of its functions")
    slack = 50_000
    assert started + 30 * MS <= due[-1] <= ended + slack


def test_what_nobody_knows_of_who_ended_a_wait_is_the_wait(monkeypatch):
    """A thread of the kernel that is idle waits for work: who waits for it says what for."""
    disk, idle = struct.pack("=Q", 2), struct.pack("=Q", 1)

    stacks = KernelStacks()
    monkeypatch.setattr(
        stacks, "names", lambda stack: {disk: ("io_schedule",), idle: ("worker_thread",)}.get(stack, ())
    )
    client, worker = 1, 2
    trace = SchedTrace(
        [
            Switch(50, 1, worker, 1, 0, worker, idle),
            Switch(100, 0, 0, 0, client),
            Switch(200, 0, client, 2, 0, client, disk),
            Waking(400, 1, 0, worker, 8),
            Switch(410, 1, 0, 0, worker),
            Waking(500, 1, worker, client, 0),
            Switch(520, 0, 0, 0, client),
            Switch(600, 0, client, 0x10, 0),
        ]
    )
    spent = totals(Timelines(trace, client, stacks).walk(client, 100, 600))
    assert spent[TimeState.DISK] == 200 and spent[TimeState.PEER_ON_CPU] == 90 and spent[TimeState.BLOCKED] == 0


def test_of_waits_in_a_queue_the_longest_are_those_that_a_quota_made():
    trace = SchedTrace(
        [
            Switch(0, 0, 0, 0, 1),
            Switch(100, 0, 1, 0, 7),  # in turns with another program
            Switch(130, 0, 7, 0, 1),
            Switch(200, 0, 1, 0, 7),  # stopped: who else is on its CPU does not matter
            Switch(300, 0, 7, 1, 0),
            Switch(500, 0, 0, 0, 1),
            Switch(600, 0, 1, 0x10, 0),
        ]
    )
    timelines = Timelines(trace, 1)
    spent = totals(timelines.throttled(timelines.walk(1, 0, 600), 280))
    assert spent[TimeState.THROTTLED] == 280 and spent[TimeState.QUEUE_OTHERS] == 30
    assert spent[TimeState.QUEUE_NOBODY] == 20 and spent[TimeState.ON_CPU] == 270


def test_who_is_ready_beside_a_cpu_that_idles_is_held_back():
    trace = SchedTrace(
        [
            Switch(0, 0, 0, 0, 1),
            Switch(100, 0, 1, 0, 0),  # ready, and its CPU idles
            Switch(400, 0, 0, 0, 1),
            Switch(450, 0, 1, 1, 0),  # it sleeps
            Waking(500, 0, 0, 1, 8),
            Switch(520, 0, 0, 0, 1),  # on its way
            Switch(600, 0, 1, 0x10, 0),
        ]
    )
    timelines = Timelines(trace, 1)
    for counted in (0, 300):
        spent = totals(timelines.throttled(timelines.walk(1, 0, 600), counted))
        assert spent[TimeState.THROTTLED] == 300 and spent[TimeState.QUEUE_NOBODY] == 20


def test_a_wait_is_charged_to_what_the_task_did_that_ended_it():
    server, client = 2, 1
    trace = SchedTrace(
        [
            Switch(100, 0, 0, 0, client),
            Switch(200, 0, client, 1, 0),  # asks and waits
            Switch(210, 1, 0, 0, server),
            Waking(500, 1, server, client, 0),
            Switch(520, 0, 0, 0, client),
            Switch(600, 0, client, 0x10, 0),
        ]
    )
    spent = totals(Timelines(trace, client).walk(client, 100, 600))
    assert (
        spent[TimeState.ON_CPU] == 180 and spent[TimeState.PEER_ON_CPU] == 290 and spent[TimeState.QUEUE_NOBODY] == 20
    )
    assert spent[TimeState.UNSEEN] == 10, "nobody saw what the server did before it ran"


def test_who_was_asleep_since_before_a_run_and_is_woken_in_it_has_been_blocked():
    client, holder = 7, 8
    trace = SchedTrace(
        [
            Switch(100, 0, 0, 0, client),
            Switch(200, 0, client, 1, 0),  # asks for a lock
            Waking(400, 1, 0, holder, 8),  # the timer of its holder
            Switch(410, 1, 0, 0, holder),
            Waking(500, 1, holder, client, 0),
            Switch(520, 0, 0, 0, client),
            Switch(600, 0, client, 0x10, 0),
        ]
    )
    spent = totals(Timelines(trace, client).walk(client, 100, 600))
    assert spent[TimeState.UNSEEN] == 0 and spent[TimeState.BLOCKED] == 200 and spent[TimeState.PEER_ON_CPU] == 90
