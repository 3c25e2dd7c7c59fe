"""The layer `frequency` shows the clock of a machine that has one, and says why where there is none."""

import os
import resource
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.layers.loader import find_layer, open_probe
from vgo_agent.layers.probes import perf_open
from vgo_agent.layers.probes.frequency import Effective
from vgo_agent.layers.probes.sysfs import SysfsFiles, number
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.execution.spawn import Spawner

from .fake_root import CPU, CPUS

LAYER = find_layer("frequency")
POLICY = f"{CPU}/cpufreq/policy{{}}/scaling_cur_freq"


@pytest.fixture
def opened(opening):
    """Open the layer below a root with all CPUs."""

    def make(fake, **parameters):
        layer = LAYER.model_copy(update={"parameters": LAYER.parameters | {"cpus": "all"} | parameters})
        return opening(layer, fake.root)

    return make


def run(probe, script="true", fake=None, **conditions):
    """Run a shell script beside the probe; in it, `$1` is the root."""
    with Spawner() as spawner:
        argv = ("/bin/sh", "-c", script, "sh", str(fake.root) if fake else "")
        found = spawner.run(Launch(argv, **conditions), [probe])
    assert found.exit_code == 0, found.error
    return {name: value for name, value in found.counters.items() if name.startswith(("freq.", "idle."))}


def test_what_is_declared_is_what_is_given(fake, opened):
    probe = opened(fake, per_cpu=True, interval_ms=1)
    given = run(probe, "sleep 0.05")
    declared = {column.name for column in LAYER.columns} - set(probe.absent())
    assert set(probe.absent()) == {"freq.effective_mhz"}
    patterns = {
        "freq.cpu*.mhz": [f"freq.cpu{cpu}.mhz" for cpu in CPUS],
        **{
            f"idle.*.{name}": [f"idle.{state}.{name}" for state in ("POLL", "C1", "C6")]
            for name in ("share", "entries", "latency_us", "disabled")
        },
    }
    expected = {name for column in declared for name in patterns.get(column, [column])}
    assert {name for name in expected - set(given) if not name.endswith("sd_mhz")} == set()
    assert set(given) <= expected


def test_the_clock_of_a_run_is_not_that_before_it(fake, opened):
    fake.clock(800)
    probe = opened(fake, per_cpu=True)
    raise_it = "; ".join(f"echo {(2000 + 100 * cpu) * 1000} > $1/{POLICY.format(cpu)}" for cpu in CPUS)
    # The samples of the run are the one at its end and none before: there is but one in 1000 seconds.
    given = run(opened(fake, per_cpu=True, interval_ms=1_000_000), raise_it, fake)
    assert given["freq.start_mhz"] == 800
    assert (given["freq.mean_mhz"], given["freq.min_mhz"], given["freq.max_mhz"]) == (2150, 2000, 2300)
    assert [given[f"freq.cpu{cpu}.mhz"] for cpu in CPUS] == [2000, 2100, 2200, 2300]
    assert "freq.sd_mhz" not in given and "freq.run_cpu_sd_mhz" not in given
    again = run(probe, "true", fake)
    assert again["freq.start_mhz"] == again["freq.mean_mhz"] == 2150


def test_the_clock_of_the_cpu_on_which_the_program_is(fake, opened):
    cpu = max(os.sched_getaffinity(0) & set(CPUS), default=None)
    if cpu is None:
        pytest.skip("this process may use none of CPU 0 to 3")
    fake.clock(1000)
    fake.clock(3000, (cpu,))
    given = run(opened(fake), affinity=frozenset({cpu}))
    assert given["freq.run_cpu_mhz"] == given["freq.run_cpu_min_mhz"] == 3000
    assert given["freq.mean_mhz"] == 1500


def test_a_clock_that_changes_in_mid_run_has_a_spread(fake, opened, tmp_path):
    """The program changes the clock, and lives until a sample has seen it: until the file's access is counted."""
    fake.clock(1000)
    probe = opened(fake, interval_ms=1)
    slow = "; ".join(f"echo 500000 > $1/{POLICY.format(cpu)}" for cpu in CPUS)
    fast = slow.replace("500000", "2500000")
    given = run(probe, f"sleep 0.05; {fast}; sleep 0.05; {slow}; sleep 0.05", fake)
    assert given["freq.start_mhz"] == 1000
    assert given["freq.min_mhz"] == 500
    assert given["freq.sd_mhz"] > 0
    assert given["freq.min_mhz"] <= given["freq.mean_mhz"] <= given["freq.max_mhz"] <= 2500


