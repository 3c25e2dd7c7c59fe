"""The layer `interference` sees what others do on the CPUs of a run, and nothing that they do elsewhere."""

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.layers.loader import find_layer
from vgo_agent.layers.probes import interference, machine, surroundings
from vgo_agent.tools.execution.launch import Launch

CPUS = sorted(os.sched_getaffinity(0))
BURN = "import time\nwhile time.process_time() < 0.1: pass"
SPIN = "import os, sys\nos.sched_setaffinity(0, {int(sys.argv[1])})\nprint(flush=True)\nwhile True: pass"
two_cpus = pytest.mark.skipif(len(CPUS) < 2, reason="it needs two CPUs")

STAT = """\
cpu  0 0 0 0 0 0 0 0 0 0
{cpus}intr 5 1 2 3
ctxt 4
processes {processes}
procs_running {running}
softirq 1 1
"""


@pytest.fixture
def opened(opening):
    return lambda spec="interference", root=Path("/"): opening(find_layer(spec), root)


@contextmanager
def hog(cpu):
    """Keep one CPU busy all the time."""
    child = subprocess.Popen([sys.executable, "-S", "-c", SPIN, str(cpu)], stdout=subprocess.PIPE)
    try:
        assert child.stdout is not None
        child.stdout.readline()
        yield child
    finally:
        child.kill()
        child.communicate()


def python(code, **conditions):
    return Launch((sys.executable, "-S", "-c", code), **conditions)


def own_share(run):
    return (run.counters["user_s"] + run.counters["system_s"]) / (run.wall_ns / 1e9)


def finely(probe, run):
    """Skip where CPU time is only told in steps that are as long as the runs of these tests."""
    if run.counters.get("interference.account") != "cpuacct":
        pytest.skip("this kernel does not tell the busy time of CPUs finely: mount the cpuacct control group")


def test_what_is_declared_is_what_is_given(spawner, opened):
    probe = opened("interference:who=true")
    given = {name for name in spawner.run(python("0"), [probe]).counters if name.startswith("interference.")}
    declared = {column.name for column in find_layer("interference").columns}
    assert given == declared - set(probe.absent())
    assert all(len(reason) > 20 for reason in probe.absent().values())


def test_everything_is_a_level_or_a_rate_because_counts_of_the_machine_grow_with_the_run():
    columns = {column.name.removeprefix("interference."): column for column in find_layer("interference").columns}
    assert [name for name, column in columns.items() if column.level == column.rate] == []
    # What the idle moment before showed has nothing to do with how long the run took.
    assert not any(column.rate for name, column in columns.items() if name.endswith("_before"))
    assert [name for name, column in columns.items() if column.role == "consequence"] == ["psi.cpu_some"]


@two_cpus
def test_a_hog_on_the_cpu_of_the_run_is_seen(spawner, opened):
    probe = opened()
    with hog(CPUS[0]):
        run = spawner.run(python(BURN, affinity=frozenset({CPUS[0]})), [probe])
    finely(probe, run)
    assert run.counters["interference.cpus"] == 1
    # That CPU is never idle: what the run does not get, others get.
    assert run.counters["interference.others"] == pytest.approx(1 - own_share(run), abs=0.15)
    assert run.counters["interference.others"] > 0.1
    assert run.counters["interference.others_last_cpu"] == pytest.approx(run.counters["interference.others"], abs=0.15)
    assert run.counters["interference.others_before"] > 0.5


@two_cpus
def test_a_hog_on_another_cpu_is_not_mistaken_for_one_on_the_cpu_of_the_run(spawner, opened):
    probe = opened()
    with hog(CPUS[0]):
        run = spawner.run(python(BURN, affinity=frozenset({CPUS[1]})), [probe])
        everywhere = spawner.run(python(BURN), [probe])
    finely(probe, run)
    # The other CPU had all of its time to give to the hog; of this one no more than the rest can be others'.
    assert run.counters["interference.others"] <= 1 - own_share(run) + 0.15
    assert everywhere.counters["interference.cpus"] == len(CPUS)
    assert everywhere.counters["interference.others"] + own_share(everywhere) > 0.8


