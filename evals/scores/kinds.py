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
    column: str
    """What it is called in tables; empty: it stands in none."""
    words: str
    """What it is, for a reader of tables."""


CLOCK = "seconds"
"""By the wall clock: never the same twice."""
KINDS: dict[str, ScoreKind] = {
    "verdict": ScoreKind("rate", True, "verdict", "the verdict is one that is right"),
    "alone": ScoreKind(
        "rate", True, "alone", "the same, and the rule policy took no decision in place of a planner that failed"
    ),
    "cause@1": ScoreKind("rate", True, "cause@1", "the cause named first is a true cause, or one that moves with it"),
    "injected@1": ScoreKind("rate", True, "injected@1", "the cause named first is the injected cause itself"),
    "cause@3": ScoreKind(
        "rate", True, "cause@3", "one of the first three is as in cause@1; claimed ones first, then as ranked"
    ),
    "mrr": ScoreKind(
        "mean", True, "MRR", "1 over the place of the first injected cause; what moves with it takes no place"
    ),
    "strict": ScoreKind(
        "mean", True, "strict", "0 where an injected cause is not claimed, else the precision of the claims"
    ),
    "false_alarm": ScoreKind(
        "rate", False, "false alarms", "a cause or a mitigation is claimed where there is nothing to find"
    ),
    "mitigation": ScoreKind("rate", True, "mitigation", "the mitigation claimed is an accepted one"),
    "harm": ScoreKind("rate", False, "harmful", "a mitigation is claimed that is known not to help"),
    "regret": ScoreKind(
        "median", False, "regret", "SD ratio of what was claimed over that of the best accepted one; 1 is the best"
    ),
    "sd_ratio": ScoreKind(
        "geometric", False, "SD ratio", "SD with the mitigation over SD without, measured on all recorded pairs"
    ),
    "cv_ratio": ScoreKind("geometric", False, "CV ratio", "the same of the CV"),
    "mean_ratio": ScoreKind("geometric", False, "", "the same of the mean"),
    "untold_cost": ScoreKind("rate", False, "untold cost", "the mean got more than 5 % worse, and no warning says so"),
    "evidence": ScoreKind(
        "rate", True, "evidence", "what the verdict rests on is cited and says so; the report's numbers are tools'"
    ),
    "replay": ScoreKind("rate", True, "replay", "answered again, the same seed gave the same transcript"),
    "runs": ScoreKind("median", False, "runs", "recorded runs used"),
    "calls": ScoreKind("median", False, "calls", "calls of tools"),
    "program_s": ScoreKind("median", False, "program s", "seconds of the program that those runs took"),
    "seconds": ScoreKind(
        "median", False, "agent s", "seconds that answering took by the clock, in which no program runs"
    ),
    "tokens": ScoreKind("median", False, "tokens", "tokens of a language model"),
    "illegal": ScoreKind("mean", False, "illegal", "calls that were not legal"),
    "repeated": ScoreKind("mean", False, "repeated", "calls made before with the same arguments"),
    "fallbacks": ScoreKind("mean", False, "fallbacks", "decisions that the rule policy took in its place"),
    "not_recorded": ScoreKind(
        "mean", False, "not recorded", "conditions asked for that are not in the tables; no failure"
    ),
}
COLUMNS = {name: kind.column for name, kind in KINDS.items() if kind.column}
"""Scores that the full table shows, and what they are called there."""
