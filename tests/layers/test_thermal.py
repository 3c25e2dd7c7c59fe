"""The layer `thermal` shows temperatures, fans, throttling and energy, and says why where there are none."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.layers.loader import find_layer
from vgo_agent.layers.probes.thermal import used_uj
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.execution.spawn import Spawner

from .fake_root import CPU, CPUS, ENERGY_RANGE_UJ, PACKAGE

LAYER = find_layer("thermal")
RARE = {"interval_ms": 1_000_000}
"""So that a run has but the samples at its start and at its end."""


@pytest.fixture
def opened(opening):
    def make(fake, **parameters):
        layer = LAYER.model_copy(update={"parameters": LAYER.parameters | parameters})
        return opening(layer, fake.root)

    return make


def run(probe, fake, script="true"):
    """Run a shell script beside the probe; in it, `$1` is the root."""
    with Spawner() as spawner:
        found = spawner.run(Launch(("/bin/sh", "-c", script, "sh", str(fake.root))), [probe])
    assert found.exit_code == 0, found.error
    prefixes = tuple({column.name.partition(".")[0] + "." for column in LAYER.columns})
    return {name: value for name, value in found.counters.items() if name.startswith(prefixes)}


def test_what_is_declared_is_what_is_given(fake, opened):
    found = run(opened(fake), fake)
    assert {LAYER.column(name) is not None for name in found} == {True}
    for column in LAYER.columns:
        prefix, _, suffix = column.name.partition("*")
        assert [name for name in found if name.startswith(prefix) and name.endswith(suffix)], column.name


def test_a_temperature_at_the_start_is_told_from_those_of_the_run(fake, opened):
    hot = "echo 80000 > $1/sys/class/thermal/thermal_zone0/temp"
    found = run(opened(fake, **RARE), fake, hot)
    assert found["temp.x86_pkg_temp0.start_c"] == 40
    assert found["temp.x86_pkg_temp0.max_c"] == 80
    assert found["temp.x86_pkg_temp0.mean_c"] == 60
    assert found["temp.x86_pkg_temp1.max_c"] == 41


def test_a_chip_with_several_sensors_shows_its_hottest_and_a_zone_is_not_shown_twice(fake, opened):
    found = run(opened(fake), fake)
    assert found["temp.coretemp.max_c"] == 44
    assert found["temp.acpitz.max_c"] == 30
    assert sorted(name for name in found if name.endswith(".start_c")) == [
        f"temp.{name}.start_c" for name in ("acpitz", "coretemp", "nct6775", "nvme", "x86_pkg_temp0", "x86_pkg_temp1")
    ]


def test_fans_and_cooling_devices(fake, opened):
    fan, cooling = "hwmon/hwmon3/fan1_input", f"thermal/cooling_device{CPUS[2]}/cur_state"
    slow = f"echo 800 > $1/sys/class/{fan}; echo 3 > $1/sys/class/{cooling}"
    found = run(opened(fake, **RARE), fake, slow)
    assert found["fan.nct6775_1.rpm"] == 1000
    assert found["cooling.Processor.state"] == 3


def test_a_package_that_throttles_counts_once_though_each_of_its_cpus_counts_it(fake, opened):
    throttled = "; ".join(
        f"echo {said} > $1/{CPU}/cpu{cpu}/thermal_throttle/{name}"
        for cpu in CPUS
        if PACKAGE[cpu] == 1
        for name, said in {
            "core_throttle_count": 7,
            "core_throttle_total_time_ms": 80,
            "package_throttle_count": 6,
            "package_throttle_total_time_ms": 75,
        }.items()
    )
    probe = opened(fake)
    found = run(probe, fake, throttled)
    assert (found["throttle.core_events"], found["throttle.core_ms"]) == (4, 20)
    assert (found["throttle.package_events"], found["throttle.package_ms"]) == (1, 5)
    calm = run(probe, fake)
    assert {calm[column] for column in calm if column.startswith("throttle.")} == {0}


def test_a_throttle_count_that_cannot_be_read_or_goes_back_is_missing(fake, opened):
    folder = f"$1/{CPU}/cpu2/thermal_throttle"
    found = run(opened(fake), fake, f"echo 1 > {folder}/core_throttle_count; echo > {folder}/package_throttle_count")
    assert {name for name in found if name.startswith("throttle.")} == {"throttle.core_ms", "throttle.package_ms"}


def test_energy_is_counted_over_the_end_of_its_range(fake, opened):
    zone = "sys/class/powercap/intel-rapl:0"
    fake.write(f"{zone}/energy_uj", ENERGY_RANGE_UJ - 2_000_000)
    found = run(opened(fake), fake, f"sleep 0.05; echo 000003000000 1<> $1/{zone}/energy_uj")  # not empty in between
    assert found["energy.package-0.j"] == 5
    # The run took at least as long as it slept.
    assert 0 < found["power.package-0.w"] <= 5 / 0.05
    assert found["energy.package-1.j"] == 0
    assert {name for name in found if name.endswith(".j")} == {
        f"energy.{name}.j" for name in ("package-0", "package-1", "package-0_core", "package-1_core")
    }


def test_energy_that_goes_back_without_a_known_range_is_missing(fake, opened):
    zone = "sys/class/powercap/intel-rapl:0"
    fake.remove(f"{zone}/max_energy_range_uj")
    found = run(opened(fake), fake, f"echo 5 > $1/{zone}/energy_uj")
    assert "energy.package-0.j" not in found and "power.package-0.w" not in found
    assert found["energy.package-1.j"] == 0


def test_a_counter_of_energy_that_is_reset_is_missing_and_not_a_whole_turn(fake, opened):
    zone = "sys/class/powercap/intel-rapl:0"
    fake.write(f"{zone}/energy_uj", 9_000_000)
    found = run(opened(fake), fake, f"echo 5 > $1/{zone}/energy_uj")
    assert "energy.package-0.j" not in found and "power.package-0.w" not in found


def test_the_same_counters_by_way_of_mmio_are_not_shown_twice(fake, opened):
    for name, said in (("name", "package-0"), ("energy_uj", 5), ("max_energy_range_uj", ENERGY_RANGE_UJ)):
        fake.write(f"sys/class/powercap/intel-rapl-mmio:0/{name}", said)
    assert "energy.package-0.j" in run(opened(fake), fake)


def test_a_sensor_that_says_nothing_in_mid_run_has_the_samples_that_it_had(fake, opened):
    probe = opened(fake, **RARE)
    found = run(probe, fake, "echo > $1/sys/class/thermal/thermal_zone0/temp")
    assert found["temp.x86_pkg_temp0.max_c"] == found["temp.x86_pkg_temp0.start_c"] == 40
    gone = run(probe, fake)
    assert not [name for name in gone if name.startswith("temp.x86_pkg_temp0.")]
    fake.heat(50)
    assert run(probe, fake)["temp.x86_pkg_temp0.start_c"] == 50


def test_a_machine_without_sensors_says_so_and_gives_no_zero(fake, opened):
    for gone in ("sys/class/thermal", "sys/class/hwmon", "sys/class/powercap", f"{CPU}/cpu*/thermal_throttle"):
        fake.remove(gone)
    probe = opened(fake)
    assert run(probe, fake) == {}
    assert set(probe.absent()) == {column.name for column in LAYER.columns}
    assert all(len(reason) > 20 and ": " in reason for reason in probe.absent().values())


def test_what_only_grows_with_time_is_a_consequence_and_heat_is_a_level():
    columns = {column.name: (column.role, column.level) for column in LAYER.columns}
    assert columns["energy.*.j"] == ("consequence", False)
    assert columns["power.*.w"] == ("consequence", True)
    assert columns["temp.*.max_c"] == ("factor", True)
    assert columns["throttle.core_events"] == ("factor", False)


@settings(derandomize=True, deadline=None)
@given(st.integers(0, 99), st.lists(st.integers(0, 49), max_size=20))
def test_energy_is_the_sum_of_what_was_used_however_often_the_counter_began_anew(start, used):
    counts = [start]
    for amount in used:
        counts.append((counts[-1] + amount) % 100)
    assert used_uj([float(count) for count in counts], 100.0) == sum(used)