@two_cpus
def test_a_run_that_a_wrapper_pins_is_watched_on_the_cpu_that_it_was_pinned_to(spawner, opened):
    probe = opened()
    pinning = f"import os, sys\nos.sched_setaffinity(0, {{{CPUS[1]}}})\nos.execv(sys.executable, sys.argv[1:])"
    argv = (sys.executable, "-S", "-c", pinning, sys.executable, "-S", "-c", BURN)
    run = spawner.run(Launch(argv), [probe])
    assert run.counters["interference.cpus"] == 1


@two_cpus
def test_threads_that_a_runtime_binds_one_by_one_are_watched_on_all_their_cpus(spawner, opened):
    """Its main thread is bound to one CPU at the end, but it used the time of more."""
    child = "import os, time\nos.sched_setaffinity(0, {%d})\nwhile time.process_time() < 0.3: pass"
    code = f"""
import os, subprocess, sys
children = [subprocess.Popen([sys.executable, "-S", "-c", {child!r} % cpu]) for cpu in {CPUS!r}]
[one.wait() for one in children]
os.sched_setaffinity(0, {{{CPUS[0]}}})
"""
    probe = opened()
    run = spawner.run(python(code), [probe])
    if own_share(run) < 1.05:
        pytest.skip("the machine is too busy: the children did not run at the same time")
    assert run.counters["interference.cpus"] == len(CPUS)


def test_the_run_itself_and_its_children_are_not_others(spawner, opened):
    probe = opened()
    nested = f"import subprocess, sys\nsubprocess.run([sys.executable, '-S', '-c', {BURN!r}])"
    one = frozenset({CPUS[0]})
    alone, parent = (spawner.run(python(code, affinity=one), [probe]) for code in (BURN, nested))
    finely(probe, alone)
    for run in (alone, parent):
        assert run.counters["interference.others"] <= 1 - own_share(run) + 0.15


def test_the_idle_moment_is_before_any_probe_reads(spawner, opened):
    process = opened("process")
    layer, still = opened("interference:idle_ms=200"), opened("interference:idle_ms=0")
    runs = [spawner.run(Launch(("/bin/true",)), [process, probe]) for probe in (still, layer)]
    assert "interference.others_before" not in runs[0].counters
    assert "idle_ms=10" in still.absent()["interference.forks_before"]
    # All the time of all CPUs is in one of these; the moment of 200 ms is in none.
    times = [sum(run.counters.get(f"cpu.{kind}", 0) for kind in machine.CPU_FIELDS) for run in runs]
    assert times[1] < (0.1 + runs[1].wall_ns / 1e9) * os.cpu_count()


def test_processes_that_others_start_are_counted_in_the_idle_moment(spawner, opened):
    probe = opened("interference:idle_ms=300")
    # On SIGTERM the shell first waits for the child that it has: killed, it would leave us an orphan to reap.
    forking = subprocess.Popen(["/bin/sh", "-c", "trap exit TERM; while :; do /bin/true; done"])
    try:
        run = spawner.run(Launch(("/bin/true",)), [probe])
    finally:
        forking.terminate()
        forking.wait()
    assert run.counters["interference.forks_before"] > 0


@two_cpus
def test_the_busiest_other_process_is_named_by_its_last_cpu():
    with hog(CPUS[0]) as busy, hog(CPUS[1]) as elsewhere:
        run = os.getpid() + 10_000_000
        was = {busy.pid: 0, elsewhere.pid: 0}
        time.sleep(0.1)
        now = {pid: clock for pid, clock in interference.cpu_clocks().items() if pid in was}
        now[elsewhere.pid] = 2 * now[busy.pid]
        command, cpu_s = interference.busiest(was, now, run, {CPUS[0]})
        assert cpu_s == pytest.approx(now[busy.pid] / 1e9)
        assert command.startswith("python")
        assert interference.busiest(was, now, busy.pid, {CPUS[0]}) == ("none", 0.0)


