"""The scores by name: what each is, how it is summed up over cases, and which way is better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Way = Literal["rate", "mean", "median", "geometric"]
"""How a score is summed up over cases. rate: a share with Wilson's interval; geometric: the geometric mean."""


@dataclass(frozen=True)
class ScoreKind:
    """One score."""

    way: Way
    more_is_better: bool
    words: str
    """What it is, for a reader of tables."""


CLOCK = "seconds"
"""By the wall clock: never the same twice."""
KINDS: dict[str, ScoreKind] = {
    "verdict": ScoreKind("rate", True, "the verdict is one that is right"),
    "alone": ScoreKind(
        "rate", True, "the same, and the rule policy took no decision in place of a planner that failed"
    ),
    "cause@1": ScoreKind("rate", True, "the cause named first is a true cause, or one that moves with it"),
    "injected@1": ScoreKind("rate", True, "the cause named first is the injected cause itself"),
    "cause@3": ScoreKind("rate", True, "one of the first three is as in cause@1; claimed ones first, then as ranked"),
    "mrr": ScoreKind("mean", True, "1 over the place of the first injected cause; what moves with it takes no place"),
    "strict": ScoreKind("mean", True, "0 where an injected cause is not claimed, else the precision of the claims"),
    "false_alarm": ScoreKind("rate", False, "a cause or a mitigation is claimed where there is nothing to find"),
    "mitigation": ScoreKind("rate", True, "the mitigation claimed is an accepted one"),
    "harm": ScoreKind("rate", False, "a mitigation is claimed that is known not to help"),
    "sd_ratio": ScoreKind("geometric", False, "SD with the mitigation over SD without, measured on all recorded pairs"),
    "cv_ratio": ScoreKind("geometric", False, "the same of the CV"),
    "mean_ratio": ScoreKind("geometric", False, "the same of the mean"),
    "regret": ScoreKind(
        "median", False, "SD ratio of what was claimed over that of the best accepted one; 1 is the best"
    ),
    "untold_cost": ScoreKind("rate", False, "the mean got more than 5 % worse, and no warning says so"),
    "evidence": ScoreKind(
        "rate",
        True,
        "what the verdict rests on is cited and says so; the report's numbers are tools'",
    ),
    "replay": ScoreKind("rate", True, "answered again, the same seed gave the same transcript"),
    "runs": ScoreKind("median", False, "recorded runs used"),
    "calls": ScoreKind("median", False, "calls of tools"),
    "program_s": ScoreKind("median", False, "seconds of the program that those runs took"),
    "seconds": ScoreKind("median", False, "seconds that answering took by the clock, in which no program runs"),
    "tokens": ScoreKind("median", False, "tokens of a language model"),
    "illegal": ScoreKind("mean", False, "calls that were not legal"),
    "repeated": ScoreKind("mean", False, "calls made before with the same arguments"),
    "fallbacks": ScoreKind("mean", False, "decisions that the rule policy took in its place"),
    "not_recorded": ScoreKind("mean", False, "conditions asked for that are not in the tables; no failure"),
}
