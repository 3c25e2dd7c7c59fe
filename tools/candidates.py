"""The columns that may explain slow runs: what varies, less what merely follows from being slow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .base import ToolError
from .case import Case, Finished
from .label import LabelResult
from .run_table import RunTable
from .statistics.association.factors import Table, consequences, too_few, usable

ORDER = "run_index"
"""The position of a run in its series: what drifts with time goes with it."""
LEVELS = frozenset({ORDER, "max_rss_kb"})
"""Columns that do not add up over a run."""


@dataclass(frozen=True)
class Candidates:
    """Runs by columns, with the classes beside them."""

    names: tuple[str, ...]
    values: npt.NDArray[np.float64]
    """Shape (runs, columns)."""
    slow: npt.NDArray[np.bool_]
    outcome: npt.NDArray[np.float64]
    wall_s: npt.NDArray[np.float64]
    set_aside: dict[str, str]
    """Column to reason."""
    gauges: frozenset[str]
    """Columns whose rate over the run means nothing: levels, and what the program itself asks for."""
    call: Finished
    """The profile that they come from."""


def candidates(case: Case) -> Candidates:
    """Choose the columns of the last profile that may explain the last labels."""
    call = case.record.latest("profile")
    table = case.record.runs(call)
    slow = np.array(case.record.latest("label").read(LabelResult).classes.slow, dtype=bool)
    outcome, wall_s = table.outcome(), table.column("wall_s")
    if len(slow) != len(outcome):
        raise ToolError("The labels belong to an earlier profile; label again.")
    columns, set_aside = _columns(table)
    varying = usable(np.column_stack(list(columns.values())), list(columns))
    gauges = LEVELS | {column.name for column in table.columns if column.innate}
    most_us = {column.name: column.most_us for column in table.columns if column.most_us is not None}
    following = consequences(varying.values, varying.names, slow, wall_s, gauges)
    if not case.subject.lower_is_better:
        following |= _work_done(varying, slow, outcome)
    set_aside |= {**varying.set_aside, **too_few(varying.values, varying.names, slow, wall_s, most_us), **following}
    kept = [place for place, name in enumerate(varying.names) if name not in set_aside]
    names = tuple(varying.names[place] for place in kept)
    return Candidates(names, varying.values[:, kept], slow, outcome, wall_s, set_aside, gauges, call)


def _work_done(varying: Table, slow: npt.NDArray[np.bool_], outcome: npt.NDArray[np.float64]) -> dict[str, str]:
    """Name what counts the work of a throughput: it goes with fast runs, and not once divided by the outcome."""
    found = consequences(varying.values, varying.names, ~slow, outcome, LEVELS)
    return dict.fromkeys(found, "follows the work done, which is the outcome in other words")


def _columns(table: RunTable) -> tuple[dict[str, npt.NDArray[np.float64]], dict[str, str]]:
    """Split the metrics into those that could be factors and those set aside at sight."""
    kept: dict[str, npt.NDArray[np.float64]] = {}
    aside: dict[str, str] = {}
    for column in table.columns:
        if column.role != "factor":
            aside[column.name] = f"{column.role}: {column.description}"
        else:
            kept[column.name] = table.column(column.name)
    kept[ORDER] = table.column("order")
    return kept, aside
