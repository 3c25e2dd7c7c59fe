"""The answers that a record can support, and the form in which they are given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from .base import Result
from .case import Finished
from .statistics.comparison.compare import Ratio

Verdict = Literal[
    "mitigated",
    "steadier afterwards",
    "cause found, no mitigation helped",
    "did not help",
    "no visible factor",
    "nothing to reduce",
    "insufficient data",
    "inconclusive",
]


COSTLY = 1.05
"""A mean so many times worse than the baseline's is a price."""


def costly(mean: float, lower_is_better: bool) -> bool:
    """Tell whether a ratio of means is a price: more than 5 % worse."""
    return mean > COSTLY if lower_is_better else mean < 1 / COSTLY


class ConcludeResult(Result):
    """The verdict and the calls it rests on."""

    verdict: Verdict
    reason: str
    factor: str | None = None
    column: str | None = None
    mitigation: str | None = None
    values: dict[str, str] = {}
    """Of the mitigation's parameters, where they were chosen."""
    command: str | None = None
    """The command line that reproduces the mitigation."""
    confirming: str | None = None
    """The comparison whose numbers are reported: the second batch, which did not choose the mitigation."""
    mean_ratio: Ratio | None = None
    sd_ratio: Ratio | None = None
    cv_ratio: Ratio | None = None
    p_value: float | None = None
    """Of the confirmation, adjusted for every mitigation that was confirmed or tried to be (Holm)."""
    evidence: tuple[str, ...]
    """Call ids."""


def say(verdict: Verdict, reason: str, evidence: Sequence[Finished]) -> ConcludeResult:
    """Give a verdict that has no numbers of its own."""
    ids = tuple(call.call_id for call in evidence)
    return ConcludeResult(verdict=verdict, reason=reason, evidence=ids, summary=f"{verdict}: {reason}")
