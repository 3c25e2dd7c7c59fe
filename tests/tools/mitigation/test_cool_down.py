"""Waiting until it is as cool as before the first run, beside a fake machine whose clock is a test's."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgo_agent.knowledge import actions
from vgo_agent.knowledge.errors import VgoError
from vgo_agent.tools.mitigation.cool_down import CoolDownWait, cooling, of_processor

ZONE = "sys/class/thermal/thermal_zone0"


class Machine:
    """One that cools towards 40 degrees by a share of the difference each second."""

    def __init__(self, root: Path, celsius: float = 40.0, towards: float = 40.0) -> None:
        self.root = root
        self.now_s = 0.0
        self.towards = towards
        (root / ZONE).mkdir(parents=True)
        (root / ZONE / "type").write_text("x86_pkg_temp\n")
        self.heat(celsius)

    def heat(self, celsius: float) -> None:
        self.celsius = celsius
        (self.root / ZONE / "temp").write_text(f"{round(1000 * celsius)}\n")

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds
        self.heat(self.towards + (self.celsius - self.towards) * 0.9**seconds)

    def cooling(self, **action: float) -> CoolDownWait:
        return cooling(
            actions.CoolDown.model_validate(action), {"CUDA_VISIBLE_DEVICES": ""}, self.root, self.clock, self.sleep
        )

    def clock(self) -> float:
        return self.now_s


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_each_mitigated_run_begins_as_cool_as_the_first(machine: Machine) -> None:
    cooling = machine.cooling(within_celsius=3, most_s=60)
    cooling.on()
    for _ in range(5):
        machine.heat(80)
        before_s = machine.now_s
        (check,) = cooling.on()
        assert machine.celsius <= 43
        assert 20 < machine.now_s - before_s < 30
        assert (check.passed, check.expected) == (True, "at most 43.0 degrees")
        assert check.what == "temperature of the processor before the run"
    assert cooling.notices == ()


def test_the_baseline_does_not_wait(machine: Machine) -> None:
    cooling = machine.cooling()
    cooling.on()
    machine.heat(80)
    before_s = machine.now_s
    assert cooling.off() == ()
    assert (machine.now_s, machine.celsius) == (before_s, 80)


def test_what_is_cool_enough_is_not_waited_for(machine: Machine) -> None:
    cooling = machine.cooling()
    cooling.on()
    before_s = machine.now_s
    assert all(check.passed for check in cooling.on())
    assert machine.now_s == before_s


def test_the_first_one_waits_until_the_heat_of_earlier_runs_is_gone(tmp_path: Path) -> None:
    machine = Machine(tmp_path, celsius=90)
    machine.cooling(most_s=600).on()
    assert machine.celsius < 43


def test_a_machine_that_stays_hot_is_told_after_the_longest_wait(machine: Machine) -> None:
    cooling = machine.cooling(within_celsius=3, most_s=60)
    cooling.on()
    machine.towards = 70
    machine.heat(80)
    before_s = machine.now_s
    (check,) = cooling.on()
    assert machine.now_s - before_s == pytest.approx(60, abs=1)
    assert not check.passed
    assert cooling.notices == (
        "cool-down: 1 of 2 waits ended after 60 s without coming within 3 degrees of the start: "
        "cool better, or wait longer",
    )


def test_a_sensor_that_goes_away_does_not_hold_the_runs_up_but_fails_the_check(machine: Machine) -> None:
    cooling = machine.cooling()
    cooling.on()
    (machine.root / ZONE / "temp").unlink()
    (check,) = cooling.on()
    assert not check.passed
    assert check.seen.startswith("none after")


def test_without_a_sensor_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(VgoError, match="No temperature can be read"):
        cooling(actions.CoolDown(), {}, tmp_path)


def test_sensors_of_the_processor_are_preferred_to_those_of_the_board_and_the_disk(tmp_path: Path) -> None:
    def chip(number: int, name: str, celsius: int) -> None:
        folder = tmp_path / f"sys/class/hwmon/hwmon{number}"
        folder.mkdir(parents=True)
        (folder / "name").write_text(f"{name}\n")
        (folder / "temp1_input").write_text(f"{celsius}000\n")

    seconds: list[float] = []
    chip(0, "nvme", 70)
    assert [one.name for one in of_processor(tmp_path)] == ["nvme"]
    chip(1, "coretemp", 41)
    chip(2, "coretemp", 44)
    assert [one.name for one in of_processor(tmp_path)] == ["coretemp0", "coretemp1"]
    (check,) = cooling(actions.CoolDown(), {}, tmp_path, sleep=seconds.append).on()
    assert seconds == [5.0]
    assert check.expected == "at most 47.0 degrees", "the hottest counts"


@given(st.lists(st.floats(30, 100), min_size=1, max_size=10), st.floats(0.5, 20), st.floats(1, 100), st.floats(30, 100))
def test_a_wait_ends_cool_or_at_its_limit(heats: list[float], within: float, most_s: float, towards: float) -> None:
    now = {"s": 0.0, "celsius": 40.0}

    def sleep(seconds: float) -> None:
        now["s"] += seconds
        now["celsius"] = towards + (now["celsius"] - towards) * 0.9**seconds

    action = actions.CoolDown(within_celsius=within, most_s=most_s)
    waiting = CoolDownWait(action, lambda: {"it": now["celsius"]}, lambda: now["s"], sleep)
    waiting.on()
    late = 0
    for celsius in heats:
        now["celsius"] = celsius
        began = now["s"]
        (check,) = waiting.on()
        assert check.passed or now["s"] - began >= most_s
        assert now["s"] - began < most_s + 1
        late += not check.passed
    assert bool(waiting.notices) >= bool(late)
