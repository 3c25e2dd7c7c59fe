"""The answers that a record can support, and the form in which they are given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from ..knowledge.absence import is_empty
from .base import Result
from .case import Finished
from .claim import Claim, TooFew, disagreement, interval
from .comparison import Comparison

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


MOST_NAMED = 3


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
    spread: Claim | None = None
    """That decides: in the family of all batches that confirm."""
    sd: Claim | None = None
    """For comparison with the VGO paper; this and the others alone."""
    cv: Claim | None = None
    mean: Claim | None = None
    evidence: tuple[str, ...]
    """Call ids."""
    broke: dict[str, str] = {}
    """By mitigation, what it did to the program, which refutes it: breaks it, made a run hang, made it far slower."""
    changes_promise: str = ""
    """What the program can no longer rely on under the mitigation that the verdict names."""
    not_accepted: dict[str, str] = {}
    """By mitigation, the promise that it changes, since which it was not tried: nobody said yes to that."""
    early: bool = Field(default=False, exclude_if=is_empty)
    """Nothing was mitigated, and the planner ended while there was something left to look at or to try."""
    ran_out: tuple[str, ...] = Field(default=(), exclude_if=is_empty)
    """What the budget ended before, in words: mitigations that were not tried, steps that were not taken."""


def say(verdict: Verdict, reason: str, evidence: Sequence[Finished]) -> ConcludeResult:
    """Give a verdict that has no numbers of its own."""
    ids = tuple(call.call_id for call in evidence)
    return ConcludeResult(verdict=verdict, reason=reason, evidence=ids, summary=f"{verdict}: {reason}")


def listed(names: Sequence[str]) -> str:
    """Write the first names as a sentence has them."""
    if not names:
        return ""
    first, more = list(names[:MOST_NAMED]), len(names) - MOST_NAMED
    words = [*first, f"{more} more"] if more > 0 else first
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def with_claims(found: ConcludeResult, comparison: Comparison, spread: Claim | TooFew) -> ConcludeResult:
    """Report the numbers of a comparison, with the claim of the spread that decides."""
    made = {**comparison.claims, "spread": spread}
    return found.model_copy(update={name: claim for name, claim in made.items() if isinstance(claim, Claim)})


def brings(comparison: Comparison, spread: Claim | TooFew) -> str:
    """Say what the spread comes to, and the SD beside it where that tells another story."""
    doubt = disagreement(spread, comparison.claims["sd"]).rstrip(".")
    return f"the spread to {interval(spread)} of the baseline's{f' ({doubt[0].lower()}{doubt[1:]})' if doubt else ''}"
