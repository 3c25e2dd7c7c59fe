"""label: split runs into slow and fast; the cut is fixed before any counter is looked at.

Runs with layers that stand are labelled, not the bare ones, which have no counters.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from .amount import amount
from .base import Arguments, Outcome, ToolError
from .case import Case
from .profiled import profiled
from .results import LabelResult, RunClasses
from .statistics.labels.classes import label, label_at
from .statistics.shape.describe import describe


class LabelArguments(Arguments):
    """Where to cut."""

    cut: Annotated[float | None, Field(description="None: between modes, before a tail, or at the median.")] = None


def run(arguments: LabelArguments, case: Case) -> Outcome:
    """Label the runs of the last profile."""
    outcome = profiled(case.findings).outcome
    if not outcome.size:
        raise ToolError("Every layer was set aside; there is nothing to label.")
    shape = describe(outcome)
    if shape.all_equal:
        raise ToolError("All profiled runs are equal; there is nothing to label.")
    lower = case.subject.lower_is_better
    labelled = label(outcome, shape, lower) if arguments.cut is None else label_at(outcome, arguments.cut, lower)
    classes = RunClasses(**labelled.classes.model_dump(), slow=tuple(labelled.slow.tolist()))
    if not 0 < classes.n_slow < len(outcome):
        raise ToolError(f"The cut {classes.cut:g} leaves one class empty; choose it inside the range of outcomes.")
    summary = (
        f"{classes.n_slow} of {len(outcome)} runs are slow: "
        f"cut at {amount(classes.cut, case.subject.unit)} ({classes.kind})."
    )
    return Outcome(LabelResult(classes=classes, shape=shape, summary=summary))
