"""Two arms of pairs: ratios, intervals, tests, a verdict in words."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.tools.statistics.comparison.bootstrap import Statistic
from vgo_agent.tools.statistics.comparison.compare import Comparison, compare, holm
from vgo_agent.tools.statistics.values import FloatArray

steady = settings(max_examples=25, deadline=None, derandomize=True)
P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=12)

LAWS = {
    "normal": lambda rng, n: rng.normal(1, 0.05, n),
    "lognormal": lambda rng, n: rng.lognormal(0, 0.5, n),
    "bimodal": lambda rng, n: rng.normal(1, 0.02, n) + 0.3 * (rng.random(n) < 0.15),
    "spiky": lambda rng, n: rng.normal(1, 0.02, n) + np.where(rng.random(n) < 0.1, rng.exponential(1, n), 0),
}


def arms(seed: int, n: int = 40, ratio: float = 0.5) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    return rng.lognormal(0, 0.3, n), 1 + ratio * (rng.lognormal(0, 0.3, n) - 1)


@pytest.mark.parametrize("law", LAWS)
def test_the_same_program_twice_is_rarely_called_steadier(law: str) -> None:
    rng = np.random.default_rng(1)
    verdicts = [compare(LAWS[law](rng, 60), LAWS[law](rng, 60), seed, 300).verdict for seed in range(80)]
    assert verdicts.count("steadier") / 80 <= 0.08
    assert verdicts.count("less steady") / 80 <= 0.08


@pytest.mark.parametrize(("law", "least"), [("normal", 0.95), ("lognormal", 0.95), ("bimodal", 0.7)])
def test_a_spread_of_two_fifths_is_seen_in_sixty_pairs(law: str, least: float) -> None:
    rng = np.random.default_rng(2)
    steadier = []
    for seed in range(40):
        before, after = LAWS[law](rng, 60), LAWS[law](rng, 60)
        steadier.append(compare(before, 1 + 0.4 * (after - 1), seed, 300).verdict == "steadier")
    assert np.mean(steadier) >= least


def test_a_cure_of_the_slow_mode_is_seen_and_the_modes_are_counted() -> None:
    rng = np.random.default_rng(3)
    before = rng.normal(1, 0.02, 100) + 0.5 * (rng.random(100) < 0.3)
    found = compare(before, rng.normal(1, 0.02, 100))
    assert (found.verdict, found.modes_baseline, found.modes_mitigated) == ("steadier", 2, 1)
    sd = found.ratio("sd")
    assert sd.low is not None and sd.value is not None and sd.high is not None
    assert sd.low <= sd.value <= sd.high < 0.66


def test_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    rng = np.random.default_rng(4)
    found = [compare(rng.normal(1, 0.05, 60), 1 + 0.5 * rng.normal(0, 0.05, 60), s, 400) for s in range(100)]
    truths: tuple[tuple[Statistic, float], ...] = (("sd", 0.5), ("mean", 1.0), ("iqr", 0.5))
    for statistic, truth in truths:
        ratios = [comparison.ratio(statistic) for comparison in found]
        assert np.mean([r.low is not None and r.high is not None and r.low <= truth <= r.high for r in ratios]) >= 0.88


def test_a_shift_of_the_mean_is_reported_beside_and_is_no_change_of_spread() -> None:
    rng = np.random.default_rng(5)
    runs = rng.normal(1, 0.05, 60)
    found = compare(runs, rng.normal(1.2, 0.05, 60))
    assert found.verdict == "no difference shown" and found.p_location < 0.01
    assert found.ratio("mean").value == pytest.approx(1.2, rel=0.03)


@steady
@given(st.integers(0, 1000), st.floats(0.2, 2))
def test_the_unit_changes_no_ratio_and_no_verdict(seed: int, ratio: float) -> None:
    before, after = arms(seed, ratio=ratio)
    one, other = compare(before, after, seed, 200), compare(before * 1000, after * 1000, seed, 200)
    assert (one.verdict, one.p_value, one.p_location) == (other.verdict, other.p_value, other.p_location)
    for a, b in zip(one.ratios, other.ratios, strict=True):
        assert (a.value, a.low or 0, a.high or 0) == pytest.approx((b.value, b.low or 0, b.high or 0), rel=1e-6)


@steady
@given(st.integers(0, 1000), st.floats(0.2, 2))
def test_swapping_the_arms_inverts_ratios_intervals_and_verdict(seed: int, ratio: float) -> None:
    before, after = arms(seed, ratio=ratio)
    assume(min(before.min(), after.min()) > 0)
    one, other = compare(before, after, seed, 200), compare(after, before, seed, 200)
    assert one.p_value == other.p_value and one.p_location == other.p_location
    turned = {"steadier": "less steady", "less steady": "steadier"}
    assert other.verdict == turned.get(one.verdict, one.verdict)
    for a, b in zip(one.ratios, other.ratios, strict=True):
        assert a.value is not None and b.value is not None
        assert a.value * b.value == pytest.approx(1)
        if a.low is not None and b.high is not None:
            # Quantiles are interpolated between resamples, on either side of the inversion.
            assert a.low * b.high == pytest.approx(1, rel=0.05)


@steady
@given(st.integers(0, 1000), st.randoms(use_true_random=False))
def test_the_order_of_the_pairs_changes_no_ratio(seed: int, random: Random) -> None:
    before, after = arms(seed)
    order = list(range(before.size))
    random.shuffle(order)
    one, other = compare(before, after, 0, 50), compare(before[order], after[order], 0, 50)
    assert [ratio.value for ratio in one.ratios] == pytest.approx([ratio.value for ratio in other.ratios])


@steady
@given(st.lists(st.floats(0.001, 1000), min_size=2, max_size=40))
def test_an_arm_against_itself_shows_nothing(values: list[float]) -> None:
    found = compare(values, values, 0, 100)
    assert found.p_value == found.p_location == 1.0
    assert found.verdict in ("no difference shown", "cannot tell")
    for ratio in found.ratios:
        assert ratio.value is None or ratio.value == 1.0
        assert ratio.low is None or (ratio.low, ratio.high) == (1.0, 1.0)


def test_arms_without_spread_do_not_crash() -> None:
    both = compare([1.0] * 20, [1.0] * 20)
    assert (both.verdict, both.ratio("sd").value) == ("no difference shown", None)
    rng = np.random.default_rng(6)
    silent = compare(rng.normal(1, 0.1, 40), [1.0] * 40)
    assert (silent.verdict, silent.ratio("sd").value) == ("steadier", 0.0)
    louder = compare([1.0] * 40, rng.normal(1, 0.1, 40))
    assert (louder.verdict, louder.ratio("sd").value) == ("less steady", None)


def test_ratios_that_mean_nothing_are_none() -> None:
    found = compare(np.linspace(-1, 1, 20), np.linspace(-2, 2, 20))
    assert found.ratio("mean").value is None
    assert found.ratio("sd").value == pytest.approx(2)


@pytest.mark.parametrize("n", [2, 3, 9])
def test_too_few_pairs_cannot_tell(n: int) -> None:
    assert compare(np.arange(1.0, n + 1), np.ones(n), 0, 100).verdict == "cannot tell"


def test_a_clock_as_coarse_as_the_spread_cannot_tell() -> None:
    rng = np.random.default_rng(7)
    coarse = np.round(rng.normal(1, 0.003, 60), 2)
    assert compare(coarse, rng.normal(1, 0.003, 60)).verdict == "cannot tell"


def test_broken_pairs_are_dropped_and_counted_and_arms_of_unequal_length_refused() -> None:
    before, after = arms(8)
    before[3], after[7] = np.nan, np.inf
    found = compare(before, after, 0, 100)
    assert (found.n, found.dropped) == (38, 2)
    with pytest.raises(VgoError, match="40 and 39"):
        compare(before, after[1:])


def test_a_comparison_survives_the_transcript_and_repeats_itself() -> None:
    found = compare(*arms(9), seed=5, resamples=200)
    assert Comparison.model_validate_json(found.model_dump_json()) == found == compare(*arms(9), seed=5, resamples=200)


@steady
@given(P_VALUES)
def test_holm_keeps_the_order_and_never_helps(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert all(0 <= p <= q <= 1 for p, q in zip(p_values, adjusted, strict=True))
    assert all(
        q <= s
        for p, q in zip(p_values, adjusted, strict=True)
        for r, s in zip(p_values, adjusted, strict=True)
        if p <= r
    )


@steady
@given(P_VALUES, st.randoms(use_true_random=False))
def test_holm_does_not_depend_on_the_order_of_the_claims(p_values: list[float], random: Random) -> None:
    order = list(range(len(p_values)))
    random.shuffle(order)
    assert holm([p_values[place] for place in order]) == tuple(holm(p_values)[place] for place in order)


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx((0.03, 0.06, 0.06))
    assert holm([]) == ()
