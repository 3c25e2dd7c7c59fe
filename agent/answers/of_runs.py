"""What a finished run lets one say of its runs: how many there were, where they went, how slow the slow ones are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np

from ...tools.case import Finished
from ...tools.label import LabelResult
from ..planners.state import quoted
from ..report.evidence import Evidence
from ..report.numbers import number, percent, quantity, ratio
from . import names
from .fact import FactDraft

MOST_WORDS = 300
FOR: Mapping[str, str] = {
    "measure": "the baseline",
    "profile": "the profile with layers",
    "screen_levels": "the search for a level",
    "apply_by_hand": "the series after a change by hand",
}
"""What runs of a tool are for; others go by the name of the tool."""


def runs(evidence: Evidence) -> Iterator[FactDraft]:
    """Say how often the program ran in all, and what for."""
    made, counted = evidence.measuring, Counter[str]()
    for call in made:
        counted[_purpose(call, evidence)] += evidence.rows(call)
    if made:
        went = ", ".join(f"{number(count)} for {purpose}" for purpose, count in counted.items())
        detail = f"{number(evidence.recorded_runs)} {evidence.run.subject.counted}, {went}"
        yield FactDraft("runs", detail=detail, calls=tuple(call.call_id for call in made))


def classes(evidence: Evidence) -> Iterator[FactDraft]:
    """Say how far the slow runs are from the fast ones: shares, medians and their ratio, and where the cut lies."""
    if evidence.labelled is None or evidence.runs_explained is None:
        return
    found, unit = evidence.labelled.classes, names.unit(evidence.run.subject.unit)
    calls = (*evidence.calls("profile")[-1:], *evidence.calls("label")[-1:])
    slow, outcome = np.array(found.slow, dtype=np.bool_), evidence.runs_explained.outcome
    if slow.size == outcome.size:
        worse, better = float(np.median(outcome[slow])), float(np.median(outcome[~slow]))
        times = (
            f"ratio of the medians {ratio(worse / better)}"
            if better > 0
            else "no ratio, for the fast median is not above zero"
        )
        detail = f"{_class(found.n_slow, evidence.labelled)} slow with a median of {quantity(worse, unit)}, "
        detail += f"{_class(found.n_fast, evidence.labelled)} fast with {quantity(better, unit)}, {times}, "
        yield FactDraft("classes", detail=f"{detail}cut at {quantity(found.cut, unit)}", calls=calls)


def cut(evidence: Evidence) -> Iterator[FactDraft]:
    """Say where the slow runs were told from the fast ones, and why there."""
    if evidence.labelled is None:
        return
    found, unit = evidence.labelled.classes, names.unit(evidence.run.subject.unit)
    detail = f"{number(found.n_slow)} of {number(found.n_slow + found.n_fast)}, cut at {quantity(found.cut, unit)}"
    calls = evidence.calls("label")[-1:]
    yield FactDraft("cut", detail=f"{detail}, {quoted(found.how, MOST_WORDS)}", calls=calls)


def _class(size: int, labelled: LabelResult) -> str:
    total = labelled.classes.n_slow + labelled.classes.n_fast
    return f"{number(size)} of {number(total)} ({percent(size / total)})"


def _purpose(call: Finished, evidence: Evidence) -> str:
    if call.tool == "apply_mitigation":
        key = str(call.arguments.get("mitigation"))
        return f"pairs with {key if key in evidence.run.knowledge.mitigations else quoted(key)}"
    return FOR.get(call.tool, call.tool)
