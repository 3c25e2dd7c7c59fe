"""The answer to one question put to one table, or to one group of its runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from ..amount import amount
from ..recorded.recorded import Observations
from ..statistics.association.columns import FactorAssociation
from ..statistics.association.interactions import Interaction
from ..statistics.association.tree import DecisionTree
from ..statistics.labels.classes import Classes
from ..statistics.labels.cut_search import AUTOMATIC, CutRule, CutSearch
from ..statistics.shape.describe import DistributionShape
from ..statistics.spread import ArmSummary, summarise
from ..statistics.values import LEAST_IN_CLASS, FiniteResult, FloatArray, IntervalEstimate
from ..verdict import EXPLAINED, NOT_VISIBLE, STEADY, UNUSABLE, TitlePattern

Evidence = Literal["association", "intervention", "intervention in blocks"]
"""intervention in blocks: varied on purpose, but one value after the other, so whatever else changed goes with it."""
MIXED = 2.0
"""Standard deviations below the expected number of switches at which the order no longer counts as mixed."""
LEAST_RUNS = 20
"""Fewer say nothing about what goes with spread: a column that separates them perfectly is found by luck."""
MOST_BESIDE = 3
"""Factors named beside the first; all are listed."""
SPELLS = 0.3
"""Rank correlation of neighbours above which the number of runs says less than it seems."""
LUCK = 0.1
"""Balanced accuracy on unseen runs above blind guessing below which a tree tells a story and no more."""
FEW_MAKE = 0.5
"""Share of the variance that, made by few runs, is worth a word."""
MOST_NAMED = 5


def evidence(values: FloatArray, places: Sequence[int], setting: bool, ordered: bool) -> Evidence:
    """Judge one factor by its places among the columns, shape (runs, columns): was it set, did its values alternate?

    Settings in unknown order count as blocks: nothing shows that they were mixed.
    """
    if not setting:
        return "association"
    return "intervention" if ordered and mixed(values, places) else "intervention in blocks"


def mixed(values: FloatArray, places: Sequence[int]) -> bool:
    """Compare the number of runs of equal values with that of a random order of the same values.

    Mean and variance for any number of values by Barton and David 1957, "Multiple runs". Strict alternation has more
    runs than chance and is mixed as well.
    """
    _, which, counts = np.unique(values[:, list(places)], axis=0, return_inverse=True, return_counts=True)
    n = which.size
    if counts.size < 2:
        return False
    runs = 1 + int((np.diff(which.ravel()) != 0).sum())
    c = counts.astype(np.float64)
    squares, cubes = float((c**2).sum()), float((c**3).sum())
    expected = (n * (n + 1) - squares) / n
    variance = (squares * (squares + n * (n + 1)) - 2 * n * cubes - n**3) / (n**2 * (n - 1))
    return runs >= expected - MIXED * math.sqrt(max(variance, 0.0))


class Finding(FiniteResult):
    """A factor, with what kind of evidence it rests on."""

    factor: FactorAssociation
    evidence: Evidence


class TableVerdict(FiniteResult):
    """Verdict first, then what it rests on."""

    verdict: str
    reason: str
    outcome: str
    unit: str
    lower_is_better: bool
    runs: int
    """Runs that count: with an outcome, after warm-up; samples, where an analysis tells `of_runs`."""


class Analysis(TableVerdict):
    """The answer of the columns; None where the analysis did not come so far."""

    verdict: TitlePattern
    of_runs: int = 0
    """Runs that gave the samples; 0 where rows are runs."""
    columns: int
    """Columns that could have been factors."""
    spread: ArmSummary | None = None
    sd_interval: IntervalEstimate | None = None
    """95 %, in the unit of the outcome."""
    shape: DistributionShape | None = None
    variance_far_out: float | None = None
    """Share of the variance that goes with the outliers of the shape."""
    classes: Classes | None = None
    cut_search: CutSearch | None = None
    """With `--cut search`: what the search looked at, and what it is worth on unseen runs."""
    tree: DecisionTree | None = None
    p_value: float | None = None
    """Of the whole search: that chance alone would show any cluster so strongly."""
    p_adjusted: float | None = None
    """Over the groups of the table (Holm); the same as `p_value` where there is one group."""
    detectable_auc: float | None = None
    """About the weakest link that these runs would have shown four times in five."""
    findings: tuple[Finding, ...] = ()
    """Clusters of columns, most convincing first; those that are not visible too."""
    interactions: tuple[Interaction, ...] = ()
    sampled: int | None = None
    """Runs behind what only explains, where the table was too large for all; AUCs and p-values look at every run."""
    set_aside: Mapping[str, str] = {}
    warnings: tuple[str, ...] = ()
    """Each says what to do about it."""


@dataclass(frozen=True)
class AnalysisOptions:
    """How to cut, how sure to be, how much chance to draw."""

    cut: CutRule = AUTOMATIC
    alpha: float = 0.05
    """Chance of naming any cause where there is none."""
    steady_cv: float = 0.01
    """At or below this coefficient of variation there is nothing to reduce."""
    depth: int = 3
    permutations: int = 2000
    seed: int = 1
    explain: bool = True
    """Whether tree, importance and intervals are wanted beside the verdict."""


class EarlyVerdict(NamedTuple):
    """A verdict that is reached before columns are searched."""

    verdict: str
    reason: str


def early(design: Observations, shape: DistributionShape, question: AnalysisOptions) -> EarlyVerdict | None:
    """Verdicts that need no column; `design` is that after warm-up."""
    outcome, rows = design.outcome, rows_of(design)
    if outcome.size < LEAST_RUNS:
        count = f"1 {rows[:-1]} counts" if outcome.size == 1 else f"{outcome.size} {rows} count"
        return EarlyVerdict(UNUSABLE, f"Only {count}, and causes need at least {LEAST_RUNS}; record more.")
    if shape.all_equal:
        return EarlyVerdict(STEADY, f"All {outcome.size} {rows} gave {outcome[0]:g}.")
    if shape.clock_too_coarse:
        return EarlyVerdict(
            UNUSABLE,
            f"{design.outcome_name} steps by {shape.resolution:g}, coarser than its spread; record more digits.",
        )
    cv = summarise(outcome).cv
    if cv is not None and cv <= question.steady_cv:
        limit = f"{100 * question.steady_cv:g} %"
        why = f"The CV is {100 * cv:.2g} %, at or below {limit} (--steady-cv 0 looks anyway)."
        return EarlyVerdict(STEADY, why)
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
        UNUSABLE,
        f"The cut leaves {min(sizes)} {rows} in a class, which needs {LEAST_IN_CLASS}: move --cut or record more.",
    )


def concluded(found: Analysis, p_adjusted: float | None, question: AnalysisOptions) -> Analysis:
    """Give the verdict, at the price of all groups; what ended early stays as it is."""
    if p_adjusted is None:
        return found
    matter = any(finding.factor.visible for finding in found.findings) or bool(found.interactions)
    shown = p_adjusted <= question.alpha and (matter or found.cut_search is not None)
    verdict = EXPLAINED if shown else NOT_VISIBLE
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
        return "No column could explain slow runs: each was set aside, with its reason."
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


def advice(found: Analysis, read: int) -> tuple[str, ...]:
    """Advise on one analysis; `read` counts the runs before warm-up was left out."""
    return tuple(words for source in (_of_order, _of_outcome, _of_search) for words in source(found, read))


def _of_order(found: Analysis, read: int) -> Iterator[str]:
    shape = found.shape
    if shape is None:
        return
    if shape.warm_up:
        yield f"The first {shape.warm_up} of {read} runs differ from all later ones (warm-up) and were left out."
    if found.verdict == STEADY:
        return  # where the spread is too little to matter, so is what the order makes of it
    if shape.drift:
        yield (
            f"{found.outcome} drifts with the order of the runs, and whatever drifts too goes with it: "
            "run conditions in mixed order, or let the machine settle."
        )
    elif shape.lag1 is not None and shape.lag1 > SPELLS:
        yield (
            f"Neighbouring runs resemble each other (rank correlation {shape.lag1:.2f}): slowness comes in spells, "
            "and the runs count for fewer than they are; spread them over more time."
        )


def _of_outcome(found: Analysis, read: int) -> Iterator[str]:
    shape = found.shape
    if shape is None:
        return
    if shape.resolution is not None and not shape.clock_too_coarse:
        yield f"{found.outcome} steps by {amount(shape.resolution, found.unit)}: record more digits if there are any."
    if shape.outliers.count:
        places = ", ".join(str(place + 1) for place in shape.outliers.places[:MOST_NAMED])
        more = ", ..." if shape.outliers.count > MOST_NAMED else ""
        yield (
            f"{shape.outliers.count} of {found.runs} runs lie far out (in run order: {places}{more}); they were kept: "
            "see what else happened then."
        )
    if shape.outliers.count and found.variance_far_out is not None and found.variance_far_out > FEW_MAKE:
        yield (
            f"They make {found.variance_far_out:.0%} of the variance and are too few for a class of their own: "
            "record more runs until there are five of their kind, or cut before them with --cut."
        )


def _of_search(found: Analysis, read: int) -> Iterator[str]:
    tree = found.tree
    chance = 1 / len(found.classes.sizes) if found.classes else 0.5
    if tree and tree.cross_validated is not None and tree.cross_validated < chance + LUCK < tree.in_sample:
        yield (
            f"The tree gets {tree.in_sample:.2f} on the runs it was fitted to and {tree.cross_validated:.2f} on others "
            f"({chance:.2g} is blind guessing): its questions are a story, not a cause."
        )
    blocks = [
        one.factor.name for one in found.findings if one.factor.visible and one.evidence == "intervention in blocks"
    ]
    if blocks:
        yield (
            f"The values of {', '.join(blocks[:MOST_NAMED])} were run one after another or in unknown order: "
            "what changed with time goes with them; run them in mixed order and give --order."
        )
