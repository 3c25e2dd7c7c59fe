"""compare: judge the runs just measured."""

from __future__ import annotations

import math
import random

from scipy.special import ndtri

from ..base import JsonArguments
from ..claim import Claim, TooFew
from ..compare import CompareArguments, run
from ..comparison import Comparison
from ..findings import Findings
from ..simulated import World, drawn_claim, summary_of
from ..situation import Choices, Situation, Slot
from ..statistics.comparison.bootstrap import BootstrapRatio
from ..statistics.comparison.description import Description
from ..statistics.comparison.resampling import Statistic
from ..statistics.ratio_test import Measure, holm_steps
from ..tool import Tool
from ..trial_results import CompareResult


def _comparison(world: World, truth: float, pairs: int, alpha: float, chance: random.Random) -> Comparison:
    error = world.noise / math.sqrt(pairs)
    estimate = truth + chance.gauss(0, error)
    mean = chance.gauss(0, 0.01) + (0.1 if chance.random() < 0.1 else 0.0)
    arm = summary_of(pairs, world.run_s, world.cv)
    logs: dict[Measure, float] = {"spread": estimate, "sd": estimate, "cv": estimate - mean, "mean": mean}
    described = Description(
        paired=True,
        lower_is_better=True,
        baseline_runs=pairs,
        other_runs=pairs,
        dropped=0,
        block=1,
        ratios=(
            _ratio("mean", arm.mean, mean),
            _ratio("sd", arm.sd or 0.0, estimate),
            _ratio("cv", world.cv, estimate - mean),
        ),
        shifts=(),
        distance=0.0,
        relative_distance=0.0,
        baseline_modes=1,
        other_modes=1,
        notes=(),
    )
    made = {name: drawn_claim(name, log, 0.01 if name == "mean" else error, pairs, alpha) for name, log in logs.items()}
    return Comparison(described=described, claims=made)


def _family(findings: Findings, call: str, last: Comparison, world: World) -> dict[str, Claim | TooFew]:
    """Widen the claims of all batches that confirm to the level of their step (Holm)."""
    second = {batch.call.call_id: batch for batch in findings.batches if batch.applied.batch == 2}
    alone = {key: one.compared.comparison.spread for key, one in second.items() if one.compared} | {call: last.spread}
    left = {name: second[name].applied.left for name in alone}
    made = {name: one for name, one in alone.items() if isinstance(one, Claim)}
    steps = holm_steps({name: one.p_value / left[name] for name, one in made.items()}, world.limits.alpha)
    return alone | {name: _widened(one, steps[name] * left[name]) for name, one in made.items()}


def _widened(claim: Claim, alpha: float) -> Claim | TooFew:
    assert claim.ratio and claim.high
    error = math.log(claim.high / claim.ratio) / -float(ndtri((1 - claim.level) / 2))
    return drawn_claim(claim.measure, math.log(claim.ratio), error, claim.units[0], alpha)


def _ratio(statistic: Statistic, baseline: float, log: float) -> BootstrapRatio:
    value = math.exp(log)
    return BootstrapRatio(
        statistic=statistic, baseline=baseline, other=baseline * value, value=value, low=None, high=None
    )


class CompareTool(Tool[CompareArguments, CompareResult], run=run):
    """Compare the pairs of one batch."""

    why = "judge the runs just measured"

    def legal(self, situation: Situation) -> Choices | None:
        """Whatever has not been compared."""
        calls = situation.findings.uncompared
        return (Slot(("call",), tuple((call,) for call in calls)),) if calls else None

    def simulate(self, world: World, found: Findings, arguments: JsonArguments, chance: random.Random) -> CompareResult:
        """Judge one batch: the true effect with the error that so many pairs leave."""
        call = str(arguments["call"])
        applied = next(batch.applied for batch in found.batches if batch.call.call_id == call)
        truth, alpha = math.log(world.effect(applied.mitigation)), world.limits.alpha * applied.left
        shown = _comparison(world, truth, applied.pairs, alpha, chance)
        return CompareResult(
            mitigation=applied.mitigation,
            batch=applied.batch,
            comparison=shown,
            confirmations=_family(found, call, shown, world) if applied.batch == 2 else {},
            moved=(),
            summary=f"{applied.mitigation}, batch {applied.batch}, {applied.pairs} pairs: {shown.shown('spread')}.",
        )
