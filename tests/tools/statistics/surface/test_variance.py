"""The analysis of variance is that of statsmodels where that one can be had, and goes on where cells are missing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import levene
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from vgo_agent.tools.statistics.surface.variance import HIGHER, AnovaFactor, analyse, deviations, replicates
from vgo_agent.tools.statistics.values import FloatArray, IntArray


def unbalanced(seed: int = 1) -> tuple[dict[str, IntArray], FloatArray]:
    rng = np.random.default_rng(seed)
    codes = {"a": rng.integers(3, size=90), "b": rng.integers(2, size=90), "c": rng.integers(4, size=90)}
    y = codes["a"] + 2.0 * codes["a"] * codes["b"] + rng.normal(0, 1, 90)
    return codes, y


def test_it_agrees_with_statsmodels() -> None:
    codes, y = unbalanced()
    found = analyse([AnovaFactor(name, values, None) for name, values in codes.items()], y)
    assert found is not None
    table = anova_lm(ols("y ~ (C(a) + C(b) + C(c)) ** 2", pd.DataFrame({**codes, "y": y})).fit(), typ=2)
    assert found.residual_df == table.loc["Residual", "df"]
    for one in found.effects:
        line = table.loc[":".join(f"C({name})" for name in one.term)]
        assert one.df == line["df"]
        assert one.sum_squares == pytest.approx(line["sum_sq"], rel=1e-8)
        assert one.f == pytest.approx(line["F"], rel=1e-8)
        assert one.p == pytest.approx(line["PR(>F)"], rel=1e-6, abs=1e-300)
        assert 0 <= one.omega2 <= one.eta2 <= 1


def test_missing_combinations_leave_fewer_degrees_of_freedom() -> None:
    rng = np.random.default_rng(2)
    a, b = np.repeat(np.arange(3), 20), np.tile(np.arange(4), 15)
    there = ~((a == 0) & (b == 3)) & ~((a == 1) & (b == 2))
    y = rng.normal(size=there.sum()) + 3 * a[there]
    found = analyse([AnovaFactor("a", a[there], None), AnovaFactor("b", b[there], None)], y)
    assert found is not None
    df = {one.term: one.df for one in found.effects}
    assert df == {("a",): 2, ("b",): 3, ("a", "b"): 4}
    assert found.effects[0].term == ("a",) and found.effects[0].p < 1e-6


def test_pairs_for_which_no_cells_are_left_over_are_named() -> None:
    rng = np.random.default_rng(3)
    codes = [AnovaFactor(name, rng.integers(5, size=30), None) for name in "abc"]
    found = analyse(codes, rng.normal(size=30))
    assert found is not None
    assert found.untested and set(found.untested) < {("a", "b"), ("a", "c"), ("b", "c")}
    assert found.residual_df >= 5


def test_too_few_cells_give_no_table() -> None:
    assert analyse([AnovaFactor("a", np.arange(6), None)], np.arange(6.0)) is None


def test_a_quantity_enters_straight_and_squared() -> None:
    x = np.linspace(0, 1, 60)
    found = analyse([AnovaFactor("x", None, x)], (x - 0.5) ** 2 + np.random.default_rng(4).normal(0, 0.01, 60))
    assert found is not None and found.effects[0].df == 2 and found.effects[0].eta2 > 0.9


def replicated(seed: int = 5) -> tuple[dict[str, IntArray], list[FloatArray]]:
    """Twelve cells with 3 to 9 runs each; a and b work together on the mean, and b on the spread."""
    rng = np.random.default_rng(seed)
    a, b = (grid.ravel() for grid in np.meshgrid(np.arange(3), np.arange(4)))
    runs = [
        one + 2.0 * one * two + rng.normal(0, 1.0 + 2 * two, rng.integers(3, 10)) for one, two in zip(a, b, strict=True)
    ]
    return {"a": a, "b": b}, runs


def by_hand(codes: dict[str, IntArray], runs: list[FloatArray]) -> pd.DataFrame:
    long = {name: np.repeat(values, [len(one) for one in runs]) for name, values in codes.items()}
    table: pd.DataFrame = anova_lm(
        ols("y ~ C(a) * C(b)", pd.DataFrame({**long, "y": np.concatenate(runs)})).fit(), typ=2
    )
    return table


@pytest.mark.parametrize("what", ["runs", "deviations"])
def test_replicated_runs_are_tested_as_statsmodels_tests_all_runs(what: str) -> None:
    codes, runs = replicated()
    if what == "deviations":
        runs = [deviations(one) for one in runs]
    told = replicates(runs)
    found = analyse([AnovaFactor(name, values, None) for name, values in codes.items()], told.means, told)
    table = by_hand(codes, runs)
    assert found is not None and found.residual_df == table.loc["Residual", "df"]
    assert found.runs == sum(map(len, runs)) and not found.untested
    assert {one.term for one in found.effects} == {("a",), ("b",), ("a", "b")}
    for one in found.effects:
        line = table.loc[":".join(f"C({name})" for name in one.term)]
        assert (one.df, one.sum_squares, one.f) == pytest.approx((line["df"], line["sum_sq"], line["F"]), rel=1e-7)


def test_what_pairs_leave_between_cells_is_tested_as_higher_interactions() -> None:
    rng = np.random.default_rng(6)
    a, b, c = (grid.ravel() for grid in np.meshgrid(*[np.arange(2)] * 3))
    told = replicates([3.0 * one + rng.normal(0, 0.1, 5) for one in a * b * c])
    found = analyse(
        [AnovaFactor(name, codes, None) for name, codes in zip("abc", (a, b, c), strict=True)], told.means, told
    )
    assert found is not None
    higher = next(one for one in found.effects if one.term == HIGHER)
    assert higher.df == 1 and higher.p < 1e-6
    assert sum(one.df for one in found.effects) == 7


def test_pairs_that_would_hide_a_setting_are_named_and_not_tested() -> None:
    rng = np.random.default_rng(8)
    codes = [rng.permutation(np.repeat(np.arange(10), 3)) for _ in range(3)]  # 30 of 1,000 cells, as a sampled design
    told = replicates([3.0 * one + rng.normal(0, 1, 5) for one in codes[0]])
    found = analyse([AnovaFactor(name, one, None) for name, one in zip("abc", codes, strict=True)], told.means, told)
    assert found is not None
    assert {one.term: one.df for one in found.effects if one.term != HIGHER} == {("a",): 9, ("b",): 9, ("c",): 9}
    assert found.effects[0].term == ("a",) and found.effects[0].p < 1e-6
    assert set(found.untested) == {("a", "b"), ("a", "c"), ("b", "c")}


def test_pairs_that_cannot_be_told_apart_are_named() -> None:
    rng = np.random.default_rng(9)
    a, b, c = (grid.ravel() for grid in np.meshgrid(*[np.arange(2)] * 3))
    d = a ^ b ^ c  # the half fraction of four settings: a and b together are c and d together
    told = replicates([one + rng.normal(0, 0.1, 5) for one in a])
    found = analyse(
        [AnovaFactor(name, one, None) for name, one in zip("abcd", (a, b, c, d), strict=True)], told.means, told
    )
    assert found is not None
    assert {one.term for one in found.effects} == {("a",), ("b",), ("c",), ("d",)} and len(found.untested) == 6


def test_one_setting_gives_the_test_of_brown_and_forsythe() -> None:
    rng = np.random.default_rng(7)
    runs = [rng.normal(0, size, 12) for size in (1.0, 1.5, 3.0)]
    told = replicates([deviations(one) for one in runs])
    found = analyse([AnovaFactor("a", np.arange(3), None)], told.means, told)
    expected = levene(*runs, center="median")
    assert found is not None
    assert (found.effects[0].f, found.effects[0].p) == pytest.approx((expected.statistic, expected.pvalue))
