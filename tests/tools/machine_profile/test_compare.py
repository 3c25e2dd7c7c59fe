"""The B/A profile: its laws, and what it says of what is missing, out of line or not comparable."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.tools.machine_profile.compare import BootstrapEstimate, MachineComparison, compare, speed_up
from vgo_agent.tools.machine_profile.form import Application, Profile, read_applications
from vgo_agent.tools.machine_profile.quota import quota_of

from .made import profile, system

NAMES = tuple(f"cpu-{letter}" for letter in "abcdefgh")
Rates = dict[str, list[float]]
positive = st.floats(1e-3, 1e6)
rates = st.dictionaries(st.sampled_from(NAMES), st.lists(positive, min_size=1, max_size=5), min_size=1)
seldom = settings(deadline=None)


def paired(draw: st.DrawFn) -> tuple[Rates, Rates]:
    a = draw(rates)
    return a, {name: draw(st.lists(positive, min_size=1, max_size=5)) for name in a}


both = st.composite(paired)()


def five(found: MachineComparison) -> list[BootstrapEstimate]:
    one = found.groups[0]
    return [one.least, one.quartile_1, one.median, one.quartile_3, one.greatest, one.mean]


def near(one: float | None, other: float | None) -> bool:
    return one is None and other is None or math.isclose(one or 0, other or 0, rel_tol=1e-6)


def inverse(one: float | None) -> float | None:
    return None if one is None else 1 / one


@seldom
@given(rates)
def test_a_machine_is_as_fast_as_itself(a: Rates) -> None:
    found = compare(profile(a), profile(a))
    assert all(near(one.speed_up.value, 1) for one in found.ratios)
    assert all(near(one.value, 1) for one in five(found))
    assert all(one.low is None or one.low <= 1 + 1e-9 and (one.high or 0) >= 1 - 1e-9 for one in five(found)[1:4])


@seldom
@given(both)
def test_b_over_a_is_one_over_a_over_b(rates: tuple[Rates, Rates]) -> None:
    a, b = profile(rates[0]), profile(rates[1])
    there, back = compare(a, b), compare(b, a)
    for one, other in zip(there.ratios, back.ratios, strict=True):
        assert near(one.speed_up.value, inverse(other.speed_up.value))
        assert near(one.speed_up.low, inverse(other.speed_up.high))
    least, low, median, high, greatest, mean = five(back)
    mirrored = [greatest, high, median, low, least, mean]
    for straight, reverse in zip(five(there), mirrored, strict=True):
        assert near(straight.value, inverse(reverse.value))
        assert near(straight.low, inverse(reverse.high)) and near(straight.high, inverse(reverse.low))
    assert there.groups[0].outliers == back.groups[0].outliers


@seldom
@given(both, st.randoms())
def test_the_order_of_runs_and_stressors_does_not_matter(rates: tuple[Rates, Rates], random: object) -> None:
    a, b = profile(rates[0]), profile(rates[1])
    assert compare(shuffled(a, random), shuffled(b, random)) == compare(a, b)


@seldom
@given(both, st.floats(0.01, 100))
def test_a_factor_on_all_rates_is_a_factor_on_all_speed_ups(rates: tuple[Rates, Rates], factor: float) -> None:
    faster = {name: [factor * rate for rate in found] for name, found in rates[1].items()}
    plain = five(compare(profile(rates[0]), profile(rates[1])))
    scaled = five(compare(profile(rates[0]), profile(faster)))
    for one, other in zip(plain, scaled, strict=True):
        assert near(factor * one.value, other.value)


def shuffled(one: Profile, random: object) -> Profile:
    runs, names = list(one.runs), list(one.battery.stressors)
    random.shuffle(runs)  # type: ignore[attr-defined]
    random.shuffle(names)  # type: ignore[attr-defined]
    battery = one.battery.model_copy(update={"stressors": {name: one.battery.stressors[name] for name in names}})
    return one.model_copy(update={"runs": tuple(runs), "battery": battery})


def test_the_interval_of_a_ratio_covers_it_as_often_as_it_says() -> None:
    import numpy as np

    draw = np.random.default_rng(5)
    covered = 0
    for _ in range(400):
        a, b = np.exp(draw.normal(0, 0.1, 9)), np.exp(draw.normal(0.5, 0.1, 9))
        found = speed_up(list(a), list(b))
        covered += found.low is not None and found.high is not None and found.low <= math.exp(0.5) <= found.high
    assert 0.9 <= covered / 400 <= 1


def test_memory_stands_apart_and_does_not_widen_the_bound() -> None:
    a: Mapping[str, list[float]] = {"cpu-a": [1, 1], "cpu-b": [1, 1], "stream": [1, 1]}
    b: Mapping[str, list[float]] = {"cpu-a": [2, 2], "cpu-b": [3, 3], "stream": [14, 14]}
    found = compare(profile(a, {"stream": "memory"}), profile(b, {"stream": "memory"}))
    assert found.bound is not None
    assert (round(found.bound.least.value, 9), round(found.bound.greatest.value, 9)) == (2, 3)
    assert [one.group for one in found.groups] == ["cpu", "memory"]


def test_zero_failed_and_one_sided_stressors_are_named() -> None:
    a = profile({"cpu-a": [1.0], "cpu-zero": [0.0], "cpu-old": [1.0]}, failed={"cpu-crash": "ended by signal 11"})
    b = profile({"cpu-a": [1.0], "cpu-zero": [1.0], "cpu-crash": [1.0]})
    missing = compare(a, b).missing
    assert missing["cpu-zero"] == "A: zero bogo operations"
    assert missing["cpu-crash"] == "A: ended by signal 11"
    assert missing["cpu-old"] == "B: not in its battery"


def test_an_outlier_is_named_and_kept() -> None:
    a = profile({name: [1.0] for name in NAMES})
    b = profile({name: [2.0 + 0.1 * at] for at, name in enumerate(NAMES[:-1])} | {NAMES[-1]: [50.0]})
    found = compare(a, b).groups[0]
    assert found.outliers == (NAMES[-1],)
    assert found.greatest.value == pytest.approx(50) and found.greatest_inside == pytest.approx(2.6)


def test_other_architecture_version_and_a_busy_machine_are_told() -> None:
    a = profile({"cpu-a": [1.0]}, of=system(architecture="aarch64", stress_ng="0.17.00"))
    b = profile({"cpu-a": [1.0]})
    busy = b.model_copy(update={"runs": tuple(run.model_copy(update={"cpu_s": 0.5}) for run in b.runs)})
    told = " ".join(compare(a, busy).notes)
    assert "A is aarch64 and B is x86_64" in told
    assert "0.17.00" in told
    assert "B was busy" in told and "50 % of a CPU" in told


def test_a_quota_is_told_and_is_no_busy_machine() -> None:
    told = " ".join(compare(profile({"cpu-a": [1.0]}), profile({"cpu-a": [0.6]}, quota=quota_of(0.6))).notes)
    assert "B was measured under a quota of 0.6 CPUs" in told and "busy" not in told


def test_nothing_in_common_is_a_sentence() -> None:
    with pytest.raises(VgoError, match="no stressor in common"):
        compare(profile({"cpu-a": [1.0]}), profile({"cpu-b": [1.0]}))


def test_applications_are_held_against_the_bound() -> None:
    a, b = profile({"cpu-a": [1.0], "cpu-b": [1.0]}), profile({"cpu-a": [2.0], "cpu-b": [3.0]})
    programs = (
        Application(name="c-ray", seconds_a=5, seconds_b=2),
        Application(name="STREAM", seconds_a=14, seconds_b=1),
    )
    judged = compare(a, b, "real", programs).applications
    assert [(one.name, one.inside) for one in judged] == [("c-ray", True), ("STREAM", False)]


def test_applications_are_read_with_or_without_a_header(tmp_path: Path) -> None:
    path = tmp_path / "times.csv"
    path.write_text("name,seconds A,seconds B\nc-ray,5,2\n\n")
    headed = read_applications(path)
    path.write_text("c-ray,5,2\n")
    assert headed == read_applications(path) == (Application(name="c-ray", seconds_a=5, seconds_b=2),)


@pytest.mark.parametrize("text", ["", "a,b,c\n", "x,1\n", "x,1,0\n", "x,1,nan\n", "x,1,2\ny,-1,2\n"])
def test_a_broken_list_of_applications_is_a_sentence(text: str, tmp_path: Path) -> None:
    path = tmp_path / "times.csv"
    path.write_text(text)
    with pytest.raises(VgoError, match=r"write .*name,seconds on A,seconds on B"):
        read_applications(path)
