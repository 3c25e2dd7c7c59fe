"""label: split runs into slow and fast; the cut is fixed before any counter is looked at."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from .amount import amount
from .base import Arguments, Outcome, Result, Tool, ToolError
from .case import Case
from .statistics.labels.classes import Classes, label, label_at
from .statistics.shape.describe import Shape, describe


class LabelArguments(Arguments):
    """Where to cut."""

    cut: Annotated[float | None, Field(description="None: between modes, before a tail, or at the median.")] = None


class LabelResult(Result):
    """Which profiled runs are slow."""

    classes: Classes
    shape: Shape
    """Of the profiled runs."""


def run(arguments: LabelArguments, case: Case) -> Outcome:
    """Label the runs of the last profile."""
    outcome = case.record.runs(case.record.latest("profile")).outcome()
    shape = describe(outcome)
    if shape.all_equal:
        raise ToolError("All profiled runs are equal; there is nothing to label.")
    lower = case.subject.lower_is_better
    classes = label(outcome, shape, lower) if arguments.cut is None else label_at(outcome, arguments.cut, lower)
    slow = sum(classes.slow)
    if not 0 < slow < len(outcome):
        raise ToolError(f"The cut {classes.cut:g} leaves one class empty; choose it inside the range of outcomes.")
    summary = (
        f"{slow} of {len(outcome)} runs are slow: cut at {amount(classes.cut, case.subject.unit)} ({classes.kind})."
    )
    return Outcome(LabelResult(classes=classes, shape=shape, summary=summary))


LABEL = Tool("label", "Split the profiled runs into slow and fast.", LabelArguments, LabelResult, run)
