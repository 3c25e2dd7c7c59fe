"""Is the other arm steadier than the baseline? Two arms of runs, judged on spread, with the location beside it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri
from scipy.stats import wasserstein_distance

from ....knowledge.errors import VgoError
from ..shape.describe import describe
from ..values import BoolArray, FloatArray, IntArray, Result
from .bootstrap import Drawing, Shift, ratios
from .bootstrap import Ratio as Ratio
from .dependence import block_length
from .permutation import Exchange, SpreadTest, permutation_tests
from .permutation import holm as holm
from .resampling import affordable
from .weighted import Statistic
from .within import Within, within

Verdict = Literal["steadier", "less steady", "no difference shown", "cannot tell"]
LEAST_RUNS = 10
POWER = 0.8
TARGET_RATIO = 0.66
"""The fall of the SD that a mitigation should reach, and that a comparison should be able to show."""
WEAKEST = 0.5
"""Runs that could not even show a halving of the spread cannot tell."""


class Description(Result):
    """Two arms side by side: ratios, the shift of every quantile, distance; nothing is decided."""

    paired: bool
    lower_is_better: bool
    baseline_runs: int
    other_runs: int
    dropped: int
    """Pairs, or single runs of unpaired arms, left out because a value was not finite."""
    block: int
    """Neighbouring runs kept together because they depend on each other; 1 where they do not."""
    ratios: tuple[Ratio, ...]
    shifts: tuple[Shift, ...]
    distance: float
    """Wasserstein's (earth mover's) between both distributions, in the unit of the outcome."""
    relative_distance: float | None
    """The same in SDs of the baseline."""
    baseline_modes: int
    other_modes: int
    notes: tuple[str, ...]
    """What to know before believing it."""

    def ratio(self, statistic: Statistic) -> Ratio:
        """Pick one ratio."""
        return next(ratio for ratio in self.ratios if ratio.statistic == statistic)


class Comparison(Description):
    """What is described, tested, and what follows for the spread."""

    p_value: float
    """Of a difference in spread: the lesser of the two adjusted p-values."""
    tests: tuple[SpreadTest, ...]
    p_location: float
    """Of a difference in mean; it never decides the verdict."""
    verdict: Verdict
    reason: str
    """Why the verdict is not plain, in words; empty where it is."""
    shown_ratio: float | None
    """The weakest fall of the spread that so many runs show four times in five; None where nothing scatters."""
    runs_needed: int | None
    """Runs of each arm that show a fall of the SD to 0.66 four times in five, where these runs cannot tell."""

    def below(self, bound: float) -> Ratio | None:
        """Give the ratio whose interval shows that the spread is less than a share of the baseline's; None: none does.

        That is the SD. A single run far off leaves the upper end of its interval open, whatever the others do: then
        the distance from p5 to p95, where the SD as it was measured is below, too.
        """
        sd, bulk = self.ratio("sd"), self.ratio("p95-p05")
        if sd.value is None or sd.value >= bound:
            return None
        return next((one for one in (sd, bulk) if one.high is not None and one.high < bound), None)


def compare(
    baseline: ArrayLike,
    other: ArrayLike,
    *,
    paired: bool = True,
    lower_is_better: bool = True,
    seed: int = 0,
    resamples: int = 2000,
    alpha: float = 0.05,
    ordered: bool = True,
    whole: int = 1,
    unit: Literal["run", "block"] = "run",
    hosts: ArrayLike | None = None,
) -> Comparison:
    """Compare two arms of shape (runs,), each in run order (`ordered=False` where the order means nothing).

    Pairs: run i of one was made next to run i of the other, in random order. Arms measured one after the other differ
    "significantly" in 10 to 40 % of cases where nothing differs. Raises VgoError for pairs of unequal number and for
    fewer than two runs. With `whole` samples from each run, values are samples, run after run: runs are exchanged and
    drawn whole, since what a run's samples share is no evidence, and it is the number of runs that must suffice. The
    same holds for the pairs of a block, where conditions took turns by block (`unit`). With `hosts`, a number for each
    pair, spreads are those within hosts (see `within`).

    Simulated where nothing differs (300 to 400 samples, alpha .05; 60 or 200 runs, 60 against 200): spread is called
    different in .02 to .065 of them on normal, lognormal and bimodal laws, and in 0 to .067 under AR(1) with phi .3 to
    .9. The test of location gives .04 to .065, and .04 to .09 under AR(1) with phi .3 and .6; with phi .9 and 60 runs
    an arm, made one arm after the other, .16 to .19: there its p-value is too small.
    """
    arms = _lined_up(baseline, other, paired, ordered, whole, hosts)
    x, y = arms.inside.estimated
    tests, p_location = permutation_tests(*arms.inside.tested, Exchange(paired, max(arms.blocks)), seed, resamples)
    shown = _shown_ratio(tests, alpha)
    verdict, reason, few = _verdict(tests, (x.size // whole, y.size // whole), arms.coarse, shown, alpha)
    described = _described(arms, Drawing(paired, arms.blocks, seed, resamples, lower_is_better, whole), unit)
    return Comparison(
        **described,
        p_value=min(test.adjusted for test in tests),
        tests=tests,
        p_location=p_location,
        verdict=verdict,
        reason=reason,
        shown_ratio=shown,
        runs_needed=_runs_needed(min(x.size, y.size) // whole, shown) if few else None,
    )


def describe_arms(
    baseline: ArrayLike,
    other: ArrayLike,
    *,
    paired: bool = True,
    lower_is_better: bool = True,
    seed: int = 0,
    resamples: int = 2000,
    whole: int = 1,
    unit: Literal["run", "block"] = "run",
) -> Description:
    """Describe two arms as `compare` does, and decide nothing."""
    arms = _lined_up(baseline, other, paired, ordered=True, whole=whole, hosts=None)
    drawing = Drawing(paired, arms.blocks, seed, resamples, lower_is_better, whole)
    return Description(**_described(arms, drawing, unit))


class _Arms(NamedTuple):
    """Both arms, ready to be compared."""

    inside: Within
    dropped: int
    coarse: bool
    blocks: tuple[int, int]
    modes: tuple[int, int]


def _lined_up(
    baseline: ArrayLike, other: ArrayLike, paired: bool, ordered: bool, whole: int, hosts: ArrayLike | None
) -> _Arms:
    x, y, dropped = _pairs(baseline, other) if paired else _apart(baseline, other)
    shapes = describe(x, ordered), describe(y, ordered)
    coarse = any(shape.clock_too_coarse for shape in shapes)  # before anything is moved
    inside = _inside(x, y, hosts if hosts is None else np.asarray(hosts)[_finite(baseline, other)])
    x, y = inside.estimated
    if x.size % whole or y.size % whole:
        raise ValueError(f"{x.size} and {y.size} samples are no whole runs of {whole}.")
    blocks = _blocks(x, y, paired, whole) if ordered else (whole, whole)
    shapes = shapes if hosts is None else (describe(x, ordered), describe(y, ordered))
    return _Arms(inside, dropped, coarse, blocks, (len(shapes[0].modes), len(shapes[1].modes)))


def _described(arms: _Arms, drawing: Drawing, unit: str) -> dict[str, Any]:
    x, y = arms.inside.estimated
    found, shifts = ratios(x, y, drawing)
    distance, sd = float(wasserstein_distance(x, y)), float(x.std(ddof=1))
    together = (drawing.whole, unit)
    return {
        "paired": drawing.paired,
        "lower_is_better": drawing.lower_is_better,
        "baseline_runs": x.size,
        "other_runs": y.size,
        "dropped": arms.dropped,
        "block": max(arms.blocks),
        "ratios": found,
        "shifts": shifts,
        "distance": distance,
        "relative_distance": distance / sd if sd else None,
        "baseline_modes": arms.modes[0],
        "other_modes": arms.modes[1],
        "notes": (
            *_notes(drawing.paired, max(arms.blocks), together, x.size + y.size, drawing.resamples),
            *_of_hosts(arms.inside),
        ),
    }


def _pairs(baseline: ArrayLike, other: ArrayLike) -> tuple[FloatArray, FloatArray, int]:
    x, y = _column(baseline), _column(other)
    if x.size != y.size:
        raise VgoError(f"The arms have {x.size} and {y.size} runs, so they are not pairs: give as many of each.")
    whole = _finite(x, y)
    if whole.sum() < 2:
        raise VgoError("Fewer than two pairs of runs are complete: measure more pairs.")
    return x[whole], y[whole], int((~whole).sum())


def _finite(x: ArrayLike, y: ArrayLike) -> BoolArray:
    whole: BoolArray = np.isfinite(_column(x)) & np.isfinite(_column(y))
    return whole


def _inside(x: FloatArray, y: FloatArray, hosts: IntArray | None) -> Within:
    return Within((x, y), (x, y), 1, 0) if hosts is None else within(x, y, hosts)


def _apart(baseline: ArrayLike, other: ArrayLike) -> tuple[FloatArray, FloatArray, int]:
    given = _column(baseline), _column(other)
    x, y = (arm[np.isfinite(arm)] for arm in given)
    for name, arm in (("baseline", x), ("other arm", y)):
        if arm.size < 2:
            raise VgoError(f"The {name} has {arm.size} run(s) with a finite value: a spread takes at least two.")
    return x, y, given[0].size + given[1].size - x.size - y.size


def _column(values: ArrayLike) -> FloatArray:
    return np.asarray(values, dtype=np.float64).ravel()


def _blocks(x: FloatArray, y: FloatArray, paired: bool, whole: int) -> tuple[int, int]:
    """Give the blocks of each arm. What both runs of a pair share cancels, so pairs are asked for their differences."""
    away = tuple(np.abs(arm - np.median(arm)) for arm in (x, y))
    if paired:
        block = _whole(block_length(y - x, away[1] - away[0]), whole)
        return block, block
    return _whole(block_length(x, away[0]), whole), _whole(block_length(y, away[1]), whole)


def _whole(block: int, whole: int) -> int:
    """Lengthen a block to whole runs; what a run's samples share is kept together, so they may look independent."""
    return -(-block // whole) * whole


def _shown_ratio(tests: tuple[SpreadTest, ...], alpha: float) -> float | None:
    """Fall of the spread that the better test shows with the power asked for, from its noise when nothing differs."""
    noise = min(test.noise for test in tests)
    # Holm gives the first of the two half of alpha, and each half is two-sided.
    return math.exp(-float(ndtri(1 - alpha / 4) + ndtri(POWER)) * noise) if noise > 0 else None


def _runs_needed(runs: int, shown: float | None) -> int | None:
    """Runs of each arm for the target, since noise falls as their root; None where no run differs from another.

    For a pure change of scale; `stopping.power` simulates the other kinds, in seconds where this takes none.
    """
    return max(LEAST_RUNS, math.ceil(runs * (math.log(shown) / math.log(TARGET_RATIO)) ** 2)) if shown else None


def _verdict(
    tests: tuple[SpreadTest, ...], runs: tuple[int, int], coarse: bool, shown: float | None, alpha: float
) -> tuple[Verdict, str, bool]:
    """The verdict, the reason where it is not plain, and whether more runs would help."""
    if min(runs) < LEAST_RUNS:
        return "cannot tell", _too_few(*runs), True
    if coarse:
        return "cannot tell", "the step of the clock is as large as the spread", False
    signs = {test.log_ratio < 0 for test in tests if test.adjusted < alpha}
    if len(signs) == 2:
        return "cannot tell", "the bulk of the runs and their tails moved in opposite directions", False
    if signs:
        return ("steadier" if signs.pop() else "less steady"), "", False
    if shown is None:
        return "no difference shown", "no run differs from another", False
    words = f"so many runs show a fall of the spread to {shown:.2g} of the baseline's four times in five"
    if shown < WEAKEST:
        return "cannot tell", f"{words}, and nothing weaker", True
    return "no difference shown", f"{words}; a smaller difference may be there", False


def _too_few(baseline: int, other: int) -> str:
    if baseline == other:
        return f"{baseline} runs in each arm are fewer than {LEAST_RUNS}"
    return f"the baseline has {baseline} runs and the other arm {other}, and each needs at least {LEAST_RUNS}"


def _notes(paired: bool, block: int, together: tuple[int, str], runs: int, resamples: int) -> Iterator[str]:
    whole, unit = together
    if unit == "block":
        yield f"The conditions took turns in blocks of {whole}; blocks were exchanged and resampled whole."
    elif whole > 1:
        yield f"Each run gave {whole} samples; runs were exchanged and resampled whole."
    if block > whole and not paired:
        yield (
            f"Neighbouring runs depend on each other, so blocks of {block} were resampled: arms measured one after the "
            "other differ by drift alone, and no test tells that from a cause; measure pairs in random order."
        )
    elif block > whole:
        yield f"The differences of neighbouring pairs depend on each other, so blocks of {block} pairs were resampled."
    if affordable(runs, resamples) < resamples:
        yield (
            f"With so many runs {affordable(runs, resamples)} permutations stand for {resamples}, "
            "read by the normal law that they follow."
        )


def _of_hosts(inside: Within) -> Iterator[str]:
    if inside.hosts > 1:
        yield f"Spreads are those within {inside.hosts} hosts; what the hosts differ by is left out."
    if inside.hosts > 1 and inside.alone:
        yield (
            f"{inside.alone} pairs are alone on their host, so what it differs by is in their spread: fewer hosts, or "
            "more pairs, tell more."
        )
