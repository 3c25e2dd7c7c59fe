"""The numbers of one cluster: how large its link with slow runs and with the outcome is."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ..ranks import eta_squared, r_squared
from ..values import BoolArray, FloatArray, IntArray
from .clusters import Collinear
from .columns import Columns

FEW_VALUES = 50
"""A setting with at most so many values is a grouping of the runs."""


def effect(
    cluster: Collinear, columns: Columns, values: FloatArray, classes: IntArray, outcome: FloatArray
) -> dict[str, Any]:
    """Describe a cluster by the values of the column that speaks for it."""
    middle = np.mean if cluster.name in columns.groups else np.median
    role: Literal["factor", "setting"] = "setting" if is_setting(cluster, columns) else "factor"
    worst, best = classes == classes.max(initial=0), classes == 0
    facts: dict[str, Any] = {
        "name": cluster.name,
        "column": cluster.speaker,
        "members": cluster.members,
        "role": role,
        "r2": r_squared(values, outcome),
        "slow_median": float(middle(values[worst])),
        "fast_median": float(middle(values[best])),
    }
    return facts | (_between(cluster, columns, outcome) if role == "setting" else {})


def is_setting(cluster: Collinear, columns: Columns) -> bool:
    """Whether a cluster was varied on purpose: an indicator of a setting, or a setting among its members."""
    return cluster.name in columns.groups or not columns.settings.isdisjoint({cluster.name, *cluster.members})


def _between(cluster: Collinear, columns: Columns, outcome: FloatArray) -> dict[str, float | None]:
    """Share of the outcome's variance between the values of a setting."""
    places = [columns.names.index(member) for member in cluster.members]
    table = columns.values[:, places if cluster.name in columns.groups else [columns.names.index(cluster.speaker)]]
    values, groups = np.unique(table, axis=0, return_inverse=True)
    if cluster.name not in columns.groups and len(values) > FEW_VALUES:
        return {}
    groups = groups.ravel().astype(np.int64)
    positive: BoolArray = outcome > 0
    return {
        "eta2": eta_squared(groups, outcome),
        "eta2_log": eta_squared(groups, np.log(outcome)) if positive.all() else None,
    }
