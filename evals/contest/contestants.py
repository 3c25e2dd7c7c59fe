"""Everybody who answers, by the name that stands in tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...agent.planners.rules import Rules
from ..recorded.recorded_case import RecordedCase
from ..recorded.truth import read_truth
from .answer import Contestant
from .constant import Constant
from .greedy import Greedy
from .loop import PlannerContestant
from .oracle import Oracle
from .paper import Paper
from .random_legal import RandomLegal
from .shipped import Shipped

Factory = Callable[[Sequence[RecordedCase]], Contestant]
"""Takes all cases that there are, not only those to be answered: `constant` learns from the train split."""


def _constant(cases: Sequence[RecordedCase]) -> Contestant:
    return Constant.of(read_truth(case.folder) for case in cases if case.file.split == "train")


CONTESTANTS: Mapping[str, Factory] = {
    "rules": lambda _: PlannerContestant("rules", lambda _: Rules()),
    "llama": lambda _: Shipped(),
    "greedy": lambda _: PlannerContestant("greedy", lambda _: Greedy()),
    "random-legal": lambda _: PlannerContestant("random-legal", RandomLegal),
    "constant": _constant,
    "paper": lambda _: Paper(),
    "paper-raw": lambda _: Paper("paper-raw", consequences=True),
    "oracle": Oracle,
}
