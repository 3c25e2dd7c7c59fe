"""What layers do to the runs that they watch: profiled runs against bare ones, made between them in random order.

Held against each other are times, exit codes and what is printed. System calls that fail are not: nobody sees them in
bare runs, so one that looking makes fail is noticed only where it changes one of these.
"""

from __future__ import annotations

import math
import operator
from collections import defaultdict
from collections.abc import Iterable, Sequence, Set
from itertools import count

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from ..knowledge.shape import Frozen
from .claim import Arms, Claim, TooFew, claim
from .comparison import below
from .execution.capture import SAID
from .experiment.schedules import LayerSet
from .failures import failed_arms, shown_by
from .row import Row
from .statistics.labels.classes import label
from .statistics.shape.describe import describe

MOST_SPREAD = 1.5
"""Layers whose ratio of spreads lies wholly beyond this factor, either way, show another one than that in question."""

SURE = 0.01
"""Alpha of all claims that set layers aside: to set the only layer aside ends a diagnosis."""


class Distortion(Frozen):
    """One set of layers against bare runs."""

    layers: LayerSet
    runs: int
    mean: Claim | TooFew | None
    """Of these runs over the bare ones, for this set alone; None with fewer than two runs of either."""
    spread: Claim | TooFew | None
    set_aside: str = ""
    """Why these layers hide what they should show; empty when they do not."""
    unsure: bool = Field(default=False, exclude_if=operator.not_)
    """A shift of the mean by as much as slow and fast runs differ is within its 95 % interval."""
    shifts: bool = Field(default=False, exclude_if=operator.not_)
    """Set aside for the times that it gives, which it shifts less where runs are longer."""


def distortion(
    layers: LayerSet, bare: Sequence[float], runs: Sequence[float], gap: float, *, sets: int, seed: int, whole: int = 1
) -> Distortion:
    """Compare the outcomes of one set with bare ones; `gap` is by how much slow and fast runs differ.

    Layers are set aside for what is beyond luck only, at an alpha that is paid for all `sets`. With `whole` samples
    from each run it is whole runs that are exchanged.
    """
    if min(len(bare), len(runs)) < 2:
        return Distortion(layers=layers, runs=len(runs), mean=None, spread=None)
    arms = Arms(np.asarray(bare, dtype=np.float64), np.asarray(runs, dtype=np.float64), paired=False, whole=whole)
    sure = {measure: claim(arms, measure, alpha=SURE / sets, seed=seed) for measure in ("mean", "spread")}
    mean, level = claim(arms, "mean", seed=seed), abs(float(np.mean(bare)))
    set_aside = _too_much(sure["mean"], sure["spread"], level, gap)
    return Distortion(
        layers=layers,
        runs=len(runs),
        mean=mean,
        spread=claim(arms, "spread", seed=seed),
        set_aside=set_aside,
        shifts=bool(set_aside),
        unsure=not set_aside and gap > 0 and not _surely_within(mean, level, gap),
    )


def other_behaviour(bare: Sequence[Row], runs: Sequence[Row], sets: int) -> str:
    """Say how the program fails less or more often under a set of layers, or prints what it never does without.

    A clause; empty where nothing of that is beyond luck.
    """
    failing = failed_arms(shown_by(bare), shown_by(runs), SURE / sets)
    if failing and failing.claim:
        return f"the program {failing.words}"
    return printed_otherwise(bare, runs, SURE / sets)


def printed_otherwise(bare: Sequence[Row], runs: Sequence[Row], alpha: float) -> str:
    """Name a line that runs print only when they are looked at; empty where there is none, or nobody listened."""
    before, now = ([row[SAID] for row in rows if row["ok"] == 1 and SAID in row] for rows in (bare, runs))
    line = only_in([set(said) for said in before], [set(said) for said in now], alpha)
    if line is None:
        return ""
    text = next((told for said in now if (told := said.get(line))), "a line")
    return (
        f"what it prints differs when it is looked at: {text!r} in {sum(line in said for said in now)} of {len(now)} "
        f"runs, in none of {len(before)} bare ones"
    )


