"""What weakens an analysis, and what to do about it: one sentence each."""

from __future__ import annotations

from collections.abc import Iterator

from ..amount import amount
from .analysis import Analysis

SPELLS = 0.3
"""Rank correlation of neighbours above which the number of runs says less than it seems."""
LUCK = 0.1
"""Balanced accuracy on unseen runs above blind guessing below which a tree tells a story and no more."""
FEW_MAKE = 0.5
"""Share of the variance that, made by few runs, is worth a word."""
MOST_NAMED = 5


def advice(found: Analysis, read: int) -> tuple[str, ...]:
    """Advise on one analysis; `read` counts the runs before warm-up was left out."""
    return tuple(words for source in (_of_order, _of_outcome, _of_search) for words in source(found, read))


def _of_order(found: Analysis, read: int) -> Iterator[str]:
    shape = found.shape
    if shape is None:
        return
    if shape.warm_up:
        yield f"The first {shape.warm_up} of {read} runs differ from all later ones (warm-up) and were left out."
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
