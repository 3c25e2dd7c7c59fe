"""A setting of many values has one statistic: found where each value has few runs, claimed by luck no more often."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import gammaln, log_ndtr, logsumexp

from vgo_agent.tools.statistics.association.columns import Columns
from vgo_agent.tools.statistics.association.factors import Association, associate
from vgo_agent.tools.statistics.association.search import equivalent, grouped
from vgo_agent.tools.statistics.labels.cut_p_value import cut_p_value
from vgo_agent.tools.statistics.labels.cut_search import search_cut
from vgo_agent.tools.statistics.values import FloatArray, IntArray, ranks_of

from ...conftest import Draws
from ...levels import most

SEEDS = st.integers(0, 2**32 - 1)
LAW = settings(derandomize=True, deadline=None)


def indicators(which: IntArray) -> FloatArray:
    return np.asarray(which[:, None] == np.unique(which), dtype=np.float64)


def unit(columns: FloatArray) -> FloatArray:
    centred = columns - columns.mean(axis=0)
    lengths: FloatArray = np.sqrt((centred**2).sum(axis=0))
    return np.asarray(centred / lengths)


@LAW
@given(SEEDS, st.integers(2, 12), st.integers(0, 3))
def test_the_sum_is_that_of_kruskal_and_wallis_with_or_without_its_last_indicator(
    seed: int, values: int, ties: int
) -> None:
    rng = np.random.default_rng(seed)
    which = np.concatenate([np.arange(values), rng.integers(0, values, 60)])
    y = rng.normal(size=which.size).round(ties)
    parts = [y[which == value] for value in range(values)]
    expected = stats.kruskal(*parts).statistic
    scores, vectors = ranks_of(y), unit(indicators(which))
    z = np.sqrt(which.size - 1) * (scores @ vectors) / np.sqrt(scores @ scores)
    for members in (range(values), range(values - 1)):
        together = grouped(vectors, [members])
        assert together.freedom == values - 1
        assert together.sums(z)[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("freedom", [1, 2, 10, 50, 98])
def test_the_equivalent_z_has_the_chance_of_the_sum_however_far_out(freedom: int) -> None:
    sums = np.array([0.5, 5.0, 50, 200, 1000, 1290, 1300, 1500, 5000, 1e5])
    if freedom == 1:
        assert equivalent(sums, np.array(1.0)) == pytest.approx(np.sqrt(sums), rel=1e-9)
        return
    terms = np.arange(freedom // 2)
    exact = np.array([-x / 2 + logsumexp(terms * np.log(x / 2) - gammaln(terms + 1)) for x in sums])
    z = equivalent(sums, np.array(float(freedom)))
    far = exact < -0.01
    assert np.log(2) + log_ndtr(-z[far]) == pytest.approx(exact[far], rel=1e-9)
    assert (np.diff(z) >= 0).all() and (z[~far] < 0.02).all()


def hosts(seed: int, share: float, n: int = 408, values: int = 51) -> tuple[FloatArray, IntArray]:
    rng = np.random.default_rng(seed)
    which = rng.permutation(np.arange(n) % values)
    effect = rng.normal(size=values)[which]
    outcome = np.exp(0.3 * (np.sqrt(share) * effect + np.sqrt(1 - share) * rng.normal(size=n)))
    return outcome, which


def asked(
    outcome: FloatArray, which: IntArray, noise: int = 10, seed: int = 0, ordered: bool = True, explain: bool = True
) -> Association:
    rng = np.random.default_rng(seed)
    table = np.column_stack((indicators(which), rng.normal(size=(outcome.size, noise))))
    members = tuple(f"host={value}" for value in np.unique(which))
    names = (*members, *(f"c{place}" for place in range(noise)))
    columns = Columns(
        names, np.asfortranarray(table), frozenset(names), groups={"host": members}, settings=frozenset(members)
    )
    slow = outcome > np.quantile(outcome, 0.8)
    return associate(columns, slow, outcome, per=None, ordered=ordered, permutations=400, seed=seed, explain=explain)


def test_a_setting_of_many_values_is_found_named_and_described_as_one_factor() -> None:
    outcome, which = hosts(3, share=0.5)
    found = asked(outcome, which)
    first = found.factors[0]
    assert (first.name, first.role, first.visible, first.independent) == ("host", "setting", True, True)
    assert len(first.members) == 51 and first.column in first.members
    assert first.eta2 is not None and 0.4 < first.eta2 < 0.7
    assert not any(factor.visible for factor in found.factors[1:])
    assert first.stability is not None and first.stability > 0.95


def test_what_is_the_same_in_every_run_of_a_host_adds_nothing_beside_it() -> None:
    outcome, which = hosts(3, share=0.6)
    means = np.array([outcome[which == value].mean() for value in range(51)])[which]
    rng = np.random.default_rng(4)
    table = np.column_stack((indicators(which), means, rng.normal(size=(outcome.size, 3))))
    members = tuple(f"host={value}" for value in range(51))
    names = (*members, "clock", "c0", "c1", "c2")
    columns = Columns(
        names, np.asfortranarray(table), frozenset(names), groups={"host": members}, settings=frozenset(members)
    )
    found = associate(columns, outcome > np.quantile(outcome, 0.8), outcome, per=None, permutations=400)
    beside = {factor.name: factor for factor in found.factors}
    assert beside["host"].visible and beside["clock"].visible
    assert (beside["host"].independent, beside["clock"].independent) == (True, False)


@pytest.mark.parametrize("ordered", [True, False])
def test_a_setting_that_does_nothing_is_claimed_no_more_often_than_promised(ordered: bool, draws: Draws) -> None:
    hits, count = 0, draws(30, 120)
    for seed in range(count):
        rng = np.random.default_rng(seed)
        outcome = rng.lognormal(0, 0.3, 160)
        which = rng.permutation(np.arange(160) % 20)
        found = asked(outcome, which, noise=5, seed=seed, ordered=ordered, explain=False)
        hits += found.p_value <= 0.05
    assert hits <= most(count, 0.05)


def test_a_setting_of_two_values_stands_as_its_column_would() -> None:
    rng = np.random.default_rng(5)
    outcome = rng.lognormal(0, 0.3, 90)
    which = rng.integers(0, 2, 90)
    outcome = outcome * (1 + 0.4 * which)
    as_group = asked(outcome, which, noise=8, seed=1, explain=False)
    table = np.column_stack((indicators(which), np.random.default_rng(1).normal(size=(90, 8))))
    names = ("host=0", "host=1", *(f"c{place}" for place in range(8)))
    plain = Columns(names, np.asfortranarray(table), frozenset(names), settings=frozenset(names[:2]))
    slow = outcome > np.quantile(outcome, 0.8)
    alone = associate(plain, slow, outcome, per=None, permutations=400, seed=1, explain=False)
    assert {factor.p_value for factor in as_group.factors if factor.name == "host"} == {
        factor.p_value for factor in alone.factors if factor.name.startswith("host")
    }


@LAW
@given(SEEDS)
def test_the_names_and_order_of_values_change_nothing(seed: int) -> None:
    outcome, which = hosts(seed, share=0.3, n=90, values=9)
    rng = np.random.default_rng(seed)
    other = rng.permutation(9)[which]
    one = asked(outcome, which, noise=3, seed=2, explain=False)
    two = asked(outcome, other, noise=3, seed=2, explain=False)
    assert {f.name: f.p_value for f in one.factors} == {f.name: f.p_value for f in two.factors}


def test_the_cut_search_tests_the_values_of_a_setting_together() -> None:
    outcome, which = hosts(7, share=0.35, n=240, values=24)
    table = np.column_stack((indicators(which), np.random.default_rng(7).normal(size=(240, 4))))
    groups = [list(range(24))]
    together = search_cut(table, None, outcome, permutations=200, groups=groups)
    apart = search_cut(table, None, outcome, permutations=200)
    assert together.p_value < 0.01 and together.p_value <= apart.p_value
    assert together.column in groups[0] and together.tried == apart.tried


def test_the_cut_search_claims_a_useless_setting_no_more_often_than_promised(draws: Draws) -> None:
    hits, count = 0, draws(30, 120)
    for seed in range(count):
        rng = np.random.default_rng(seed)
        table = np.column_stack((indicators(rng.permutation(np.arange(60) % 12)), rng.normal(size=(60, 3))))
        worse = rng.lognormal(0, 0.3, 60)
        cuts = np.quantile(worse, [0.2, 0.4, 0.5, 0.6, 0.8])
        found = cut_p_value(
            table, table, worse, cuts, ordered=False, permutations=99, seed=seed, groups=[list(range(12))]
        )
        hits += found.p_value <= 0.05
    assert hits <= most(count, 0.05)


def test_a_setting_in_blocks_is_no_cause_of_outcomes_in_spells_where_the_order_is_known() -> None:
    hits = {True: 0, False: 0}
    for seed in range(60):
        rng = np.random.default_rng(seed)
        outcome = np.exp(np.repeat(rng.normal(size=24), 10) + rng.normal(0, 0.5, 240))
        which = np.repeat(rng.integers(0, 8, 30), 8)
        for ordered in hits:
            found = asked(outcome, which, noise=2, seed=seed, ordered=ordered, explain=False)
            hits[ordered] += any(factor.name == "host" and factor.visible for factor in found.factors)
    # Of 60 at a rate of .05 more than 8 come by luck once in two hundred times.
    assert hits[True] <= 8 < 20 < hits[False]
