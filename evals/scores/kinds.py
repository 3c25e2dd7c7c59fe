"""The scores by name: what each is, how it is summed up over cases, and which way is better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Way = Literal["rate", "mean", "median", "geometric"]
"""How a score is summed up over cases. rate: a share with Wilson's interval; geometric: the geometric mean."""


@dataclass(frozen=True)
class Kind:
    """One score."""

    way: Way
    more_is_better: bool
    words: str
    """What it is, for a reader of tables."""


CLOCK = "seconds"
"""By the wall clock: never the same twice."""
KINDS: dict[str, Kind] = {
    "verdict": Kind("rate", True, "the verdict is one that is right"),
    "alone": Kind("rate", True, "the same, and the rule policy took no decision in place of a planner that failed"),
    "cause@1": Kind("rate", True, "the cause named first is a true cause, or one that moves with it"),
    "injected@1": Kind("rate", True, "the cause named first is the injected cause itself"),
    "cause@3": Kind("rate", True, "one of the first three is as in cause@1; claimed ones first, then as ranked"),
    "mrr": Kind("mean", True, "1 over the place of the first injected cause; what moves with it takes no place"),
    "strict": Kind("mean", True, "0 where an injected cause is not claimed, else the precision of the claims"),
    "false_alarm": Kind("rate", False, "a cause or a mitigation is claimed where there is nothing to find"),
    "mitigation": Kind("rate", True, "the mitigation claimed is an accepted one"),
    "harm": Kind("rate", False, "a mitigation is claimed that is known not to help"),
    "sd_ratio": Kind("geometric", False, "SD with the mitigation over SD without, measured on all recorded pairs"),
    "cv_ratio": Kind("geometric", False, "the same of the CV"),
    "mean_ratio": Kind("geometric", False, "the same of the mean"),
    "regret": Kind("median", False, "SD ratio of what was claimed over that of the best accepted one; 1 is the best"),
    "untold_cost": Kind("rate", False, "the mean got more than 5 % worse, and no warning says so"),
    "evidence": Kind(
        "rate",
        True,
        "what the verdict rests on is cited and says so; the report's numbers are tools'",
    ),
    "replay": Kind("rate", True, "answered again, the same seed gave the same transcript"),
    "runs": Kind("median", False, "recorded runs used"),
    "calls": Kind("median", False, "calls of tools"),
    "program_s": Kind("median", False, "seconds of the program that those runs took"),
    "seconds": Kind("median", False, "seconds that answering took by the clock, in which no program runs"),
    "tokens": Kind("median", False, "tokens of a language model"),
    "illegal": Kind("mean", False, "calls that were not legal"),
    "repeated": Kind("mean", False, "calls made before with the same arguments"),
    "fallbacks": Kind("mean", False, "decisions that the rule policy took in its place"),
    "not_recorded": Kind("mean", False, "conditions asked for that are not in the tables; no failure"),
}
