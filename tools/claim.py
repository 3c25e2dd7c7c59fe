"""A claim: by how much less one arm has of a measure than another, with the interval that decides it.

Test, interval and words are about one measure. Nothing else in the source decides that it is less.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np
from pydantic import Field

from .statistics.ratio_test import (
    FEWEST,
    SQUARED,
    Measure,
    RatioTest,
    contributions,
    holm_steps,
    ratio_test,
    side,
    unit_sums,
)
from .statistics.values import LARGEST, WIDTHLESS, FiniteResult, FloatArray, IntArray, number

Direction = Literal["less", "more", "equivalent", "undecided"]
Design = Literal["randomised", "before and after", "recorded"]
MARGIN = 0.66
"""A ratio of spreads between this and its reciprocal does not matter: the VGO paper's mitigations reach it."""
PRICE = 1.05
"""A ratio of means between this and its reciprocal does not matter."""
WORDS: Mapping[Measure, str] = {
    "spread": "mean absolute deviation from the median",
    "sd": "SD",
    "cv": "CV",
    "mean": "mean",
}


class Claim(FiniteResult):
    """The ratio of one measure, other arm over baseline."""

    measure: Measure
    ratio: float | None
    """As observed; None where the baseline has none of it."""
    low: float
    high: float | None
    """Ends of the interval of all ratios that the test does not reject; None: it has no upper end."""
    level: float
    """Of the interval: 1 less the alpha that was really spent, after looks and the family."""
    p_value: float
    """Of a ratio of 1, for this claim alone."""
    units: tuple[int, int]
    """What was exchanged, of each arm: runs, or blocks of them."""
    design: Design
    margin: float
    runs: int = Field(default=1, exclude_if=lambda runs: runs == 1)
    """Of a unit: more than one where neighbours depend on each other, or are compared in blocks."""

    @property
    def direction(self) -> Direction:
        """What the interval says."""
        high = math.inf if self.high is None else self.high
        equivalent = self.margin < self.low and high < 1 / self.margin
        return side(self.low, high) or ("equivalent" if equivalent else "undecided")

    @property
    def alike(self) -> bool:
        """Every exchange gives the same: that decides, and says nothing of what a finer clock would show."""
        return self.ratio is not None and self.high is not None and self.high - self.low <= WIDTHLESS * self.high

    def excludes(self, helps: Literal["less", "more"] = "less") -> bool:
        """A change that matters in this direction is excluded, and a smaller one is not shown."""
        beyond = self.low > self.margin if helps == "less" else self.high is not None and self.high < 1 / self.margin
        return beyond and self.direction != helps

    @property
    def fell(self) -> bool:
        """Less of it was seen, proved or not; it is not shown to be more, or a difference that does not matter."""
        return self.ratio is not None and self.ratio < 1 and self.direction in ("less", "undecided")


class TooFew(FiniteResult):
    """No claim can be made."""

    units: tuple[int, int]
    why: str
    """Clause without a full stop."""


@dataclass(frozen=True)
class Arms:
    """Outcomes of a baseline, shape (m,), and of another condition, shape (n,), each in run order."""

    baseline: FloatArray
    other: FloatArray
    paired: bool = True
    """Value i of one arm was made next to value i of the other, in random order."""
    whole: int = 1
    """Values in a row that belong together: samples of one run, pairs of one block."""
    hosts: IntArray | None = None
    """A number for the host of each pair: deviations are from the median of the arm on that host."""
    ordered: bool = True
    """Whether the order of the values means anything; else neighbours cannot depend on each other."""
    design: Design = "randomised"
    left: float = 1.0
    """Share of alpha that looks at them have left."""
    unit: Literal["run", "block"] = "run"
    """What `whole` values are."""

    def finite(self) -> tuple[FloatArray, FloatArray, IntArray | None]:
        """Both arms and the hosts without values that are not finite; of pairs, without the whole pair."""
        sound = np.isfinite(self.baseline), np.isfinite(self.other)
        if not self.paired:
            return self.baseline[sound[0]], self.other[sound[1]], None
        both = sound[0] & sound[1]
        return self.baseline[both], self.other[both], None if self.hosts is None else self.hosts[both]


