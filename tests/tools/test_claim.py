"""One claim: its test, its interval and its direction cannot disagree."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from vgo_agent import evals
from vgo_agent.tools.claim import MARGIN, PRICE, Arms, Claim, Names, TooFew, claim, claims, ratio_of, sentence
from vgo_agent.tools.statistics.ratio_test import EXCHANGES, FEWEST
from vgo_agent.tools.statistics.values import LARGEST, number

law = settings(derandomize=True, deadline=None)
MEASURES = ("spread", "sd", "cv", "mean")
numbers = st.integers(1, 10_000).map(lambda n: n / 64)
"""Steps of a clock, so that ties and runs without any deviation occur, and doubling loses no digit."""
sizes = st.integers(FEWEST, 30)


def made(arms, measure="spread", **chosen):
    found = claim(arms, measure, **chosen)
    assert isinstance(found, Claim)
    return found


def arm(size):
    return arrays(np.float64, size, elements=numbers)


paired = sizes.flatmap(lambda n: st.builds(Arms, arm(n), arm(n)))
apart = st.tuples(sizes, sizes).flatmap(
    lambda n: st.builds(Arms, arm(n[0]), arm(n[1]), paired=st.just(False), ordered=st.just(False))
)
any_arms = st.one_of(paired, apart)
measures = st.sampled_from(MEASURES)
alphas = st.sampled_from((0.002, 0.01, 0.05, 0.2))


def swapped(arms):
    return Arms(arms.other, arms.baseline, arms.paired, arms.whole, arms.hosts, arms.ordered)


def scaled(arms, by, offset=0.0):
    return Arms(arms.baseline, by * arms.other + offset, arms.paired, ordered=arms.ordered)


@law
@given(any_arms, measures, alphas)
def test_the_interval_leaves_out_1_exactly_where_the_test_rejects(arms, measure, alpha):
    found = claim(arms, measure, alpha=alpha)
    if isinstance(found, TooFew):
        return
    outside = found.low > 1 or (found.high is not None and found.high < 1)
    assert outside == (found.p_value <= 1 - found.level + 1e-12)
    assert (found.direction in ("less", "more")) == outside
    assert found.level == pytest.approx(1 - alpha)


def inverse_of(found):
    """Ratio and ends with the arms swapped; None: no end."""
    ratio = 0.0 if found.ratio is None else number(1 / found.ratio) if found.ratio else None
    low = 0.0 if found.high is None else min(1 / found.high, LARGEST) if found.high else LARGEST
    high = (0.0 if found.low >= LARGEST else 1 / found.low) if found.low else None
    return ratio, low, high


@law
@given(any_arms, measures)
def test_swapped_arms_give_the_inverse(arms, measure):
    """To the digit where all exchanges are made; where they are drawn, within what 10,000 of them leave open."""
    found, other = claim(arms, measure), claim(swapped(arms), measure)
    if isinstance(found, TooFew):
        assert isinstance(other, TooFew)
        return
    assert isinstance(other, Claim)
    ratio, *ends = inverse_of(found)
    assert (ratio is None) == (other.ratio is None)
    assert ratio is None or ratio == pytest.approx(other.ratio)
    assert other.p_value == pytest.approx(found.p_value, abs=0.05)
    if arms.paired and 2 ** found.units[0] <= EXCHANGES:
        assert ends == pytest.approx([other.low, other.high])
        assert other.p_value == pytest.approx(found.p_value)
        opposite = {"less": "more", "more": "less"}
        assert other.direction == opposite.get(found.direction, found.direction)


@law
@given(any_arms, measures, st.sampled_from((0.25, 2.0, 64.0)))
def test_scaling_one_arm_scales_the_ratio_and_its_ends(arms, measure, by):
    found, other = claim(arms, measure), claim(scaled(arms, by), measure)
    if isinstance(found, TooFew):
        assert isinstance(other, TooFew)
        return
    times = 1.0 if measure == "cv" else by
    assert isinstance(other, Claim)
    if found.ratio is None:  # a baseline that does not vary: any other one is without bound more
        assert other.ratio is None
        return
    # Pairs are asked for their differences how many neighbours belong together; a factor of one arm may change that.
    assume(other.units == found.units)
    assert other.low == pytest.approx(found.low * times)
    assert (other.high is None) == (found.high is None)
    assert found.high is None or other.high == pytest.approx(found.high * times)


@law
@given(any_arms, st.sampled_from(("spread", "sd")), st.sampled_from((-512.0, 2.0, 1024.0)))
def test_an_offset_changes_no_claim_of_a_spread(arms, measure, offset):
    found, other = claim(arms, measure), claim(scaled(arms, 1.0, offset), measure)
    if isinstance(found, TooFew):
        assert other == found
        return
    assert isinstance(other, Claim)
    assert (other.p_value, other.direction) == (found.p_value, found.direction)
    assert (other.low, other.high) == pytest.approx((found.low, found.high))


@law
@given(sizes.flatmap(arm), measures)
def test_equal_arms_claim_nothing(values, measure):
    for one in (True, False):
        found = claim(Arms(values, values.copy(), paired=one), measure)
        assert isinstance(found, TooFew) or found.direction in ("equivalent", "undecided")


@law
@given(any_arms, measures)
def test_a_larger_alpha_never_removes_a_claim(arms, measure):
    if isinstance(claim(arms, measure), TooFew):
        return
    told = [made(arms, measure, alpha=alpha).direction for alpha in (0.002, 0.01, 0.05, 0.2)]
    first = next((at for at, one in enumerate(told) if one in ("less", "more")), len(told))
    assert len(set(told[first:])) <= 1


@law
@given(st.lists(any_arms, min_size=2, max_size=5), measures)
def test_a_family_never_narrows_an_interval(members, measure):
    family = claims({str(at): one for at, one in enumerate(members)}, measure)
    for at, one in enumerate(members):
        alone, together = claim(one, measure), family[str(at)]
        if isinstance(alone, TooFew):
            assert together == alone
            continue
        assert isinstance(together, Claim)
        assert together.low <= alone.low
        assert together.high is None or (alone.high is not None and together.high >= alone.high)
        assert together.p_value == alone.p_value


@law
@given(st.integers(0, 20))
def test_the_order_of_pairs_is_of_no_account(seed):
    rng = np.random.default_rng(seed)
    x, y, order = rng.lognormal(0, 0.5, 60), rng.lognormal(0, 0.4, 60), rng.permutation(60)
    first = claim(Arms(x, y, ordered=False))
    other = claim(Arms(x[order], y[order], ordered=False))
    assert isinstance(first, Claim) and isinstance(other, Claim)
    # 10,000 exchanges drawn at random: their p-value has a standard error of .01 at most.
    assert abs(first.p_value - other.p_value) < 0.04


def test_an_arm_that_does_not_vary_leaves_an_end_open():
    steady, varying = np.full(20, 3.0), np.arange(20.0)
    less = claim(Arms(varying, steady, ordered=False))
    assert isinstance(less, Claim)
    assert (less.ratio, less.low, less.direction) == (0.0, 0.0, "less")
    more = claim(Arms(steady, varying, ordered=False))
    assert isinstance(more, Claim)
    assert (more.ratio, more.high, more.direction) == (None, None, "more")
    none = claim(Arms(steady, steady + 1))
    assert none == TooFew(units=(20, 20), why="neither arm varies at all")


@pytest.mark.parametrize("measure", ["spread", "sd", "cv", "mean"])
def test_rare_runs_far_off_in_both_arms_make_no_difference(measure):
    chance, draws = np.random.default_rng(5), 60
    arms = [100 + chance.normal(0, 10, (2, 40)) + 1000 * (chance.random((2, 40)) < 0.01) for _ in range(draws)]
    found = [claim(Arms(*pair), measure, seed=1) for pair in arms]
    differ = sum(isinstance(one, Claim) and one.direction in ("less", "more") for one in found)
    assert differ <= 9  # of 60 at 5 %, more would come in 2 of 1,000 times


@pytest.mark.parametrize("measure", ["spread", "sd", "cv"])
@pytest.mark.parametrize("value", [0.1, 3.0])  # of many tenths the mean is not one, by rounding
def test_two_outliers_beside_an_arm_that_does_not_vary_are_undecided_by_every_measure(measure, value):
    steady = np.full(41, value)
    odd = np.where(np.arange(41) % 20 == 7, 2 * value, value)
    assert made(Arms(steady, odd, paired=False, ordered=False), measure).direction == "undecided"
    assert made(Arms(odd, steady, paired=False, ordered=False), measure).direction == "undecided"
    assert claim(Arms(steady, steady, paired=False), measure) == TooFew(units=(41, 41), why="neither arm varies at all")


@pytest.mark.parametrize("paired", [True, False])
def test_few_runs_and_values_that_have_no_ratio_are_told(paired):
    few = claim(Arms(np.arange(9.0), np.arange(9.0), paired=paired))
    assert few == TooFew(units=(9, 9), why="there are 9 of each, and each arm needs at least 10")
    signs = np.linspace(-1.0, 1.0, 20)
    below = claim(Arms(signs, signs, paired=paired, ordered=False), "mean")
    assert below == TooFew(units=(20, 20), why="a ratio of means takes values that are all positive")


def test_samples_of_one_run_are_one_piece_of_evidence():
    rng = np.random.default_rng(3)
    runs = rng.normal(1, 0.1, 12), rng.normal(1, 0.1, 12)
    x, y = (np.repeat(one, 50) for one in runs)
    together = claim(Arms(x, y, whole=50))
    assert isinstance(together, Claim)
    assert together.units == (12, 12)
    assert together.direction == "undecided"


def test_what_hosts_differ_by_is_no_spread():
    rng = np.random.default_rng(4)
    hosts = np.repeat(np.arange(4), 20)
    levels = np.array([1.0, 5.0, 20.0, 100.0])[hosts]
    x, y = levels + rng.normal(0, 0.1, 80), levels + rng.normal(0, 0.02, 80)
    found = claim(Arms(x, y, hosts=hosts), "sd")
    assert isinstance(found, Claim)
    assert found.direction == "less" and found.ratio == pytest.approx(0.2, rel=0.3)
    assert made(Arms(x, y, ordered=False), "sd").direction != "less"


def test_what_is_not_finite_is_left_out_with_its_pair():
    x, y = np.arange(1.0, 41.0), np.arange(1.0, 41.0)[::-1].copy()
    holes = x.copy()
    holes[3] = np.nan
    kept = np.arange(40) != 3
    assert claim(Arms(holes, y, ordered=False)) == claim(Arms(x[kept], y[kept], ordered=False))


@law
@given(any_arms, measures, st.booleans())
def test_a_sentence_says_what_the_interval_says_and_quotes_it(arms, measure, lower_is_better):
    found = claim(arms, measure, alpha=0.2)
    if isinstance(found, TooFew):
        return
    said = sentence(found, Names("before", "after", lower_is_better))
    good, bad = ("steadier", "less steady") if measure != "mean" else ("faster", "slower")
    if measure == "mean" and not lower_is_better:
        good, bad = bad, good
    assert said.startswith(f"after is {good} than before: ") == (found.direction == "less")
    assert said.startswith(f"after is {bad} than before: ") == (found.direction == "more")
    assert said.startswith("There is no difference that matters") == (found.direction == "equivalent")
    assert said.startswith("It is undecided whether after is ") == (found.direction == "undecided")
    alike = found.ratio is not None and found.low == pytest.approx(found.high, rel=1e-9)
    assert ("(no interval: alike in all runs)" if alike else f"[{found.low:.3g}, ") in said and "80 %" in said


def test_a_family_decides_as_holm_does():
    rng = np.random.default_rng(8)
    members = {name: Arms(rng.normal(size=60), by * rng.normal(size=60)) for name, by in (("a", 0.3), ("b", 1.0))}
    found = claims(members, seed=1)
    levels = {name: one.level for name, one in found.items() if isinstance(one, Claim)}
    assert levels == pytest.approx({"a": 0.975, "b": 0.95})
    assert {name: one.direction for name, one in found.items() if isinstance(one, Claim)}["a"] == "less"


@law
@given(any_arms, measures, st.sampled_from((0.104, 0.96)))
def test_what_looks_have_spent_widens_the_interval_and_the_level_says_so(arms, measure, left):
    paid, whole = claim(replace(arms, left=left), measure), claim(arms, measure)
    if isinstance(whole, TooFew):
        assert paid == whole
        return
    assert isinstance(paid, Claim)
    assert paid.level == pytest.approx(1 - 0.05 * left)
    assert paid.low <= whole.low and (paid.high is None or (whole.high or 0) <= paid.high)
    assert (paid.direction in ("less", "more")) == (paid.p_value <= 0.05 * left + 1e-12)


@pytest.mark.parametrize(
    ("low", "high", "direction", "fall", "rise"),
    [
        (0.3, 0.6, "less", False, True),
        (0.7, 0.9, "less", False, True),
        (0.5, 1.2, "undecided", False, True),
        (0.7, 1.2, "equivalent", True, True),
        (0.7, None, "undecided", True, False),
        (0.9, 1.6, "undecided", True, False),
        (1.1, 1.3, "more", True, False),
    ],
)
def test_a_change_that_matters_is_excluded_where_the_interval_leaves_it_out(low, high, direction, fall, rise):
    found = made(Arms(np.arange(20.0), np.arange(20.0) ** 1.1)).model_copy(update={"low": low, "high": high})
    assert (found.direction, found.excludes("less"), found.excludes("more")) == (direction, fall, rise)


def test_a_twentieth_of_a_mean_matters_and_a_third_of_a_spread():
    arms = Arms(np.arange(20.0) + 1000, np.arange(20.0) + 1001)
    assert (made(arms, "mean").margin, made(arms).margin) == (1 / PRICE, MARGIN)


WORDS = re.compile(r"steadier|less steady|faster|(?<!i)slower|no difference", re.IGNORECASE)
ELSEWHERE = {
    "agent/answers/cues.py": "what people ask with",
    "layers/schema.py": "the field of a layer that says how much longer a run takes under it",
    "tools/execution/bench.py": "the same field",
    "prompts/model/system.txt.j2": "the task, as a model is told it",
}


def test_the_words_of_a_claim_stand_in_one_module():
    root = Path(evals.__file__).parents[1]
    rooms = ("agent", "tools", "layers", "evals", "prompts", "knowledge")
    sources = (path for room in rooms for suffix in (".py", ".j2") for path in (root / room).rglob(f"*{suffix}"))
    found = {path.relative_to(root).as_posix() for path in sources if WORDS.search(path.read_text())}
    assert found == {"tools/claim.py", *ELSEWHERE}


DECIDED = re.compile(r"\b(?:high|low|end|upper|lower)\b[^=<>\n]{0,20}[<>]=? 1(?:\.0)?\b(?! ?[*/+-])")


def test_an_end_of_an_interval_is_held_against_1_in_one_module():
    root = Path(evals.__file__).parents[1]
    sources = (path for room in ("agent", "tools", "evals") for path in (root / room).rglob("*.py"))
    found = {path.relative_to(root).as_posix() for path in sources if DECIDED.search(path.read_text())}
    assert found == {"tools/statistics/ratio_test.py"}


def test_a_cv_of_outcomes_whose_mean_is_0_is_refused_in_words() -> None:
    flat = np.tile((-1.0, 1.0), 10)
    found = claim(Arms(flat, flat + 1), "cv")
    assert isinstance(found, TooFew) and "not 0" in found.why
    assert ratio_of(Arms(flat, flat + 1), "cv") is None and ratio_of(Arms(flat, 2 * flat), "sd") == pytest.approx(2)
