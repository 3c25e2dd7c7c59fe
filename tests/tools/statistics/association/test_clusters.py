"""Columns that say the same thing count once, under the name that a user can act on."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from vgo_agent.tools.statistics.association.columns import Collinear, collinear
from vgo_agent.tools.statistics.association.permutation import unit
from vgo_agent.tools.statistics.values import FloatArray, auc, centred_ranks


def clusters(columns: FloatArray, **what) -> tuple[Collinear, ...]:
    slow = np.arange(len(columns)) % 2 == 0
    names = [f"c{place}" for place in range(columns.shape[1])]
    return collinear(unit(centred_ranks(columns)), names, np.abs(auc(columns, slow) - 0.5), **what)


def test_duplicates_share_a_cluster_named_by_the_most_actionable() -> None:
    x = np.random.default_rng(3).normal(size=(100, 3))
    columns = np.column_stack([x, 1000 * x[:, 1], -x[:, 1]])
    found = clusters(columns, priority={"c3": 2, "c1": 1})
    assert {cluster.name: cluster.members for cluster in found} == {
        "c0": ("c0",),
        "c3": ("c1", "c3", "c4"),
        "c2": ("c2",),
    }


def test_what_others_make_names_a_cluster_only_where_they_are_not_in_it() -> None:
    x = np.random.default_rng(3).normal(size=(100, 2))
    columns = np.column_stack([x, 1000 * x[:, 1], -x[:, 1]])
    known = {"priority": {"c3": 2, "c2": 1}, "makers": {"c3": frozenset({"c1"}), "c2": frozenset({"c0"})}}
    assert [cluster.name for cluster in clusters(columns, **known)] == ["c0", "c2"]
    assert [cluster.name for cluster in clusters(columns[:, 1:], **known)] == ["c0"]
    circle = {"makers": {"c1": frozenset({"c2"}), "c2": frozenset({"c3"}), "c3": frozenset({"c1"})}}
    assert [cluster.name for cluster in clusters(columns, priority={"c3": 2}, **circle)] == ["c0", "c3"]


def test_indicators_of_one_setting_are_one_cluster_with_its_name() -> None:
    columns = np.eye(3)[np.random.default_rng(4).integers(0, 3, 60)]
    (found,) = clusters(columns, groups={"host": ("c0", "c1", "c2")})
    assert found.name == "host" and found.members == ("c0", "c1", "c2") and found.speaker in found.members


@settings(deadline=None, derandomize=True)
@given(st.integers(0, 10_000))
def test_clusters_are_those_of_average_linkage_over_all_pairs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(40, 4))[:, rng.integers(0, 4, 30)] + 0.4 * rng.normal(size=(40, 30))
    vectors = unit(centred_ranks(columns))
    distance = np.clip(1 - np.abs(vectors.T @ vectors), 0, 1)
    np.fill_diagonal(distance, 0)
    tree = linkage(squareform(distance, checks=False), "average")
    assume(np.abs(tree[:, 2] - 0.1).min() > 1e-6)  # what lies on the line falls to either side by rounding
    whole = fcluster(tree, 0.1, "distance")
    expected = {tuple(f"c{place}" for place in np.flatnonzero(whole == number)) for number in set(whole)}
    assert {cluster.members for cluster in clusters(columns)} == expected
