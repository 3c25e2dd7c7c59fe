"""The layer `ledger`: what it says a run's time went to adds up to that time, and is where it went."""

import random
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.layers.loader import find_layer, open_probe
from vgo_agent.layers.probes.kernel_stack import State
from vgo_agent.layers.probes.sched_trace import Fork, SchedTrace, Switch, SwitchedIn, Waking
from vgo_agent.layers.probes.timeline import Timelines, totals
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.execution.spawn import Spawner


@pytest.fixture(scope="module")
def spawner():
    with Spawner() as opened:
        yield opened


@pytest.fixture
def probe():
    opened = open_probe(find_layer("ledger"))
    if opened.absent():
        pytest.skip(next(iter(opened.absent().values())))
    yield opened
    opened.close()


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


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_states_of_a_run_add_up_to_its_wall_time(spawner, probe, name):
    run = spawner.run(Launch(PROGRAMS[name]), [probe])
    spent = {key: value for key, value in run.counters.items() if key.startswith("ledger.")}
    assert sum(spent.values()) == pytest.approx(run.wall_ns / 1e6, abs=1e-6)
    assert all(value >= 0 for value in spent.values())


def test_a_sleep_is_blocked(spawner, probe):
    assert spawner.run(Launch(PROGRAMS["sleeps"]), [probe]).counters["ledger.blocked_ms"] >= 50


def test_a_wait_for_a_child_is_what_the_child_did(spawner, probe):
    counters = spawner.run(Launch(PROGRAMS["has a child"]), [probe]).counters
    # While the shell waits for a CPU to begin its wait, the child may sleep already.
    assert counters["ledger.blocked_ms"] + counters["ledger.queue_others_ms"] + counters["ledger.queue_own_ms"] >= 50


def test_time_on_a_cpu_is_that_of_the_program_and_its_children(spawner, probe):
    code = "import time\nwhile time.process_time() < .1: pass"
    for argv in ((sys.executable, "-S", "-c", code), ("/bin/sh", "-c", f"{sys.executable} -S -c '{code}'; true")):
        assert spawner.run(Launch(argv), [probe]).counters["ledger.on_cpu_ms"] >= 100


def test_events_that_do_not_fit_make_the_cells_missing_with_the_cure(spawner, probe):
    small = open_probe(find_layer("ledger:ring_mib=0.004"))
    switches = Launch(("/bin/sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do sleep 0; sleep 0; sleep 0; sleep 0; done"))
    counters = spawner.run(switches, [small]).counters
    assert not [name for name in counters if name.startswith("ledger.")]
    assert "ring_mib=0.016" in small.absent()["ledger.blocked_ms"]
    small.close()


def events(chance: random.Random, tasks: int, cpus: int, count: int):
    """Any events at all, in any order: the kernel leaves some out."""
    for at in sorted(chance.randrange(1000) for _ in range(count)):
        cpu, one, other = chance.randrange(cpus), chance.randrange(tasks + 1), chance.randrange(tasks + 1)
        yield chance.choice(
            (
                Switch(at, cpu, one, chance.choice((0, 1, 2, 0x10, 0x100)), other),
                SwitchedIn(at, cpu, one),
                Waking(at, cpu, one, other, chance.choice((0, 8, 16))),
                Fork(at, cpu, one, other),
            )
        )


@settings(deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 6), st.integers(1, 3), st.integers(0, 60))
def test_every_nanosecond_is_charged_once_whatever_the_events(chance, tasks, cpus, count):
    trace = SchedTrace(list(events(chance, tasks, cpus, count)))
    pieces = list(Timelines(trace, 1).walk(1, 100, 900))
    assert [piece.start for piece in pieces] == [100, *(piece.end for piece in pieces[:-1])]
    assert pieces[-1].end == 900 and sum(totals(pieces).values()) == 800
    assert all(piece.end > piece.start for piece in pieces)


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
    assert spent[State.ON_CPU] == 180 and spent[State.PEER_ON_CPU] == 290 and spent[State.QUEUE_NOBODY] == 20
    assert spent[State.UNSEEN] == 10, "nobody saw what the server did before it ran"
