"""The lower rungs of the layer `ledger`: without root the states of a run still add up to it, and claim no more."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgo_agent.knowledge.time_states import TimeState
from vgo_agent.layers.loader import find_layer, open_probe
from vgo_agent.layers.probes import perf_ring
from vgo_agent.layers.probes.opened import overlap
from vgo_agent.layers.probes.own_tasks import STATES, OwnTasks, beside
from vgo_agent.layers.probes.perf_ring import RingLoad
from vgo_agent.layers.probes.sched_events import Fork, SchedTrace, Switch, SwitchedIn
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.execution.spawn import Spawner

NOBODY = 65534
BURN = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"
PROGRAMS = {
    "sleeps": "exec sleep 0.05",
    "computes": BURN,
    "children in turn": f"sh -c '{BURN}'; sleep 0.05; sh -c '{BURN}'; true",
    "children at once": f"sh -c '{BURN}' & sh -c '{BURN}' & wait",
}
DROPPED = """
import ctypes, json, os, struct, sys
from pathlib import Path
from vgo_agent.layers.loader import find_layer, open_probe
from vgo_agent.layers.probes.ledger import ladder
from vgo_agent.layers.probes.perf_open import PERF_EVENT_OPEN
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.execution.spawn import Spawner
programs, nobody, without_perf = json.loads(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "True"
if os.geteuid() == 0:
    os.setgroups([]), os.setresgid(nobody, nobody, nobody), os.setresuid(nobody, nobody, nobody)
if without_perf:  # as a container does: the call is answered with EPERM
    call = PERF_EVENT_OPEN[os.uname().machine]
    steps = (0x20, 0, 0, 0), (0x15, 0, 1, call), (6, 0, 0, 0x50001), (6, 0, 0, 0x7FFF0000)
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in steps))
    program = struct.pack("@HP", len(steps), ctypes.addressof(code))
    libc = ctypes.CDLL(None)
    assert libc.prctl(38, 1, 0, 0, 0) == libc.prctl(22, 2, program, 0, 0) == 0
with Spawner() as spawner:
    probe = open_probe(find_layer("ledger"))
    print(json.dumps(dict(probe.absent())))
    print(json.dumps([why for _, why in ladder(Path("/"))]))
    for script in programs:
        run = spawner.run(Launch(("/bin/sh", "-c", script), {"PATH": "/bin:/usr/bin"}), [probe])
        print(json.dumps({**probe.split(None), "wall_ms": run.wall_ns / 1e6}))