def test_settings_are_read_for_each_run(fake, opened):
    probe = opened(fake)
    before = run(probe)
    assert (before["freq.driver"], before["freq.governor"]) == ("intel_pstate", "powersave")
    assert (before["freq.lowest_mhz"], before["freq.highest_mhz"], before["freq.turbo"]) == (800, 3600, 1)
    fake.govern(scaling_governor="performance", scaling_min_freq=3_600_000)
    fake.write(f"{CPU}/intel_pstate/no_turbo", 1)
    after = run(probe)
    assert (after["freq.governor"], after["freq.lowest_mhz"], after["freq.turbo"]) == ("performance", 3600, 0)


def test_settings_that_differ_between_cpus_are_mixed_and_their_limits_a_mean(fake, opened):
    fake.write(f"{CPU}/cpufreq/policy2/energy_performance_preference", "power")
    fake.write(f"{CPU}/cpufreq/policy3/scaling_max_freq", 1_200_000)
    probe = opened(fake)
    given = run(probe)
    assert (given["freq.energy_preference"], given["freq.governor"]) == ("mixed", "powersave")
    assert given["freq.highest_mhz"] == 3000
    fake.govern(energy_performance_preference="power")
    assert run(probe)["freq.energy_preference"] == "power"


def test_a_boost_switch_means_the_opposite_of_no_turbo(fake, opened):
    fake.remove(f"{CPU}/intel_pstate")
    fake.write(f"{CPU}/cpufreq/boost", 0)
    assert run(opened(fake))["freq.turbo"] == 0


def test_idle_states_are_shares_of_the_time_of_all_cpus(fake, opened):
    folder = f"$1/{CPU}/cpu{{}}/cpuidle/state2"
    sleep = "; ".join(f"echo 40000 > {folder.format(cpu)}/time; echo 3 > {folder.format(cpu)}/usage" for cpu in (0, 3))
    probe = opened(fake)
    given = run(probe, f"sleep 0.1; {sleep}", fake)
    assert 0 < given["idle.C6.share"] <= 0.08 / (4 * 0.1)
    assert (given["idle.C6.entries"], given["idle.entries"], given["idle.C1.entries"]) == (6, 6, 0)
    assert (given["idle.C6.latency_us"], given["idle.C6.disabled"]) == (133, 0)
    fake.write(f"{CPU}/cpu0/cpuidle/state2/disable", 1)
    assert run(probe)["idle.C6.disabled"] == 0.25


def test_a_counter_that_goes_back_is_a_missing_cell(fake, opened):
    for cpu in CPUS:
        fake.sleep(cpu, 2, 500, entries=5)
    given = run(opened(fake), f"echo 1 > $1/{CPU}/cpu1/cpuidle/state2/usage", fake)
    assert "idle.C6.entries" not in given and "idle.entries" not in given
    assert given["idle.C6.share"] == 0 == given["idle.C1.entries"]


def test_a_cpu_that_is_taken_out_in_mid_run_is_left_out_and_comes_back(fake, opened):
    with subprocess.Popen(["sleep", "1000"]) as process:
        try:
            fake.lend(POLICY.format(3), process)
            probe = opened(fake, per_cpu=True)
            threading.Thread(target=process.wait).start()
            gone = run(probe, f"kill -9 {process.pid}; while [ -e /proc/{process.pid} ]; do sleep 0.001; done")
            assert "freq.cpu3.mhz" not in gone and gone["freq.cpu0.mhz"] == 2000
            gone = run(probe)
            assert "freq.mean_mhz" not in gone, "the mean of the CPUs that are left is another one"
            (fake.root / POLICY.format(3)).unlink()
            fake.clock(1200, (3,))
            assert run(probe)["freq.cpu3.mhz"] == 1200
        finally:
            process.kill()


def test_cpus_that_share_a_clock_are_read_once_and_shown_each(fake, opened):
    shutil.rmtree(fake.root / f"{CPU}/cpufreq/policy3")
    (fake.root / f"{CPU}/cpu3/cpufreq").unlink()
    (fake.root / f"{CPU}/cpu3/cpufreq").symlink_to("../cpufreq/policy0")
    fake.clock(1700, (0,))
    given = run(opened(fake, per_cpu=True))
    assert given["freq.cpu0.mhz"] == given["freq.cpu3.mhz"] == 1700