def test_the_clock_of_another_process_is_its_cpu_time():
    with hog(CPUS[0]) as busy:
        time.sleep(0.05)
        first = interference.cpu_clocks()[busy.pid]
        ticks = sum(map(int, Path(f"/proc/{busy.pid}/stat").read_text().rpartition(")")[2].split()[11:13]))
        last = interference.cpu_clocks()[busy.pid]
    assert first - 2e7 <= ticks * 1e9 / machine.ticks_per_second() <= last + 2e7


class Fake:
    """A machine of some CPUs, with counters that a test moves on while a run is on."""

    def __init__(self, folder):
        self.root = folder
        self.online = [*range(max(CPUS) + 2)]
        self.busy = dict.fromkeys(self.online, 10.0)
        self.steal = dict.fromkeys(self.online, 0)
        self.interrupts = {"7": 100, "LOC": 100, "RES": 100, "CAL": 100, "TLB": 100}
        self.running, self.processes = 1, 100
        self.schedstat = True
        self.write()

    def write(self):
        heads = "".join(f"CPU{cpu:<8}" for cpu in self.online)
        rows = [
            f"{label:>4}: " + " ".join([str(n)] * len(self.online)) + "  what" for label, n in self.interrupts.items()
        ]
        self.file("interrupts", "\n".join([f"     {heads}", *rows]))
        self.file("softirqs", f"     {heads}\n  NET_RX: " + " ".join(["5"] * len(self.online)))
        lines = (f"cpu{n} {int(self.busy[n] * 100)} 0 0 0 0 0 0 {self.steal[n]} 0 0\n" for n in self.online)
        self.file("stat", STAT.format(cpus="".join(lines), processes=self.processes, running=self.running))
        if self.schedstat:
            lines = (f"cpu{n} 0 0 0 0 0 0 {int(self.busy[n] * 1e9)} 0 0\ndomain0 3 0" for n in self.online)
            self.file("schedstat", "version 15\ntimestamp 1\n" + "\n".join(lines))

    def file(self, name, text):
        path = self.root / "proc" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")


@pytest.fixture
def fake(tmp_path):
    return Fake(tmp_path)


def run_while(spawner, probe, change):
    """Let the machine change during a run."""
    return spawner.run(python("import time; time.sleep(0.05)"), [probe], on_started=lambda pid: change()).counters


def test_a_cpu_that_is_taken_out_in_mid_run_leaves_its_cells_empty_for_that_run(spawner, opened, fake):
    probe = opened("interference", fake.root)

    def unplug():
        fake.online.remove(CPUS[0])
        fake.write()

    counters = run_while(spawner, probe, unplug)
    gone = {"irq.device", "irq.RES", "softirq.NET_RX", "steal", "others"}
    assert not gone & {name.removeprefix("interference.") for name in counters}
    assert counters["interference.runnable"] == 0
    assert "interference.others" not in probe.absent()


def test_counters_that_go_backwards_leave_their_cells_empty(spawner, opened, fake):
    probe = opened("interference", fake.root)

    def fall():
        fake.interrupts |= {"RES": 50, "CAL": 130}
        fake.steal = dict.fromkeys(fake.online, -5)
        fake.processes = 3
        fake.write()

    fake.steal = dict.fromkeys(fake.online, 5)
    fake.write()
    counters = run_while(spawner, probe, fall)
    assert "interference.irq.RES" not in counters
    assert "interference.steal" not in counters
    assert counters["interference.irq.CAL"] > 0


def test_an_interrupt_line_that_appears_is_counted_and_one_that_goes_empties_the_cells(spawner, opened, fake):
    probe = opened("interference", fake.root)

    def appear():
        fake.interrupts["9"] = 10
        fake.write()

    def vanish():
        del fake.interrupts["9"]
        fake.write()

    assert run_while(spawner, probe, appear)["interference.irq.device"] > 0
    assert "interference.irq.device" not in run_while(spawner, probe, vanish)
    assert run_while(spawner, probe, fake.write)["interference.irq.device"] == 0