"""


def dropped(without_perf: bool, folder: Path) -> tuple[dict[str, str], list[str], list[dict[str, float]]]:
    """What the layer lacks, why not each rung, and its cells of each program, for a user without rights."""
    folder.chmod(0o777)
    given = json.dumps(list(PROGRAMS.values())), str(NOBODY), str(without_perf)
    done = subprocess.run(
        (sys.executable, "-c", DROPPED, *given),
        capture_output=True,
        text=True,
        env={**os.environ, "HOME": str(folder), "XDG_STATE_HOME": str(folder), "XDG_CACHE_HOME": str(folder)},
    )
    assert done.returncode == 0, done.stderr
    absent, closed, *cells = map(json.loads, done.stdout.splitlines())
    return absent, closed, cells


@pytest.mark.parametrize("rung", [3, 4])
def test_without_root_the_states_of_a_run_add_up_to_it_and_the_layer_says_what_it_cannot_see(rung):
    with TemporaryDirectory() as folder:  # those of pytest are for root alone
        absent, closed, cells = dropped(rung == 4, Path(folder))
    why = absent["ledger.blocked_ms"]
    if rung == 3 and "rung 4" in why:
        pytest.skip(why)
    assert f"rung {rung} of 4" in why and ("root" in why or "Root" in why or "container" in why)
    assert list(map(bool, closed)) == [True, True, rung == 4, False]
    assert all("was refused" in one or "tracing cannot be read" in one for one in filter(None, closed))
    asleep, computed, in_turn, at_once = cells
    for one in cells:
        wall_ms = one.pop("wall_ms")
        assert set(one) == {f"ledger.{state}_ms" for state in STATES} and min(one.values()) >= 0
        assert sum(one.values()) == pytest.approx(wall_ms, abs=1e-6)
        assert not set(one) & absent.keys()
    assert asleep["ledger.off_cpu_ms"] >= 50 and asleep["ledger.undivided_ms"] < 1
    assert computed["ledger.on_cpu_ms"] > 1 and computed["ledger.undivided_ms"] < 1
    if rung == 3:
        assert in_turn["ledger.undivided_ms"] == at_once["ledger.undivided_ms"] == 0
        assert in_turn["ledger.off_cpu_ms"] + in_turn["ledger.queue_ms"] >= 50
    elif len(os.sched_getaffinity(0)) > 1:
        assert in_turn["ledger.undivided_ms"] > 0 and at_once["ledger.undivided_ms"] > 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has capabilities to lose")
def test_who_may_count_and_not_mount_hears_of_tracefs_and_not_of_a_right_that_is_there():
    told = "from pathlib import Path; from vgo_agent.layers.probes.ledger import ladder; print([*ladder(Path('/'))][1])"
    loser = ("setpriv", "--bounding-set", "-sys_admin", sys.executable, "-c", told)
    done = subprocess.run(loser, capture_output=True, text=True, check=True)
    if not Path("/sys/kernel/tracing/events").is_dir():
        assert "/sys/kernel/tracing cannot be read" in done.stdout and "-v /sys/kernel/tracing" in done.stdout
    assert "give the capability" not in done.stdout


FEW_RIGHTS = """
import json
from pathlib import Path
from vgo_agent.knowledge.time_states import WAITS
from vgo_agent.layers.loader import find_layer, open_probe
from vgo_agent.layers.probes.perf_open import refusal
from vgo_agent.layers.probes.sched_trace import SchedRings
probe = open_probe(find_layer("stacks"))
absent = probe.absent()
probe.close()
print(json.dumps({state: absent.get(f"stacks.{state}_ms", "") for state in WAITS}))
held = []
try:
    while True:
        held.append(SchedRings(Path("/"), 8 << 20, stacks=True))
except OSError as error:
    print(json.dumps([[one.rings.size for one in held], refusal(error)]))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has capabilities to lose")
def test_as_in_a_container_rings_take_what_may_be_locked_and_waits_have_no_kind_where_the_kernel_hides_its_names():
    paranoid = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    if paranoid < 0:
        pytest.skip("memory is not counted where perf is open to everyone")
    loser = ("prlimit", "--memlock=65536", "setpriv", "--bounding-set", "-ipc_lock,-syslog", sys.executable)
    done = subprocess.run((*loser, "-c", FEW_RIGHTS), capture_output=True, text=True, check=True)
    absent, (sizes, refused) = map(json.loads, done.stdout.splitlines())
    if not sizes and "ulimit" not in refused:
        pytest.skip(refused)
    assert sizes == sorted(sizes, reverse=True) and 0 < sizes[-1] <= sizes[0] < 8 << 20
    assert "ulimit -l" in refused
    assert paranoid < 2 or all("--cap-add SYSLOG" in why for why in absent.values())


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_rung_says_the_same_of_what_it_sees(name, monkeypatch):
    monkeypatch.setattr(RingLoad, "too_much", lambda *_: "")  # however busy others keep the machine
    ledger, switches, times = (
        open_probe(find_layer("ledger")),
        OwnTasks(Path("/"), "", 1 << 19),
        OwnTasks(Path("/"), ""),
    )
    if ledger.absent() or times.absent() or "rung 4" in switches.rung:
        pytest.skip("the machine does not have all rungs")
    started: list[int] = []
    with Spawner() as spawner:
        argv = ("/bin/sh", "-c", PROGRAMS[name])
        run = spawner.run(Launch(argv), [ledger, switches, times], on_started=started.append)
    second, third = (one.divide(started[0], run.wall_ns, 0) for one in (switches, times))
    stopped = times.divide(started[0], run.wall_ns, run.wall_ns)
    assert stopped == {**third, TimeState.THROTTLED: third[TimeState.QUEUE], TimeState.QUEUE: 0}
    first = {TimeState(key[7:-3]): 1e6 * float(value) for key, value in ledger.split(None).items()}
    for one in (ledger, switches):
        one.close()
    assert sum(second.values()) == sum(third.values()) == run.wall_ns == pytest.approx(sum(first.values()))
    assert third[TimeState.ON_CPU] <= second[TimeState.ON_CPU] and second[TimeState.UNDIVIDED] == 0
    if "children" not in name:  # the first thread is all there is
        assert second == {**third, TimeState.UNDIVIDED: 0, TimeState.OFF_CPU: second[TimeState.OFF_CPU]}
        assert third[TimeState.UNDIVIDED] <= max(50_000, 0.01 * run.wall_ns)
    else:
        assert third[TimeState.UNDIVIDED] > 0 or len(os.sched_getaffinity(0)) == 1