def claims(
    arms: Mapping[str, Arms], measure: Measure = "spread", *, alpha: float = 0.05, seed: int = 0
) -> dict[str, Claim | TooFew]:
    """Make one claim for each pair of arms; the chance that any of them is wrong is at most alpha (Holm 1979).

    A claim that Holm rejects has the level of its step, the others that of the first step that was not rejected: what
    an interval says is what Holm says.
    """
    tested = {name: _tested(pair, measure, alpha * pair.left / len(arms), seed) for name, pair in arms.items()}
    tests = {name: one for name, one in tested.items() if isinstance(one, _Tested)}
    alphas = holm_steps({name: one.test.p_value() / arms[name].left for name, one in tests.items()}, alpha)
    return {
        name: one
        if isinstance(one, TooFew)
        else one.claim(measure, 1 - alphas[name] * arms[name].left, arms[name].design)
        for name, one in tested.items()
    }


def claim(arms: Arms, measure: Measure = "spread", *, alpha: float = 0.05, seed: int = 0) -> Claim | TooFew:
    """Make a claim that is alone in its family."""
    return claims({"": arms}, measure, alpha=alpha, seed=seed)[""]


def margin_of(measure: Measure) -> float:
    """Give the ratio of a measure from which on, down to 0, a fall matters."""
    return 1 / PRICE if measure == "mean" else MARGIN


class _Tested(NamedTuple):
    test: RatioTest
    ratio: float
    units: tuple[int, int]
    runs: int

    def claim(self, measure: Measure, level: float, design: Design) -> Claim:
        power = 0.5 if measure in SQUARED else 1.0
        low, high = self.test.interval(level)
        return Claim(
            measure=measure,
            ratio=number(self.ratio**power),
            low=min(low**power, LARGEST),
            high=number(high**power),
            level=level,
            p_value=self.test.p_value(),
            units=self.units,
            design=design,
            margin=margin_of(measure),
            runs=self.runs,
        )


def _tested(arms: Arms, measure: Measure, alpha: float, seed: int) -> _Tested | TooFew:
    """Test one pair of arms, or say why it cannot be."""
    x, y, hosts = arms.finite()
    size = unit_size(x, y, arms)
    units = x.size // size, y.size // size
    if min(units) < FEWEST:
        return TooFew(units=units, why=f"{_counted(units)}, and each arm needs at least {FEWEST}")
    if measure == "cv" and not (x.mean() and y.mean()):
        return TooFew(units=units, why="a CV takes means that are not 0")
    a, b = contributions(x, measure, hosts), contributions(y, measure, hosts)
    if min(a.min(), b.min()) < 0:
        return TooFew(units=units, why="a ratio of means takes values that are all positive")
    if not a.any() and not b.any():
        return TooFew(units=units, why="neither arm varies at all")
    ratio = float(b.mean() / a.mean()) if a.any() else math.inf
    runs = size // (arms.whole if arms.unit == "run" else 1)
    sums = (unit_sums(arm, size, rest=arms.paired) for arm in (a, b))
    return _Tested(ratio_test(*sums, paired=arms.paired, seed=seed, alpha=alpha), ratio, units, runs)


def ratio_of(arms: Arms, measure: Measure) -> float | None:
    """Give the ratio of a measure alone; None where there are too few values for a claim, or an arm has none of it."""
    x, y, hosts = arms.finite()
    if min(x.size, y.size) < FEWEST:
        return None
    if measure == "cv" and not (x.mean() and y.mean()):
        return None
    first, second = (float(contributions(arm, measure, hosts).mean()) for arm in (x, y))
    return (second / first) ** (0.5 if measure in SQUARED else 1.0) if first > 0 and second > 0 else None


def unit_size(x: FloatArray, y: FloatArray, arms: Arms) -> int:
    """How many neighbours are exchanged as one: whole runs, and runs that depend on each other.

    What both values of a pair share cancels, so pairs are asked for their differences.
    """
    from .statistics.comparison.resampling import block_length  # scipy, which an app that only tells a claim can spare

    if not arms.ordered:
        return arms.whole
    runs = [unit_sums(arm, arms.whole, rest=False) for arm in (x, y)]
    away = [unit_sums(np.abs(arm - np.median(arm)), arms.whole, rest=False) for arm in (x, y)]
    series = (runs[1] - runs[0], away[1] - away[0]) if arms.paired else (*runs, *away)
    most = min(arm.size for arm in runs) // FEWEST  # longer blocks would be too few to tell anything
    return max(1, min(block_length(*series), most)) * arms.whole


