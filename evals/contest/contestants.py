"""Everybody who answers, by the name that stands in tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...agent.planners.rules import Rules
from ...agent.planning import LLAMA
from ...knowledge.errors import VgoError
from ..recorded.recorded_case import RecordedCase
from ..recorded.truth import read_truth
from ..refusals import OWN
from .answer import Contestant
from .constant import Constant
from .greedy import Greedy
from .loop import PlannerContestant
from .modelled import Modelled
from .oracle import Oracle
from .paper import Paper
from .random_legal import RandomLegal

Factory = Callable[[Sequence[RecordedCase]], Contestant]
"""Takes all cases that there are, not only those to be answered: `constant` learns from the train split."""


def _constant(cases: Sequence[RecordedCase]) -> Contestant:
    return Constant.of(read_truth(case.folder) for case in cases if case.file.split == "train")


CONTESTANTS: Mapping[str, Factory] = {
    "rules": lambda _: PlannerContestant("rules", lambda _: Rules()),
    LLAMA: lambda _: Modelled(LLAMA),
    "greedy": lambda _: PlannerContestant("greedy", lambda _: Greedy()),
    "random-legal": lambda _: PlannerContestant("random-legal", RandomLegal),
    "constant": _constant,
    "paper": lambda _: Paper(),
    "paper-raw": lambda _: Paper("paper-raw", consequences=True),
    "oracle": Oracle,
}


def factory_of(name: str, registered: Mapping[str, Factory]) -> Factory:
    """Find who is meant, a model of the user's among them (`llama:SPEC`); raises VgoError where there is nobody."""
    if name.startswith(OWN):
        return lambda _: Modelled(name)
    if name not in registered:
        raise VgoError(f"There is no planner {name!r}; choose among {', '.join(registered)}, {OWN}MODEL.")
    return registered[name]
