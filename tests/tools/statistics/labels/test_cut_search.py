"""The searched cut pays for its freedom."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.tools.statistics.labels import cut_search
from vgo_agent.tools.statistics.labels.classes import label
from vgo_agent.tools.statistics.labels.cut_search import CutRule, CutSearch, search_cut
from vgo_agent.tools.statistics.shape.describe import describe
from vgo_agent.tools.statistics.values import FloatArray

from ....examples import examples
from ...conftest import Draws
from ...levels import most

few = settings(max_examples=examples(0.1), deadline=None, derandomize=True)


def planted(rng: np.random.Generator, runs: int = 100, columns: int = 20) -> tuple[FloatArray, FloatArray]:
    cause = rng.random(runs) < 0.25
    values = rng.normal(10, 1, (runs, columns))
    values[:, 3] += 4 * cause
    return values, rng.normal(10, 0.3, runs) + 2 * cause


def search(values: FloatArray, outcome: FloatArray, permutations: int = 200) -> CutSearch:
    return search_cut(values, values / outcome[:, None], outcome, permutations=permutations)


def test_noise_looks_explained_and_is_not(draws: Draws) -> None:
    rng = np.random.default_rng(1)
    found = [
        search_cut(rng.normal(size=(100, 60)), None, rng.normal(10, 1, 100), permutations=99, seed=seed)
        for seed in range(draws(6, 30))
    ]
    assert np.median([one.in_sample for one in found]) > 0.75
    assert 0.4 < np.median([one.cross_validated for one in found]) < 0.6
    assert sum(one.p_value <= 0.05 for one in found) <= most(len(found), 0.05)


def test_a_planted_cause_is_found_between_the_levels(draws: Draws) -> None:
    rng = np.random.default_rng(2)
    for _ in range(draws(2, 5)):
        found = search(*planted(rng))
        assert found.p_value < 0.01 and found.column == 3
        assert 10 < found.cut < 12 and found.cross_validated > 0.85


def test_what_only_counts_the_outcome_explains_nothing(draws: Draws) -> None:
    rng = np.random.default_rng(3)
    p_values, accuracies = [], []
    for seed in range(draws(6, 15)):
        outcome = rng.lognormal(2, 0.5, 100)
        clocks = outcome[:, None] * rng.lognormal(0, 0.1, (100, 5))
        values = np.hstack((rng.lognormal(0, 0.3, (100, 20)), clocks))
        found = search_cut(values, values / outcome[:, None], outcome, permutations=99, seed=seed)
        p_values.append(found.p_value)
        accuracies.append(found.cross_validated)
    assert sum(p <= 0.05 for p in p_values) <= most(len(p_values), 0.05) and np.median(accuracies) < 0.65


def test_runs_that_drift_together_are_no_cause(draws: Draws) -> None:
    rng = np.random.default_rng(4)
    trend = np.linspace(0, 2, 120)
    p_values = [
        search_cut(
            rng.normal(size=(120, 30)) + trend[:, None], None, 10 + trend + rng.normal(size=120), permutations=99
        ).p_value
        for _ in range(draws(6, 25))
    ]
    assert sum(p <= 0.05 for p in p_values) <= most(len(p_values), 0.05)


def test_the_found_cut_labels_runs() -> None:
    values, outcome = planted(np.random.default_rng(5))
    found = search(values, outcome)
    classes = label(outcome, describe(outcome), cut=CutRule("search", (found.cut,))).classes
    assert (classes.kind, classes.cut) == ("search", found.cut) and min(classes.sizes) >= 5


def test_a_large_table_is_thinned_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cut_search, "MOST_TREE_RUNS", 300)
    values, outcome = planted(np.random.default_rng(6), runs=60_000, columns=20)
    found = search(values, outcome, permutations=20)
    assert (found.tree_runs, found.tested_runs) == (300, 25_000)
    assert len(found.notes) == 3 and all(note.endswith(".") for note in found.notes)
    assert found.p_value < 0.05 and found.column == 3


def test_a_search_without_runs_or_columns_is_refused() -> None:
    for values, outcome in ((np.ones((10, 2)), np.arange(10.0)), (np.ones((50, 0)), np.arange(50.0))):
        with pytest.raises(VgoError, match="--cut auto"):
            search_cut(values, None, outcome)


@few
@given(st.integers(0, 1000))
def test_neither_unit_nor_sign_changes_the_search(seed: int) -> None:
    values, outcome = planted(np.random.default_rng(seed))
    one = search_cut(values, None, outcome, permutations=99)
    other = search_cut(1000 * values, None, outcome * 1024, permutations=99)
    mirrored = search_cut(values, None, -outcome, lower_is_better=False, permutations=99)
    assert (
        (one.p_value, one.criterion) == (other.p_value, other.criterion) == (mirrored.p_value, mirrored.criterion[::-1])
    )
    assert one.cut == pytest.approx(other.cut / 1024) == pytest.approx(-mirrored.cut)
