"""Every setting of clocks, idle states and CPUs that is known, on a fake machine that has them all."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from vgo_agent.knowledge.loader import load
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.machine import Machine
from vgo_agent.tools.mitigation.engine import applied
from vgo_agent.tools.mitigation.journal import Journal
from vgo_agent.tools.mitigation.kernel_file import KernelFiles
from vgo_agent.tools.mitigation.parameters import levels_of, with_values
from vgo_agent.tools.subject import Subject

from ...layers.fake_root import CPU, CPUS, FakeRoot

KNOWN = load()
POLICIES = [f"cpufreq/policy{cpu}" for cpu in CPUS]
STATES = {number: [f"cpu{cpu}/cpuidle/state{number}/disable" for cpu in CPUS] for number in range(1, 3)}
UNCORE = "intel_uncore_frequency"
SET_TO: dict[str, dict[str, str]] = {
    "performance_governor": {f"{policy}/scaling_governor": "performance" for policy in POLICIES},
    "highest_minimum_frequency": {f"{policy}/scaling_min_freq": "3600000" for policy in POLICIES},
    "cap_frequency": {f"{policy}/scaling_max_freq": "2880000" for policy in POLICIES},
    "energy_preference_performance": {f"{policy}/energy_performance_preference": "performance" for policy in POLICIES},
    "energy_bias_performance": {f"cpu{cpu}/power/energy_perf_bias": "0" for cpu in CPUS},
    "turbo_off": {"intel_pstate/no_turbo": "1"},
    "fix_frequency": {"intel_pstate/no_turbo": "1"}
    | {f"{policy}/scaling_governor": "performance" for policy in POLICIES},
    "uncore_frequency_max": {f"{UNCORE}/package_0{n}_die_00/min_freq_khz": "2400000" for n in (0, 1)},
    "deep_idle_states_off": dict.fromkeys(STATES[2], "1"),
    "idle_states_off": dict.fromkeys(STATES[1] + STATES[2], "1"),
    "idle_governor": {"cpuidle/current_governor": "menu"},
    "disable_smt": {"smt/control": "off"},
    "one_cpu_offline": {"cpu1/online": "0"},
}
"""Files below /sys/devices/system/cpu, and what stands there while the mitigation is on."""


@pytest.fixture
def fake(tmp_path: Path) -> FakeRoot:
    fake = FakeRoot(tmp_path)
    for policy in POLICIES:
        fake.write(f"{CPU}/{policy}/cpuinfo_max_freq", 3_600_000)
    for cpu in CPUS:
        fake.write(f"{CPU}/cpu{cpu}/power/energy_perf_bias", 6)
        fake.write(f"{CPU}/cpu{cpu}/online", 1)
    for package in (0, 1):
        fake.write(f"{CPU}/{UNCORE}/package_0{package}_die_00/min_freq_khz", 800_000)
        fake.write(f"{CPU}/{UNCORE}/package_0{package}_die_00/max_freq_khz", 2_400_000)
    fake.write(f"{CPU}/cpuidle/current_governor", "teo")
    fake.write(f"{CPU}/smt/control", "on")
    return fake


@pytest.fixture
def four() -> Machine:
    return Machine(cpus=CPUS, root=True)


def everything(fake: FakeRoot) -> dict[str, str]:
    return {
        str(path.relative_to(fake.root)): path.read_text()
        for path in fake.root.rglob("*")
        if path.is_file() and not path.is_symlink()
    }


@pytest.mark.parametrize("key", SET_TO)
def test_it_is_set_read_back_and_put_back(
    key: str, fake: FakeRoot, four: Machine, subject: Subject, launch: Launch, journal_folder: Path
) -> None:
    before = everything(fake)
    with applied(KNOWN.mitigations[key], launch, subject, four, root=fake.root) as change:
        assert everything(fake) == before
        for _ in range(2):
            checks = change.on()
            assert checks and all(check.passed for check in checks), checks
            during = {name: said for name, said in everything(fake).items() if said != before[name]}
            assert during == {f"{CPU}/{name}": f"{value}\n" for name, value in SET_TO[key].items()}
            assert list(journal_folder.glob("*.json"))
            assert all(check.passed for check in change.off())
            assert everything(fake) == before
        change.on()
    assert everything(fake) == before
    assert not list(journal_folder.glob("*.json"))
    assert not any("someone else" in said for said in change.notices)


def test_every_known_setting_of_the_processor_is_tried_above() -> None:
    of_cpu = {
        key
        for key, mitigation in KNOWN.mitigations.items()
        if mitigation.apply and any(write.path.startswith(f"/{CPU}/") for write in mitigation.apply.write)
    }
    assert of_cpu == set(SET_TO)


def test_turbo_is_switched_by_either_file(fake: FakeRoot, four: Machine, subject: Subject, launch: Launch) -> None:
    fake.remove(f"{CPU}/intel_pstate/no_turbo")
    fake.write(f"{CPU}/cpufreq/boost", 1)
    with applied(KNOWN.mitigations["turbo_off"], launch, subject, four, root=fake.root) as change:
        (check,) = change.on()
        assert (check.what, check.seen, check.passed) == (f"/{CPU}/cpufreq/boost", "0", True)
        change.off()
        assert fake.number(f"{CPU}/cpufreq/boost") == 1


@pytest.mark.parametrize(("percent", "khz"), [("100", 3_600_000), ("95", 3_420_000), ("50", 1_800_000)])
def test_the_cap_is_a_share_of_the_highest_clock(
    percent: str, khz: int, fake: FakeRoot, four: Machine, subject: Subject, launch: Launch
) -> None:
    capped = with_values(KNOWN.mitigations["cap_frequency"], {"percent": percent}, four)
    with applied(capped, launch, subject, four, root=fake.root) as change:
        assert all(check.passed for check in change.on())
        assert {fake.number(f"{CPU}/{policy}/scaling_max_freq") for policy in POLICIES} == {khz}


def test_the_levels_of_the_cap_go_down_from_the_mildest(four: Machine) -> None:
    (parameter,) = KNOWN.mitigations["cap_frequency"].parameters
    levels = [int(level) for level in levels_of(parameter, four)]
    assert levels == sorted(levels, reverse=True)
    assert len(levels) >= 5


@pytest.mark.skipif(os.geteuid() != 0, reason="the wake-up latency can be asked for by root only")
def test_the_wake_up_latency_is_held_while_it_is_on(subject: Subject, launch: Launch, machine: Machine) -> None:
    if not Path("/dev/cpu_dma_latency").exists():
        pytest.skip("this kernel has no /dev/cpu_dma_latency")
    before = latency_us()
    if before == 0:
        pytest.skip("somebody else asks for a wake-up latency of 0 already")
    with applied(KNOWN.mitigations["shallow_idle_states"], launch, subject, machine) as change:
        for _ in range(2):
            assert all(check.passed for check in change.on())
            assert latency_us() == 0
            change.off()
            assert latency_us() == before
        change.on()
    assert latency_us() == before


def latency_us() -> int:
    """Reading without asking for anything: the effective value of all requests."""
    with open("/dev/cpu_dma_latency", "rb", buffering=0) as file:
        return int(struct.unpack("i", file.read(4))[0])


@pytest.mark.skipif(os.geteuid() != 0, reason="kernel settings can be written by root only")
@pytest.mark.parametrize("key", ["idle_states_off", "idle_governor"])
def test_what_this_machine_has_works_for_real(
    key: str, subject: Subject, launch: Launch, machine: Machine, journal_folder: Path
) -> None:
    mitigation = KNOWN.mitigations[key]
    if not Path(mitigation.applies.file).exists():
        pytest.skip(f"{mitigation.applies.file} is not there: this kernel does not offer it")
    kernel, watched = KernelFiles(), [mitigation.applies.file]
    before = [kernel.read(path) for path in watched]
    with applied(mitigation, launch, subject, machine) as change:
        assert all(check.passed for check in change.on())
        during = [kernel.read(path) for path in watched]
        assert all(check.passed for check in change.off())
        assert [kernel.read(path) for path in watched] == before
    assert during == (["menu"] if key == "idle_governor" else ["1"])
    assert [kernel.read(path) for path in watched] == before
    assert not Journal(journal_folder).entries()