def _counted(units: tuple[int, int]) -> str:
    few, many = units
    return f"there are {few} of each" if few == many else f"there are {few} and {many}"


def runs_needed(claim: Claim, power: float = 0.8) -> int | None:
    """Estimate the runs of each arm that show the ratio `margin`; None where the interval has an open end.

    By the normal law of the log ratio, whose error falls as the root of the units, each of so many runs.
    """
    if claim.high is None or claim.low <= 0:
        return None
    beyond = NormalDist().inv_cdf((1 + claim.level) / 2)
    error = math.log(claim.high / claim.low) / (2 * beyond)
    needed = (beyond + NormalDist().inv_cdf(power)) * error / abs(math.log(claim.margin))
    return max(FEWEST, math.ceil(min(claim.units) * needed**2)) * claim.runs


class Names(NamedTuple):
    """How a sentence calls what is compared."""

    baseline: str
    other: str
    lower_is_better: bool = True
    """Of the outcome: a lower mean is faster."""


def sentence(claim: Claim, names: Names) -> str:
    """Say what the interval says, and quote it."""
    numbers = f"ratio of the {WORDS[claim.measure]} {interval(claim)}, {100 * claim.level:.4g} %"
    if claim.direction == "equivalent":
        bounds = f"between {claim.margin:.2f} and {1 / claim.margin:.2f}"
        return f"There is {word('equivalent')} between {names.other} and {names.baseline}: {numbers}, {bounds}."
    if claim.direction == "undecided":
        either = " or ".join(word(one, claim.measure, names.lower_is_better) for one in ("less", "more"))
        return f"It is undecided whether {names.other} is {either} than {names.baseline}: {numbers}."
    found = word(claim.direction, claim.measure, names.lower_is_better)
    return f"{names.other} is {found} than {names.baseline}: {numbers}."


def disagreement(spread: Claim | TooFew, sd: Claim | TooFew) -> str:
    """Say where the SD tells another story than the claim that decides, and why; empty where it does not."""
    if isinstance(spread, TooFew) or isinstance(sd, TooFew) or spread.direction == sd.direction:
        return ""
    why = f"(ratio {interval(sd)}): the runs farthest from the others weigh most in it."
    if spread.direction not in ("less", "more"):
        return f"The SD alone would say {in_a_word(sd)} {why}" if sd.direction in ("less", "more") else ""
    opposite = sd.direction in ("less", "more")
    return f"The SD {'says the opposite' if opposite else 'does not show it'} {why}"


def word(direction: Direction, measure: Measure = "spread", lower_is_better: bool = True) -> str:
    """What a condition is called that has less, or more, of a measure than another one; or that neither is shown."""
    if direction == "undecided":
        return "undecided"
    if direction == "equivalent":
        return "no difference that matters"
    if measure != "mean":
        return "steadier" if direction == "less" else "less steady"
    return "faster" if (direction == "less") == lower_is_better else "slower"


def in_a_word(claim: Claim | TooFew, lower_is_better: bool = True) -> str:
    """Say what a claim comes to, for a table."""
    return "cannot be told" if isinstance(claim, TooFew) else word(claim.direction, claim.measure, lower_is_better)


def interval(claim: Claim | TooFew) -> str:
    """Write the ratio with its interval: `0.31 [0.2, 0.45]`."""
    if isinstance(claim, TooFew):
        return claim.why
    if claim.ratio is None and claim.low >= LARGEST:
        return "without bound, since the baseline has none"
    if claim.ratio is None:
        return "no ratio, since the baseline has none"
    if claim.alike:
        return f"{claim.ratio:.3g} (no interval: alike in all runs)"
    return f"{claim.ratio:.3g} [{claim.low:.3g}, {'no upper end' if claim.high is None else f'{claim.high:.3g}'}]"
