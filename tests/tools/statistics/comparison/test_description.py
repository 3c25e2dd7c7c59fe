"""Two arms side by side, paired or not: ratios, intervals, shifts."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.tools.statistics.comparison import resampling
from vgo_agent.tools.statistics.comparison.description import Description, describe_arms
from vgo_agent.tools.statistics.comparison.resampling import SortedArm, Statistic, draw
from vgo_agent.tools.statistics.values import FloatArray

from ....examples import examples
from ...conftest import Draws

steady = settings(max_examples=examples(0.5), deadline=None, derandomize=True)

LAWS = {
    "normal": lambda rng, n: rng.normal(1, 0.05, n),
    "lognormal": lambda rng, n: rng.lognormal(0, 0.5, n),
    "bimodal": lambda rng, n: rng.normal(1, 0.02, n) + 0.3 * (rng.random(n) < 0.15),
    "spiky": lambda rng, n: rng.normal(1, 0.02, n) + np.where(rng.random(n) < 0.1, rng.exponential(1, n), 0),
}


def arms(seed: int, n: int = 40, ratio: float = 0.5) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    return rng.lognormal(0, 0.3, n), 1 + ratio * (rng.lognormal(0, 0.3, n) - 1)


def run(before: ArrayLike, after: ArrayLike, seed: int = 0) -> Description:
    return describe_arms(before, after, seed=seed, resamples=200)


def test_a_cure_of_the_slow_mode_is_seen_and_the_modes_are_counted() -> None:
    rng = np.random.default_rng(3)
    before = rng.normal(1, 0.02, 100) + 0.5 * (rng.random(100) < 0.3)
    found = describe_arms(before, rng.normal(1, 0.02, 100))
    assert (found.baseline_modes, found.other_modes) == (2, 1)
    sd = found.ratio("sd")
    assert sd.low is not None and sd.value is not None and sd.high is not None
    assert sd.low <= sd.value <= sd.high < 0.66


def test_intervals_cover_the_truth_about_as_often_as_they_say(draws: Draws) -> None:
    rng = np.random.default_rng(4)
    found = [
        describe_arms(rng.normal(1, 0.05, 60), 1 + 0.5 * rng.normal(0, 0.05, 60), seed=s, resamples=400)
        for s in range(draws(50, 100))
    ]
    truths: tuple[tuple[Statistic, float], ...] = (("sd", 0.5), ("mean", 1.0), ("iqr", 0.5))
    for statistic, truth in truths:
        ratios = [comparison.ratio(statistic) for comparison in found]
        assert np.mean([r.low is not None and r.high is not None and r.low <= truth <= r.high for r in ratios]) >= 0.88


@steady
@given(st.integers(0, 1000), st.floats(0.2, 2))
def test_the_unit_changes_no_ratio(seed: int, ratio: float) -> None:
    before, after = arms(seed, ratio=ratio)
    one, other = run(before, after, seed), run(before * 1000, after * 1000, seed)
    for a, b in zip(one.ratios, other.ratios, strict=True):
        assert (a.value, a.low or 0, a.high or 0) == pytest.approx((b.value, b.low or 0, b.high or 0), rel=1e-6)


@steady
@given(st.integers(0, 1000), st.floats(0.2, 2))
def test_swapping_the_arms_inverts_ratios_and_intervals(seed: int, ratio: float) -> None:
    before, after = arms(seed, ratio=ratio)
    assume(min(before.min(), after.min()) > 0)
    one, other = run(before, after, seed), run(after, before, seed)
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
    one, other = run(before, after), run(before[order], after[order])
    assert [ratio.value for ratio in one.ratios] == pytest.approx([ratio.value for ratio in other.ratios])


@steady
@given(st.lists(st.floats(0.001, 1000), min_size=2, max_size=40))
def test_an_arm_against_itself_shows_nothing(values: list[float]) -> None:
    found = run(values, values)
    for ratio in found.ratios:
        assert ratio.value is None or ratio.value == 1.0
        assert ratio.low is None or (ratio.low, ratio.high) == (1.0, 1.0)


def test_ratios_that_mean_nothing_are_none() -> None:
    found = describe_arms(np.linspace(-1, 1, 20), np.linspace(-2, 2, 20))
    assert found.ratio("mean").value is None
    assert found.ratio("sd").value == pytest.approx(2)


def test_broken_pairs_are_dropped_and_counted_and_arms_of_unequal_length_refused() -> None:
    before, after = arms(8)
    before[3], after[7] = np.nan, np.inf
    found = run(before, after)
    assert (found.baseline_runs, found.other_runs, found.dropped) == (38, 38, 2)
    with pytest.raises(VgoError, match="40 and 39"):
        describe_arms(before, after[1:])


def test_a_description_survives_the_transcript_and_repeats_itself() -> None:
    found = describe_arms(*arms(9), seed=5, resamples=200)
    assert (
        Description.model_validate_json(found.model_dump_json())
        == found
        == describe_arms(*arms(9), seed=5, resamples=200)
    )


def test_pairs_that_share_a_drift_are_independent_of_each_other() -> None:
    rng = np.random.default_rng(12)
    drift = np.linspace(0, 3, 80)
    found = describe_arms(10 + drift + rng.normal(0, 0.1, 80), 10 + drift + rng.normal(0, 0.1, 80), resamples=200)
    assert found.block == 1 and not found.notes


@pytest.mark.cells(2)
@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("law", ["normal", "lognormal", "bimodal"])
def test_every_interval_that_is_given_covers_the_truth(law: str, paired: bool, draws: Draws) -> None:
    rng = np.random.default_rng(13)
    hits: dict[str, list[bool]] = {}
    for seed in range(draws(50, 100)):
        found = describe_arms(LAWS[law](rng, 60), 2 * LAWS[law](rng, 60), paired=paired, seed=seed, resamples=300)
        for ratio in found.ratios:
            if ratio.low is not None and ratio.high is not None:
                truth = 1 if ratio.statistic == "cv" else 2
                hits.setdefault(ratio.statistic, []).append(ratio.low <= truth <= ratio.high)
    assert {"mean", "median", "sd", "cv", "mad", "iqr", "p95-p05", "p90"} == set(hits)
    assert all(np.mean(covered) >= 0.88 for covered in hits.values())


def test_the_shorter_arm_decides_which_intervals_stand() -> None:
    rng = np.random.default_rng(19)
    given = {}
    for n in (19, 20, 30, 50):
        found = describe_arms(rng.normal(10, 1, 200), rng.normal(10, 1, n), paired=False, resamples=50)
        given[n] = {ratio.statistic for ratio in found.ratios if ratio.low is not None}
        assert all(ratio.value is not None for ratio in found.ratios)
    assert given[19] == set()
    assert given[20] == {"mean", "median", "sd", "cv", "mad"}
    assert given[30] == given[20] | {"iqr"}
    assert given[50] == given[30] | {"p95-p05", "p90"}


def test_no_interval_stands_where_the_runs_do_not_reach() -> None:
    rng = np.random.default_rng(14)
    given = {}
    for n in (40, 60, 100, 500):
        found = describe_arms(rng.normal(10, 1, n), rng.normal(10, 1, n), resamples=50)
        given[n] = [name for name in REACHING if found.ratio(name).low is not None]
        bands = [shift.share for shift in found.shifts if shift.low is not None]
        assert min(bands) == pytest.approx({40: 0.15, 60: 0.1, 100: 0.05, 500: 0.05}[n])
    assert given == {40: [], 60: ["p90"], 100: ["p90", "p95"], 500: ["p90", "p95", "p99"]}


@steady
@given(st.integers(0, 1000), st.booleans())
def test_the_mirror_image_changes_no_spread_and_turns_the_tails(seed: int, paired: bool) -> None:
    before, after = arms(seed, n=60)
    one = describe_arms(before, after, paired=paired, seed=seed, resamples=100)
    other = describe_arms(100 - before, 100 - after, paired=paired, seed=seed, resamples=100, lower_is_better=False)
    for spread in SPREAD_STATISTICS:
        assert one.ratio(spread).value == pytest.approx(other.ratio(spread).value)
    for high, low in TURNED:
        assert one.ratio(high).other == pytest.approx(100 - (other.ratio(low).other or 0))
    assert [shift.difference for shift in one.shifts] == pytest.approx(
        [-shift.difference for shift in reversed(other.shifts)]
    )
    assert one.distance == pytest.approx(other.distance)


REACHING: tuple[Statistic, ...] = ("p90", "p95", "p99", "range")
SPREAD_STATISTICS: tuple[Statistic, ...] = ("sd", "mad", "iqr", "p95-p05", "range")
TURNED: tuple[tuple[Statistic, Statistic], ...] = (("p90", "p10"), ("p95", "p5"), ("p99", "p1"))


def test_the_shift_of_every_quantile_and_the_distance_are_told() -> None:
    rng = np.random.default_rng(15)
    before = rng.normal(10, 1, 200)
    found = describe_arms(before, before + 2, paired=False, resamples=100)
    assert [round(shift.difference, 6) for shift in found.shifts] == [2.0] * 19
    assert all(
        shift.low is not None and shift.high is not None and shift.low < 2 < shift.high for shift in found.shifts
    )
    assert found.distance == pytest.approx(2) and found.relative_distance == pytest.approx(2 / before.std(ddof=1))


def test_long_arms_are_read_by_the_normal_law_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resampling, "MOST_DRAWS", resampling.MOST_DRAWS // 5)
    rng = np.random.default_rng(17)
    found = describe_arms(rng.lognormal(0, 0.5, 20_000), rng.lognormal(0, 0.5, 20_000), paired=False, resamples=500)
    assert any("200 resamples stand for 500" in note for note in found.notes)
    sd = found.ratio("sd")
    assert sd.low is not None and sd.high is not None and sd.low < 1 < sd.high < 1.1 * sd.low


def test_an_arm_of_one_run_is_refused() -> None:
    with pytest.raises(VgoError, match="baseline has 1 run.s. with a finite value"):
        describe_arms([1.0], [1.0, 2.0], paired=False)


@steady
@given(st.lists(st.integers(0, 6).map(float), min_size=2, max_size=30), st.integers(0, 1000))
def test_counting_resamples_gives_what_sorting_them_would(values: list[float], seed: int) -> None:
    x = np.array(values)
    counts = draw(np.random.default_rng(seed), x.size, 20, 1)
    found = SortedArm.of(x).resampled(counts, True)
    for row in range(20):
        drawn = np.repeat(x, counts[row])
        middle = np.median(drawn)
        assert found["mad"][row] == pytest.approx(np.median(np.abs(drawn - middle)))
        assert found["sd"][row] == pytest.approx(drawn.std(ddof=1))
        assert found["p95"][row] == pytest.approx(np.quantile(drawn, 0.95))
        assert found[0.5][row] == pytest.approx(middle)


def nested(rng, runs, samples, scale, shared):
    """Samples of runs: the share `shared` of the variance belongs to a run as a whole."""
    run = np.sqrt(shared) * rng.normal(size=(runs, 1))
    return np.exp(0.3 * scale * (run + np.sqrt(1 - shared) * rng.normal(size=(runs, samples)))).ravel()


def test_a_fall_of_the_spread_within_runs_is_seen_over_whole_runs():
    rng = np.random.default_rng(4)
    found = describe_arms(nested(rng, 24, 10, 1, 0.3), nested(rng, 24, 10, 0.4, 0.3), whole=10)
    assert found.block % 10 == 0
    high = found.ratio("sd").high
    assert high is not None and high < 0.66
    assert "10 samples" in found.notes[0]


def test_few_runs_with_many_samples_have_no_interval():
    rng = np.random.default_rng(5)
    found = describe_arms(nested(rng, 6, 200, 1, 0.3), nested(rng, 6, 200, 0.1, 0.3), whole=200)
    assert found.ratio("sd").low is None


def test_samples_that_are_no_whole_runs_are_refused():
    with pytest.raises(ValueError, match="no whole runs of 7"):
        describe_arms(np.arange(20.0), np.arange(20.0), whole=7)


def test_where_a_resample_has_next_to_no_error_the_interval_is_open_above():
    """Its upper end would be a number that no float holds."""
    chance = np.random.default_rng(12)
    x, y = ((chance.random(30) < 0.1) * 5 + chance.normal(0, 1e-3, 30) for _ in range(2))
    sd = describe_arms(x, y, seed=12, resamples=400).ratio("sd")
    assert sd.value is not None and sd.low is not None and sd.high is None
