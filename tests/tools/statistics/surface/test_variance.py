"""The analysis of variance is that of statsmodels where that one can be had, and goes on where cells are missing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from vgo_agent.tools.statistics.surface.variance import Factor, analyse
from vgo_agent.tools.statistics.values import FloatArray, IntArray


def unbalanced(seed: int = 1) -> tuple[dict[str, IntArray], FloatArray]:
    rng = np.random.default_rng(seed)
    codes = {"a": rng.integers(3, size=90), "b": rng.integers(2, size=90), "c": rng.integers(4, size=90)}
    y = codes["a"] + 2.0 * codes["a"] * codes["b"] + rng.normal(0, 1, 90)
    return codes, y


def test_it_agrees_with_statsmodels() -> None:
    codes, y = unbalanced()
    found = analyse([Factor(name, values, None) for name, values in codes.items()], y)
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
    found = analyse([Factor("a", a[there], None), Factor("b", b[there], None)], y)
    assert found is not None
    df = {one.term: one.df for one in found.effects}
    assert df == {("a",): 2, ("b",): 3, ("a", "b"): 4}
    assert found.effects[0].term == ("a",) and found.effects[0].p < 1e-6


def test_pairs_for_which_no_cells_are_left_over_are_named() -> None:
    rng = np.random.default_rng(3)
    codes = [Factor(name, rng.integers(5, size=30), None) for name in "abc"]
    found = analyse(codes, rng.normal(size=30))
    assert found is not None
    assert found.untested and set(found.untested) < {("a", "b"), ("a", "c"), ("b", "c")}
    assert found.residual_df >= 5


def test_too_few_cells_give_no_table() -> None:
    assert analyse([Factor("a", np.arange(6), None)], np.arange(6.0)) is None


def test_a_quantity_enters_straight_and_squared() -> None:
    x = np.linspace(0, 1, 60)
    found = analyse([Factor("x", None, x)], (x - 0.5) ** 2 + np.random.default_rng(4).normal(0, 0.01, 60))
    assert found is not None and found.effects[0].df == 2 and found.effects[0].eta2 > 0.9
