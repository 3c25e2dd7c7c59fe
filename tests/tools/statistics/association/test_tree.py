"""The tree explains; its accuracy on unseen runs says whether to believe it."""

from __future__ import annotations

import json

import numpy as np

from vgo_agent.tools.statistics.association.tree import DecisionTree, fit_tree
from vgo_agent.tools.statistics.values import BoolArray, FloatArray


def planted(seed: int = 1) -> tuple[FloatArray, BoolArray]:
    rng = np.random.default_rng(seed)
    slow = np.arange(60) % 3 == 0
    faults = np.where(slow, 900.0, 100.0) + rng.normal(0, 5, 60)
    return np.column_stack([rng.normal(size=60), faults]), slow


def test_a_plain_cause_is_one_question() -> None:
    columns, slow = planted()
    tree = fit_tree(columns, ["noise", "faults"], slow)
    root = tree.nodes[0]
    assert root.column == "faults" and root.threshold is not None and 120 < root.threshold < 880
    assert (tree.in_sample, tree.cross_validated) == (1.0, 1.0)
    assert tree.text() == (
        f"faults <= {root.threshold:.6g}\n  0% of 40 runs slow\nfaults > {root.threshold:.6g}\n  100% of 20 runs slow\n"
    )


def test_noise_fits_in_sample_and_fails_on_unseen_runs() -> None:
    rng = np.random.default_rng(2)
    trees = [fit_tree(rng.normal(size=(100, 60)), [f"c{i}" for i in range(60)], np.arange(100) < 50) for _ in range(10)]
    assert np.mean([tree.in_sample for tree in trees]) > 0.75
    assert 0.4 < np.mean([tree.cross_validated for tree in trees]) < 0.6


def test_counts_add_up_and_no_leaf_is_small() -> None:
    rng = np.random.default_rng(3)
    tree = fit_tree(rng.normal(size=(80, 5)), list("abcde"), rng.random(80) < 0.4)
    for node in tree.nodes:
        if node.left is not None and node.right is not None:
            assert node.n == tree.nodes[node.left].n + tree.nodes[node.right].n
        else:
            assert node.n >= 5


def test_large_counters_lose_no_digits() -> None:
    slow = np.arange(40) < 20
    clock = 1.7e18 + np.where(slow, 4096.0, 0.0)
    tree = fit_tree(clock[:, None], ["clock"], slow)
    assert tree.in_sample == 1.0


def test_units_change_only_the_threshold() -> None:
    columns, slow = planted()
    one, other = fit_tree(columns, ["a", "b"], slow), fit_tree(columns * 1024, ["a", "b"], slow)
    assert [node.column for node in one.nodes] == [node.column for node in other.nodes]
    assert other.nodes[0].threshold == 1024 * (one.nodes[0].threshold or 0)
    assert one.cross_validated == other.cross_validated


def test_one_class_or_no_column_gives_a_bare_root() -> None:
    for columns, names, slow in ((np.ones((5, 1)), ["a"], [True] * 5), (np.empty((5, 0)), [], [True] + [False] * 4)):
        tree = fit_tree(columns, names, slow)
        assert len(tree.nodes) == 1 and tree.cross_validated is None


def test_a_tree_survives_the_transcript() -> None:
    columns, slow = planted()
    tree = fit_tree(columns, ["noise", "faults"], slow)
    assert DecisionTree.model_validate(json.loads(tree.model_dump_json())) == tree


def test_several_classes_have_their_shares_at_each_node() -> None:
    rng = np.random.default_rng(4)
    classes = np.repeat([0, 1, 2], 40)
    columns = np.column_stack([rng.normal(size=120), 10.0 * classes + rng.normal(size=120)])
    tree = fit_tree(columns, ["noise", "load"], classes)
    assert (tree.in_sample, tree.cross_validated, tree.runs) == (1.0, 1.0, 120)
    assert tree.nodes[0].shares == (1 / 3, 1 / 3, 1 / 3) and tree.nodes[0].slow_share == 1 / 3
    leaves = [node for node in tree.nodes if node.column is None]
    assert sorted(node.shares for node in leaves) == [(0, 0, 1), (0, 1, 0), (1, 0, 0)]
    assert "40 runs, best class first: 0%, 0%, 100%" in tree.text()


def test_a_large_table_is_sampled_and_keeps_every_slow_run() -> None:
    rng = np.random.default_rng(5)
    slow = rng.random(230_000) < 0.01
    columns = np.column_stack([rng.normal(size=slow.size), rng.poisson(np.where(slow, 30.0, 5.0))])
    tree = fit_tree(columns, ["noise", "faults"], slow)
    assert tree.runs == tree.nodes[0].n == 200_000
    assert tree.nodes[0].slow_share == slow.sum() / 200_000
    assert tree.nodes[0].column == "faults" and 10 < (tree.nodes[0].threshold or 0) < 25
    assert tree.cross_validated is not None and tree.cross_validated > 0.98


def test_runs_that_resemble_their_neighbours_are_not_told_by_them() -> None:
    """Two walks that have nothing to do with each other: scattered folds would call one the cause of the other."""
    rng = np.random.default_rng(6)
    scattered, whole = 0.0, 0.0
    for seed in range(8):
        walks = np.cumsum(rng.normal(size=(200, 4)), axis=0)
        slow = walks[:, 0] > np.median(walks[:, 0])
        scattered += (fit_tree(walks[:, 1:], list("abc"), slow, seed=seed).cross_validated or 0) / 8
        whole += (fit_tree(walks[:, 1:], list("abc"), slow, seed=seed, block=40).cross_validated or 0) / 8
    assert scattered > 0.8 > 0.7 > whole