def test_steal_is_a_share_of_the_cpus_of_the_run_alone(spawner, opened, fake):
    probe = opened("interference", fake.root)

    def steal():
        fake.steal[fake.online[-1]] += 1000  # A CPU that the run may not use.
        fake.write()

    assert run_while(spawner, probe, steal)["interference.steal"] == 0

    def steal_here():
        fake.steal = {cpu: ticks + 1000 for cpu, ticks in fake.steal.items()}
        fake.write()

    assert run_while(spawner, probe, steal_here)["interference.steal"] == 100


def test_without_a_fine_account_clock_ticks_are_used_and_named_and_short_idle_moments_are_not(spawner, opened, fake):
    fine = opened("interference", fake.root)
    assert run_while(spawner, fine, fake.write)["interference.account"] == "schedstat"
    (fake.root / "proc/schedstat").unlink()
    fake.schedstat = False
    coarse = opened("interference", fake.root)

    def work():
        fake.busy = {cpu: seconds + 1 for cpu, seconds in fake.busy.items()}
        fake.write()

    counters = run_while(spawner, coarse, work)
    assert counters["interference.account"] == "stat"
    # More than there is time for: all of it.
    assert counters["interference.others"] > 0.3 * len(CPUS)
    assert "interference.others_before" not in counters
    assert "idle_ms=100" in coarse.absent()["interference.others_before"]


def test_a_control_group_that_is_not_the_root_is_no_account_of_the_machine(spawner, opened, fake):
    group = fake.root / "sys/fs/cgroup/cpuacct"
    group.mkdir(parents=True)
    (group / "cpuacct.usage_percpu").write_text(" ".join(["1"] * len(fake.online)) + " \n")
    assert run_while(spawner, opened("interference", fake.root), fake.write)["interference.account"] == "schedstat"
    (group / "release_agent").touch()
    assert run_while(spawner, opened("interference", fake.root), fake.write)["interference.account"] == "cpuacct"


def test_a_machine_that_shows_nothing_gives_nothing_and_says_why(spawner, opened, tmp_path):
    probe = opened("interference:who=true", tmp_path)
    given = {name for name in spawner.run(Launch(("/bin/true",)), [probe]).counters if name.startswith("interference.")}
    assert given <= {"interference.cpus", "interference.account"}
    absent = probe.absent()
    assert set(absent) == {column.name for column in find_layer("interference").columns} - given
    assert "psi=1" in absent["interference.psi.cpu_some"]
    assert "proc/interrupts cannot be read (No such file or directory)" in absent["interference.irq.RES"]
    assert "--root /" in absent["interference.top_command"]


@settings(derandomize=True, deadline=None)
@given(st.integers(1, 6), st.data())
def test_what_single_cpus_saw_adds_up_to_what_the_machine_saw(cpus, data):
    row = st.lists(st.integers(0, 2**31), min_size=cpus, max_size=cpus)
    table = data.draw(st.dictionaries(st.sampled_from(["1", "2", "LOC", "RES"]), row, min_size=1))
    later = {label: [n + data.draw(st.integers(0, 9)) for n in counts] for label, counts in table.items()}
    was, now = render(cpus, table), render(cpus, later)
    whole = machine.difference(was, now, machine.parse_interrupts)
    parts = [surroundings.per_cpu((was, now), frozenset({cpu})) or {} for cpu in range(cpus)]
    assert {name: sum(part.get(name, 0) for part in parts) for name in whole} == whole
    together = surroundings.per_cpu((was, now), frozenset(range(cpus))) or {}
    assert {name: change for name, change in together.items() if change} == {n: c for n, c in whole.items() if c}


def render(cpus, rows):
    lines = ["    " + " ".join(f"CPU{cpu}" for cpu in range(cpus))]
    lines += [f"{label}: {' '.join(map(str, counts))}  what" for label, counts in rows.items()]
    return ("\n".join(lines) + "\n").encode()
