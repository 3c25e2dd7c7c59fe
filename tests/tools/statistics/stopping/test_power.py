"""How many runs show a change: the simulation against the test it speaks for."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.tools.claim import Arms, Claim, claim
from vgo_agent.tools.statistics.stopping.power import PowerRequest, pairs_needed, simulated_power
from vgo_agent.tools.statistics.stopping.recorded_law import Kind, law, least_squares_cut
from vgo_agent.tools.statistics.values import FloatArray

from ...conftest import Draws

steady = settings(deadline=None, derandomize=True)
Draw = Callable[[np.random.Generator, int], FloatArray]
LAWS: dict[str, Draw] = {
    "normal": lambda rng, n: rng.normal(1, 0.05, n),
    "lognormal": lambda rng, n: rng.lognormal(0, 0.5, n),
    "bimodal": lambda rng, n: rng.normal(0, 1, n) + 8 * (rng.random(n) < 0.15),
}
RUNS = st.lists(st.integers(1, 10_000), min_size=20, max_size=60, unique=True).map(lambda us: np.array(us) / 1e6)


@pytest.mark.parametrize("name", LAWS)
def test_the_runs_that_are_named_have_the_power_that_is_promised(name: str, draws: Draws) -> None:
    rng = np.random.default_rng(4)
    draw = LAWS[name]
    found = simulated_power(draw(rng, 2000), PowerRequest(0.66, paired=True), experiments=150, exchanges=200)
    assert found.runs and found.low and found.high and found.low <= found.runs <= found.high

    def steadier(seed: int) -> bool:
        baseline, other = draw(rng, found.runs or 0), draw(rng, found.runs or 0)
        cured = np.median(other) + 0.66 * (other - np.median(other))
        made = claim(Arms(baseline, cured, ordered=False), seed=seed)
        return isinstance(made, Claim) and made.direction == "less"

    assert np.mean([steadier(seed) for seed in range(draws(200, 300))]) == pytest.approx(0.8, abs=0.08)


def test_a_change_of_nothing_is_shown_as_seldom_as_alpha_says() -> None:
    runs = np.random.default_rng(5).lognormal(size=500)
    found = simulated_power(runs, PowerRequest(0.9999, paired=True), start=40, most=40, experiments=10)
    assert found.runs is None and found.low is None
    assert found.curve[0].power <= 0.1


def test_a_stronger_cure_and_less_certainty_need_fewer_runs() -> None:
    runs = np.random.default_rng(6).normal(size=300)

    def needed(ratio: float, power: float = 0.8) -> int:
        return (
            simulated_power(runs, PowerRequest(ratio, power, paired=True), experiments=100, exchanges=200).runs or 10**6
        )

    assert needed(0.5) < needed(0.66) < needed(0.8)
    assert needed(0.66, power=0.5) < needed(0.66)


def test_the_same_seed_gives_the_same_answer_in_any_unit() -> None:
    runs = np.random.default_rng(7).lognormal(size=100)
    one, other = (
        simulated_power(runs * unit, PowerRequest(0.5, paired=True), experiments=40, exchanges=100)
        for unit in (1, 1024)
    )
    assert one == other


@steady
@given(RUNS, st.floats(0.3, 0.95), st.sampled_from(["scale", "tail"]))
def test_a_cure_gives_the_sd_that_is_asked_for(runs: FloatArray, ratio: float, kind: Kind) -> None:
    # Each value many times: interpolating between neighbours of two groups moves hardly a run.
    runs = np.repeat(runs, 50)
    try:
        made = law(runs, ratio, kind)
    except VgoError as refused:
        assert kind == "tail" and "cannot reach --plan" in str(refused)
        return
    places = (np.arange(20_000) + 0.5) / 20_000
    before, after = made.baseline(places).std(), made.cured(places).std()
    assert after / before == pytest.approx(ratio, rel=1e-6 if kind == "scale" else 0.03)


@pytest.mark.parametrize("sign", [1, -1])
def test_making_the_rare_mode_rarer_leaves_the_other_where_it_is(sign: int) -> None:
    rng = np.random.default_rng(8)
    runs = sign * (rng.normal(size=2000) + 20 * (rng.random(2000) < 0.15))
    made = law(runs, 0.66, "tail")
    cured = made.cured(rng.random(20_000))
    far = np.abs(cured) > 10
    assert 0.02 < far.mean() < 0.09
    assert np.median(cured[~far]) == pytest.approx(np.median(runs[np.abs(runs) < 10]), abs=0.1)
    assert cured.std() / runs.std() == pytest.approx(0.66, abs=0.05)


def test_two_groups_are_cut_between_them() -> None:
    assert least_squares_cut(np.array([1.0, 1.1, 1.2, 9.0, 9.1])) == 3
    assert least_squares_cut(np.array([1.0, 1.0, 1.0, 2.0])) == 3


def test_a_tail_that_cannot_give_the_ratio_is_refused_with_what_it_can_give() -> None:
    runs = np.random.default_rng(9).random(200)
    with pytest.raises(VgoError, match=r"would still be 0\.\d+ of what it is"):
        law(runs, 0.1, "tail")


@pytest.mark.cells(1)
@pytest.mark.parametrize("name", ["normal", "bimodal"])
def test_planned_pairs_agree_with_the_simulation_of_the_true_law(name: str) -> None:
    rng = np.random.default_rng(10)
    true = max(
        simulated_power(
            LAWS[name](rng, 4000), PowerRequest(0.66, kind=kind, paired=True), experiments=100, exchanges=200
        ).runs
        or 0
        for kind in ("scale", "tail")
    )
    planned = float(np.median([pairs_needed(LAWS[name](rng, 100)) for _ in range(5)]))
    assert math.log(planned / true) == pytest.approx(0, abs=0.3)


def test_heavy_tails_need_more_pairs_up_to_the_cap_and_no_spread_the_least() -> None:
    rng = np.random.default_rng(11)
    runs = rng.normal(size=200)
    spiky = runs * 0.02 + np.where(rng.random(200) < 0.05, rng.exponential(1, 200), 0)
    assert pairs_needed(runs) < pairs_needed(spiky) <= 400
    assert pairs_needed([1.0] * 40) == 30
    with pytest.raises(ValueError, match="ratio of 1"):
        pairs_needed(runs, ratio=1)
