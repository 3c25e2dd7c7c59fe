"""Randomised blocks: each round runs every setting once, in an order of its own, on one host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..execution.series import Measuring, Series
from ..experiment.applied import AppliedConditions
from ..experiment.condition import Condition
from ..experiment.experiment import Experiment, carry_out
from ..experiment.schedules import Complete
from .setting import StudySetting

LEAST = 10
"""Rounds; fewer show no spread at all."""


class Plan(NamedTuple):
    """How far to go."""

    rounds: int
    seed: int
    layers: tuple[str, ...]


def run_rounds(bench: Measuring, call: str, settings: Sequence[StudySetting], plan: Plan) -> Series:
    """Run the rounds, or go on with those that a killed agent left; the rows are in the series."""
    conditions = {one.name: Condition(name=one.name, setting=one) for one in settings}
    schedule = Complete(tuple(conditions), plan.rounds, f"study:{plan.seed}")
    with bench.series(call, plan.layers, plan.rounds * len(settings)) as series:
        carry_out(Experiment(AppliedConditions(bench, conditions), schedule), series)
    return series