def only_in(bare: Sequence[Set[str]], watched: Sequence[Set[str]], alpha: float) -> str | None:
    """Find a mark that watched runs have and bare ones never, by more than luck: that of the most runs.

    Were all n + m runs alike, a mark that k of them have would be in none of the m bare ones with the chance
    C(n, k) / C(n + m, k) (Fisher's exact test, one-sided). Marks of the same runs count as one, and of all marks only
    those are paid for that could reach alpha at all (Tarone 1990): a text that differs from run to run costs nothing.
    """
    n, total = len(watched), len(watched) + len(bare)
    having = defaultdict[str, list[int]](list)
    for run, marks in enumerate((*watched, *bare)):
        for mark in marks:
            having[mark].append(run)
    one = {tuple(runs): mark for mark, runs in having.items() if len(runs) <= n}
    chances = {runs: math.comb(n, len(runs)) / math.comb(total, len(runs)) for runs in one}
    paid = next(many for many in count(1) if sum(chance <= alpha / many for chance in chances.values()) <= many)
    sure = [runs for runs, chance in chances.items() if chance <= alpha / paid and runs[-1] < n]
    return one[max(sure, key=len)] if sure else None


def with_their_parts(found: Iterable[Distortion]) -> tuple[Distortion, ...]:
    """Set aside as well what holds a set that was set aside: adding a layer does not take the distortion away."""
    found = tuple(found)
    aside = [one for one in found if one.set_aside]

    def judged(one: Distortion) -> Distortion:
        part = next((other for other in aside if set(other.layers) < set(one.layers)), None)
        if one.set_aside or part is None:
            return one
        return one.model_copy(update={"set_aside": f"{'+'.join(part.layers)} is part of it"})

    return tuple(map(judged, found))


def gap_of(outcome: ArrayLike, lower_is_better: bool = True) -> float:
    """By how much the means of slow and fast runs differ, cut as `label` cuts; 0 where none differ."""
    values = np.asarray(outcome, dtype=np.float64)
    if values.size < 2:
        return 0.0
    shape = describe(values)
    if shape.all_equal:
        return 0.0
    slow = label(values, shape, lower_is_better).slow
    return abs(float(values[slow].mean() - values[~slow].mean())) if 0 < slow.sum() < slow.size else 0.0


def _too_much(mean: Claim | TooFew, spread: Claim | TooFew, bare: float, gap: float) -> str:
    if isinstance(mean, Claim) and bare * max(mean.low - 1, 1 - (1.0 if mean.high is None else mean.high), 0.0) > gap:
        return f"it shifts the mean by {shift(mean)}, which is more than slow and fast runs differ"
    beyond = below(spread, 1 / MOST_SPREAD) or isinstance(spread, Claim) and spread.low > MOST_SPREAD
    return f"it shifts the spread by {shift(spread)}, so that it is no longer the program's" if beyond else ""


def _surely_within(mean: Claim | TooFew, bare: float, gap: float) -> bool:
    """Tell whether a shift of the mean by the gap, either way, is ruled out."""
    return isinstance(mean, Claim) and mean.high is not None and bare * max(mean.high - 1, 1 - mean.low) < gap


def shift(claim: Claim | TooFew) -> str:
    """Write a ratio as a shift in percent with its interval."""
    if isinstance(claim, TooFew) or claim.ratio is None:
        return "an unknown amount"
    bounds = "" if claim.high is None else f" [{_percent(claim.low)}, {_percent(claim.high)}]"
    return f"{_percent(claim.ratio)} %{bounds}"


def _percent(ratio: float) -> str:
    percent = 100 * (ratio - 1)
    return f"{percent:+.0f}" if abs(percent) >= 9.95 else f"{percent:+.1f}"
