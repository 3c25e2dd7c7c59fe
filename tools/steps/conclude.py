"""conclude: legal at any time, and usual once the target is reached; where nothing else is usual, it is called, too."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from ..case import Record
from ..compare import reached
from ..conclude import ConcludeArguments, ConcludeResult, run
from ..simulated import World
from ..situation import Choices, Situation, Suggestion
from ..tool import Tool


def legal(_: Situation) -> Choices:
    """Always."""
    return ()


def usual(situation: Situation, _: Choices) -> Suggestion | None:
    """Once a confirmed mitigation has reached the target; of a trial, when all of it is done."""
    if situation.plan.mitigation or not reached(situation.record, situation.limits.target_ratio):
        return None
    return Suggestion({}, "the target is reached and confirmed")


def simulate(world: World, record: Record, _: Mapping[str, Any], __: random.Random) -> ConcludeResult:
    """Give the verdict that the record really supports."""
    result = run(ConcludeArguments(), world.case(record)).result
    assert isinstance(result, ConcludeResult)
    return result


CONCLUDE = Tool(
    name="conclude",
    title="Conclude",
    help="End with the verdict that the record supports.",
    arguments=ConcludeArguments,
    result=ConcludeResult,
    run=run,
    legal=legal,
    usual=usual,
    simulate=simulate,
)
