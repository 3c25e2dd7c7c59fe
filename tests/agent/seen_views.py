"""Views that planners saw in whole diagnoses of recorded cases made by hand: the rule policy's, and wild ones."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

from vgo_agent.agent.planners.base import Choice, Planner, Rules, View
from vgo_agent.evals.contest.contestants import RandomLegal
from vgo_agent.evals.contest.loop import PlannerContestant
from vgo_agent.evals.recorded.recorded_case import read_case

from ..evals.cases_made import made_case


@dataclass
class Watched:
    """Another planner, and all that it decided on."""

    planner: Planner
    seen: list[tuple[View, Choice]] = field(default_factory=list)
    name: str = "watched"

    def choose(self, view: View) -> Choice:
        choice = self.planner.choose(view)
        self.seen.append((view, choice))
        return choice


def given_away(planner: Planner, _: int) -> Planner:
    return planner


@cache
def decided() -> Sequence[tuple[View, Choice, str]]:
    """Every decision of some diagnoses, with the name of who took it."""
    found: list[tuple[View, Choice, str]] = []
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("faults", "noise", "steady"):
            case = read_case(made_case(Path(folder), kind))
            for planner in (Rules(), RandomLegal(1), RandomLegal(2)):
                watched = Watched(planner)
                PlannerContestant("watched", partial(given_away, watched)).answer(case.shown, 1)
                found += [(view, choice, planner.name) for view, choice in watched.seen]
    return found


def seen_views() -> list[View]:
    """The views alone."""
    return [view for view, _, _ in decided()]