def test_without_cpufreq_the_clock_is_in_cpuinfo_if_the_processor_counts_its_cycles(fake, opened):
    fake.remove(f"{CPU}/cpufreq")
    probe = opened(fake)
    given = run(probe)
    assert given["freq.mean_mhz"] == given["freq.run_cpu_mhz"] == 2000
    assert "freq.governor" not in given
    assert "run on bare metal" in probe.absent()["freq.governor"]
    fake.write("proc/cpuinfo", (fake.root / "proc/cpuinfo").read_text().replace(" aperfmperf", ""))
    blind = opened(fake)
    assert "freq.mean_mhz" not in run(blind)
    assert "nominal clock" in blind.absent()["freq.mean_mhz"]


def test_a_machine_without_clocks_says_so_and_gives_no_zero(fake, opened):
    for gone in (f"{CPU}/cpufreq", f"{CPU}/intel_pstate", f"{CPU}/cpu*/cpuidle", "proc/cpuinfo"):
        fake.remove(gone)
    probe = opened(fake)
    assert run(probe) == {}
    assert set(probe.absent()) == {column.name for column in LAYER.columns}
    assert all(len(reason) > 20 and ": " in reason for reason in probe.absent().values())


def test_what_one_driver_lacks_is_absent_alone(fake, opened):
    fake.remove(f"{CPU}/cpufreq/policy*/energy_performance_preference")
    probe = opened(fake)
    assert set(probe.absent()) == {"freq.energy_preference", "freq.cpu*.mhz", "freq.effective_mhz"}
    assert "per_cpu=true" in probe.absent()["freq.cpu*.mhz"]
    assert run(probe)["freq.governor"] == "powersave"


@pytest.mark.parametrize(("cpus", "mean"), [("0", 1000), (1.0, 2000), ("0-1,3", 2000), ("all", 2000)])
def test_the_cpus_to_watch_are_a_parameter(fake, opened, cpus, mean):
    fake.clock(1000, (0,))
    fake.clock(3000, (3,))
    assert run(opened(fake, cpus=cpus))["freq.mean_mhz"] == mean


@pytest.mark.parametrize("cpus", ["none", "0-9", "3-"])
def test_cpus_that_are_not_there_are_refused_with_the_cure(fake, opened, cpus):
    with pytest.raises(VgoError, match="frequency:cpus="):
        opened(fake, cpus=cpus)


def test_this_machine_gives_each_column_or_the_reason():
    probe = open_probe(LAYER)
    try:
        given = run(probe, "sleep 0.3")
        for column in LAYER.columns:
            prefix, _, suffix = column.name.partition("*")
            there = [name for name in given if name.startswith(prefix) and name.endswith(suffix)]
            assert there or column.name in probe.absent()
        assert min((value for value in given.values() if isinstance(value, float)), default=0.0) >= 0
    finally:
        probe.close()


def test_the_effective_clock_is_the_nominal_one_times_the_boost():
    """With the ticks of the nominal clock on both sides of the ratio, since few machines show more in the msr PMU."""
    probe = Effective(Path("/"), "msr/tsc/ / msr/tsc/")
    try:
        if probe.absent():
            pytest.skip(next(iter(probe.absent().values())))
        with Spawner() as spawner:
            seen = [
                float(spawner.run(Launch(("/bin/sh", "-c", code)), [probe]).counters["freq.effective_mhz"])
                for code in ("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done", "sleep 0.1")
            ]
    finally:
        probe.close()
    # The time between is no matter, and neither is what the program does: it is one clock.
    assert 500 < seen[0] < 10_000
    assert seen[1] == pytest.approx(seen[0], rel=0.1)


def test_more_files_than_may_stay_open_are_read_all_the_same(tmp_path):
    paths = [tmp_path / str(number) for number in range(100)]
    for place, path in enumerate(paths):
        path.write_text(f"{place}\n")
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    before = len(os.listdir("/proc/self/fd"))
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before + 60, limits[1]))
        several = [SysfsFiles(paths) for _ in range(3)]
        assert before < len(os.listdir("/proc/self/fd")) <= before + 60
        for files in several:
            assert [number(said) for said in files.read()] == list(range(100))
            files.close()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert len(os.listdir("/proc/self/fd")) == before


def test_closing_gives_every_file_and_thread_back(fake):
    perf_open.thread()  # stays for as long as the process does
    # The kernel may list a thread for a moment after it was joined, so Python's own list is asked.
    before = sorted(os.listdir("/proc/self/fd")), threading.enumerate()
    for layer in (LAYER, find_layer("thermal")):
        probe = open_probe(layer, fake.root)
        assert len(os.listdir("/proc/self/fd")) > len(before[0])
        assert len(threading.enumerate()) > len(before[1])
        probe.close()
        assert (sorted(os.listdir("/proc/self/fd")), threading.enumerate()) == before
