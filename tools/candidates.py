"""The columns that may explain slow runs: what varies, less what merely follows from being slow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..layers.schema import Column
from .base import ToolError
from .case import Case, Finished
from .label import LabelResult
from .run_table import RunTable
from .statistics.association.columns import Columns, Table, usable
from .statistics.association.sift import consequences

ORDER = "run_index"
"""The position of a run in its series: what drifts with time goes with it."""
LEVELS = frozenset({"max_rss_kb"})
"""Columns that do not add up over a run."""


@dataclass(frozen=True)
class Candidates:
    """Columns of the last profile that vary and could be factors, with the classes of its runs."""

    columns: Columns
    """In run order, without the order itself."""
    slow: npt.NDArray[np.bool_]
    outcome: npt.NDArray[np.float64]
    wall_s: npt.NDArray[np.float64]
    set_aside: dict[str, str]
    """Column to reason."""
    call: Finished
    """The profile that they come from."""


def candidates(case: Case) -> Candidates:
    """Choose the columns of the last profile that may explain the last labels."""
    call = case.record.latest("profile")
    table = case.record.runs(call)
    slow = np.array(case.record.latest("label").read(LabelResult).classes.slow, dtype=bool)
    outcome = table.outcome()
    if len(slow) != len(outcome):
        raise ToolError("The labels belong to an earlier profile; label again.")
    known, set_aside = _columns(table)
    names = [column.name for column in known]
    values = [table.column(name) for name in names]
    varying = usable(np.column_stack(values) if values else np.empty((len(outcome), 0)), names)
    set_aside |= varying.set_aside
    if not case.subject.lower_is_better:
        set_aside |= _work_done(varying, slow, outcome)
    columns = Columns(
        names=varying.names,
        values=varying.values,
        # Divided by the run time it would mean nothing: what does not add up, and what the program itself asks for.
        levels=LEVELS | {column.name for column in known if column.innate},
        priority={name: _naming_priority(name, case) for name in varying.names},
        most_us={column.name: column.most_us for column in known if column.most_us is not None},
    )
    return Candidates(columns.without(set_aside), slow, outcome, table.column("wall_s"), set_aside, call)


def _naming_priority(column: str, case: Case) -> int:
    """The most actionable factor names a cluster; of one factor's columns, the one that it lists first."""
    factor = case.knowledge.factor_of(column)
    return -1 if factor is None else 100 * factor.actionable - factor.signals.index(column)


def _work_done(varying: Table, slow: npt.NDArray[np.bool_], outcome: npt.NDArray[np.float64]) -> dict[str, str]:
    """Name what counts the work of a throughput: it goes with fast runs, and not once divided by the outcome."""
    found = consequences(varying.values, varying.names, slow, outcome, LEVELS)
    return dict.fromkeys(found, "follows the work done, which is the outcome in other words")


def _columns(table: RunTable) -> tuple[list[Column], dict[str, str]]:
    """Split the metrics into those that could be factors and those set aside at sight."""
    known = [column for column in table.columns if column.role == "factor"]
    aside = {column.name: f"{column.role}: {column.description}" for column in table.columns if column.role != "factor"}
    return known, aside
