"""The stopping rules: one list, from which choices, help and settings are made; light, for every `--help` loads it.

What a rule decides is a function of `decisions`, by its name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from .decisions import OutcomesSoFar, Stopping


class StoppingRule(NamedTuple):
    """One way to say that there are enough runs."""

    name: str
    """As a user gives it; its function has `_` for `-`."""
    met: str
    """Two words for why measuring stopped."""
    target: float
    """Unless another is given; the unit and meaning are the rule's."""
    meaning: str
    """Of the target, in a few words."""
    at_every_run: bool = False
    """It does not look at outcomes, so that looking often cannot stop it by luck."""

    @property
    def decide(self) -> Callable[[OutcomesSoFar, float], Stopping]:
        """Pure: the same runs and target give the same answer. Imports numpy and scipy."""
        decisions = import_module(".decisions", __package__)
        return cast("Callable[[OutcomesSoFar, float], Stopping]", getattr(decisions, self.name.replace("-", "_")))


DEFAULT = StoppingRule("spread", "spread known", 1.25, "factor within which the SD is known at 95 %")
_ALL = (
    DEFAULT,
    StoppingRule("count", "fixed count", 1000, "runs", at_every_run=True),
    StoppingRule("duration", "fixed duration", 60.0, "seconds of the program", at_every_run=True),
    StoppingRule("se", "standard error", 0.1, "standard error of the mean, as a share of it"),
    StoppingRule("ci", "confidence interval", 0.05, "half of the mean's 95 % interval, as a share of it"),
    StoppingRule("hdi", "density interval", 0.1, "width of the mean's 89 % density interval, as a share of it"),
    StoppingRule(
        "bayesian-bootstrap",
        "bootstrap of blocks",
        0.03,
        "half of the mean's 95 % interval from blocks of runs, as a share of it",
    ),
    StoppingRule("ks", "halves agree", 0.1, "Kolmogorov-Smirnov distance between the halves"),
    StoppingRule("mixture", "mixture settled", 0.05, "log-likelihood lost on runs that were not fitted, in nats"),
)
RULES = {rule.name: rule for rule in _ALL}


def looks(rule: StoppingRule, minimum: int) -> Iterator[int]:
    """After how many runs to ask a rule: at the minimum, then after 10 % more each time, so that luck stops little."""
    n = minimum
    while True:
        yield n
        n += 1 if rule.at_every_run else max(1, math.ceil(n / 10))