def test_where_tasks_change_too_often_nothing_is_written_any_more_and_the_layer_says_so(monkeypatch):
    probe = open_probe(find_layer("ledger"))
    if probe.absent():
        pytest.skip(next(iter(probe.absent().values())))
    monkeypatch.setattr(perf_ring, "MOST_WRITING", 0.0)
    monkeypatch.setattr(perf_ring, "SHORT_WRITING_NS", 0)
    with Spawner() as spawner:
        spawner.run(Launch(("/bin/true",)), [probe])
        assert probe.split(None) == {}
        why = probe.absent()["ledger.blocked_ms"]
        assert "rung 4 of 4" in why and "% of a run" in why and "measure --ledger" in why
        run = spawner.run(Launch(("/bin/true",)), [probe])
        values = probe.split(None)
        assert sum(map(float, values.values())) == pytest.approx(run.wall_ns / 1e6, abs=1e-6)
        assert probe.absent()["ledger.blocked_ms"] == why
    probe.close()


def test_what_a_run_may_write_depends_on_its_length():
    kept = [bytes(60_000)]
    assert not RingLoad().too_much(kept, 40_000_000) and RingLoad().too_much(kept, 10_000_000)
    assert not RingLoad().too_much([bytes(20_000)], 1_000_000), "so little costs next to nothing"
    assert RingLoad().too_much([bytes(60_000)] * 64, 40_000_000), "reading all CPUs takes longer than the run"
    load = RingLoad()
    assert not any(load.too_much(kept, wall_ns) for wall_ns in (40_000_000, 40_000_000, 10_000_000))


def test_while_the_first_thread_is_blocked_the_others_run_or_are_ready():
    trace = SchedTrace(
        [
            SwitchedIn(0, 0, 1),
            Fork(10, 0, 1, 2),
            Switch(20, 0, 1, 1, 0),  # waits for its child
            SwitchedIn(30, 1, 2),
            Switch(60, 1, 2, 0, 0),  # is preempted
            SwitchedIn(75, 1, 2),
            Switch(95, 1, 2, 0x30, 0),
            SwitchedIn(100, 0, 1),
            SwitchedIn(100, 1, 9),  # of another program
        ]
    )
    assert beside(trace, 1) == (50, 25)


@given(st.randoms(use_true_random=False), st.integers(0, 8), st.integers(0, 8))
def test_what_spans_have_in_common_is_what_each_instant_says(chance: random.Random, some, others):
    starts = [chance.randrange(60) for _ in range(some)]
    one = [(start, start + 1 + chance.randrange(15)) for start in starts]
    ends = sorted(chance.sample(range(75), 2 * others))
    other = list(zip(ends[::2], ends[1::2], strict=True))
    instants = [{at for span in spans for at in range(*span)} for spans in (one, other)]
    assert overlap(one, other) == len(instants[0] & instants[1])
