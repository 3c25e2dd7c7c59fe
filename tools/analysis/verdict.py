"""What an analysis concludes: a verdict with its reason, early where no column is needed, else at the price of all."""

from __future__ import annotations

from typing import NamedTuple

from ..recorded.shapes import Observations
from ..statistics.labels.classes import Classes
from ..statistics.shape.describe import DistributionShape
from ..statistics.spread import summarise
from .analysis import Analysis, Verdict
from .question import AnalysisOptions

LEAST_RUNS = 20
"""Fewer say nothing about what goes with spread: a column that separates them perfectly is found by luck."""
LEAST_IN_CLASS = 5
MOST_BESIDE = 3
"""Factors named beside the first; all are listed."""


class EarlyVerdict(NamedTuple):
    """A verdict that is reached before columns are searched."""

    verdict: Verdict
    reason: str


def early(design: Observations, shape: DistributionShape, question: AnalysisOptions) -> EarlyVerdict | None:
    """Verdicts that need no column; `design` is that after warm-up."""
    outcome, rows = design.outcome, rows_of(design)
    if outcome.size < LEAST_RUNS:
        return EarlyVerdict(
            "unusable",
            f"Only {outcome.size} {rows} count, and causes need at least {LEAST_RUNS}; record more.",
        )
    if shape.all_equal:
        return EarlyVerdict("steady", f"All {outcome.size} {rows} gave {outcome[0]:g}.")
    if shape.clock_too_coarse:
        return EarlyVerdict(
            "unusable",
            f"{design.outcome_name} steps by {shape.resolution:g}, coarser than its spread; record more digits.",
        )
    cv = summarise(outcome).cv
    if cv is not None and cv <= question.steady_cv:
        limit = f"{100 * question.steady_cv:g} %"
        why = f"The CV is {100 * cv:.2g} %, at or below {limit} (--steady-cv 0 looks anyway)."
        return EarlyVerdict("steady", why)
    return None


def rows_of(design: Observations) -> str:
    """What a row of the table is."""
    return "runs" if design.runs is None else "samples"


def uneven(classes: Classes, rows: str) -> EarlyVerdict | None:
    """End where a class is too small to say anything of it; `rows` is what is in it."""
    sizes = classes.sizes
    if min(sizes) >= LEAST_IN_CLASS:
        return None
    return EarlyVerdict(
        "unusable",
        f"The cut leaves {min(sizes)} {rows} in a class, which needs {LEAST_IN_CLASS}: move --cut or record more.",
    )


def concluded(found: Analysis, p_adjusted: float | None, question: AnalysisOptions) -> Analysis:
    """Give the verdict, at the price of all groups; what ended early stays as it is."""
    if p_adjusted is None:
        return found
    matter = any(finding.factor.visible for finding in found.findings) or bool(found.interactions)
    shown = p_adjusted <= question.alpha and (matter or found.cut_search is not None)
    verdict: Verdict = "cause explained" if shown else "cause not visible"
    reason = _cause(found, p_adjusted) if shown else _nothing(found, p_adjusted, question.alpha)
    return found.model_copy(update={"verdict": verdict, "reason": reason, "p_adjusted": p_adjusted})


def _cause(found: Analysis, p: float) -> str:
    visible = [finding.factor for finding in found.findings if finding.factor.visible]
    chance = f"family-wise p {p:.2g}"
    if not visible and found.interactions:
        pair = found.interactions[0]
        return f"{pair.first} and {pair.second} go with slow runs together, though neither does alone ({chance})."
    if not visible:
        return f"Some column goes with slow runs at one of the cuts that were tried ({chance}), none at the chosen one."
    first = visible[0]
    others = [factor.name for factor in visible[1:] if factor.independent]
    more = f" and {len(others) - MOST_BESIDE} more" if len(others) > MOST_BESIDE else ""
    beside = f"; beside it {', '.join(others[:MOST_BESIDE])}{more}" if others else ""
    if first.eta2 is not None:
        share = f"{first.eta2:.0%} of the variance of {found.outcome} lies between its values"
        return f"{first.name} goes with slow runs: {share} ({chance}){beside}."
    return f"Slow runs have {first.direction} {first.name}: AUC {first.auc:.2f}, {chance}{beside}."


def _nothing(found: Analysis, p: float, alpha: float) -> str:
    if not found.findings:
        return "No column is left that could explain slow runs; `set_aside` says why each went."
    if p <= alpha:
        first = found.findings[0].factor
        return (
            f"{first.name} goes with slow runs by more than luck (family-wise p {p:.2g}) and by too little to matter: "
            f"AUC {first.auc:.2f}."
        )
    return (
        f"None of {len(found.findings)} clusters of columns goes with slow runs by more than luck (family-wise "
        f"p {p:.2g})."
    )
