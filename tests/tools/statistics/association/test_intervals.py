"""The intervals of an AUC and of an importance cover what they say."""

from __future__ import annotations

import numpy as np
import pytest

from vgo_agent.tools.statistics.association.explaining import auc_interval
from vgo_agent.tools.statistics.association.importance import importance
from vgo_agent.tools.statistics.association.tree import balanced_accuracy, grown, guesses
from vgo_agent.tools.statistics.values import auc

from ...conftest import Draws


@pytest.mark.parametrize(("shift", "spread", "truth"), [(0.0, 1.0, 0.5), (0.75, 2.0, 0.631), (1.8, 1.0, 0.898)])
def test_the_interval_of_an_auc_covers_it(shift: float, spread: float, truth: float) -> None:
    """400 samples of 20 slow and 40 fast normal runs: 95 % less 3, or more where classes hardly overlap."""
    rng = np.random.default_rng(1)
    classes, covered = (np.arange(60) < 20).astype(np.int64), 0
    for _ in range(400):
        x = np.concatenate((rng.normal(shift, spread, 20), rng.normal(size=40)))
        found = auc_interval(x, classes, float(auc(x[:, None], classes)[0]))
        assert found is not None
        covered += found.low <= truth <= found.high
    assert covered >= 0.92 * 400


def test_a_perfect_auc_has_an_interval_and_four_runs_have_none() -> None:
    x = np.arange(30.0)
    found = auc_interval(x, (x >= 20).astype(np.int64), 1.0)
    assert found is not None and 0.6 < found.low < 0.9 and found.high == 1
    assert auc_interval(x, (x >= 26).astype(np.int64), 1.0) is None
    assert auc_interval(x, (x // 10).astype(np.int64), 1.0) is None, "three classes"


def test_the_interval_of_an_importance_covers_the_mean_loss_of_trees_on_new_runs(draws: Draws) -> None:
    """Of tables of 120 runs."""
    rng, tables = np.random.default_rng(2), draws(15, 50)

    def draw(n: int) -> tuple[np.ndarray, np.ndarray]:
        x = rng.normal(size=(n, 3)).astype(np.float32)
        return x, (1.5 * x[:, 0] + rng.normal(size=n) > 0.9).astype(np.int64)

    losses = []
    for _ in range(60):
        (x, y), seen = draw(2000), draw(96)
        tree, shuffled = grown(*seen, 3, 0), x.copy()
        shuffled[:, 0] = rng.permutation(x[:, 0])
        losses.append(balanced_accuracy(y, guesses(tree, x)) - balanced_accuracy(y, guesses(tree, shuffled)))
    truth, covered = float(np.mean(losses)), 0
    for seed in range(tables):
        found = importance(*draw(120), [[0], [1], [2]], seed)[0]
        assert found.low is not None and found.high is not None
        covered += found.low <= truth <= found.high
    assert covered >= 0.86 * tables
