"""A claim in words: nothing else in the source calls a condition steadier or faster than another one.

What is said follows from the interval, and quotes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from .claim import Claim, Direction, TooFew
from .statistics.ratio_test import Measure
from .statistics.values import LARGEST


class Names(NamedTuple):
    """How a sentence calls what is compared."""

    baseline: str
    other: str
    lower_is_better: bool = True
    """Of the outcome: a lower mean is faster."""


_WORDS: Mapping[Measure, str] = {
    "spread": "mean absolute deviation from the median",
    "sd": "SD",
    "relative spread": "mean absolute deviation over the median",
    "cv": "CV",
    "mean": "mean",
}


def sentence(claim: Claim, names: Names) -> str:
    """Say what the interval says, and quote it."""
    numbers = f"ratio of the {_WORDS[claim.measure]} {interval(claim)}, {100 * claim.level:.4g} %"
    if claim.direction == "equivalent":
        bounds = f"between {claim.margin:.2g} and {1 / claim.margin:.2g}"
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
    opposite = sd.ratio is None or (sd.ratio > 1) == (spread.direction == "less")
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


def in_a_word(claim: Claim | TooFew) -> str:
    """Say what a claim of a spread comes to, for a table."""
    return "cannot be told" if isinstance(claim, TooFew) else word(claim.direction)


def interval(claim: Claim | TooFew) -> str:
    """Write the ratio with its interval: `0.31 [0.2, 0.45]`."""
    if isinstance(claim, TooFew):
        return claim.why
    if claim.ratio is None and claim.low >= LARGEST:
        return "without bound, since the baseline has none"
    if claim.ratio is None:
        return "no ratio, since the baseline has none"
    return f"{claim.ratio:.3g} [{claim.low:.3g}, {'no upper end' if claim.high is None else f'{claim.high:.3g}'}]"
