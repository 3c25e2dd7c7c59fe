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
from ..record import Record
from ..simulated import World, drawn_claim, summary_of
from ..situation import Choices, Situation, Slot
from ..statistics.comparison.bootstrap import BootstrapRatio
from ..statistics.comparison.description import Description
from ..statistics.comparison.resampling import Statistic
from ..statistics.ratio_test import Measure, holm_steps
from ..tool import Tool
from ..trial_results import ApplyResult, CompareResult


def uncompared(findings: Findings) -> tuple[str, ...]:
    """Batches in force that the program bore, and series by hand, that no comparison has looked at."""
    record = findings.record
    done = {str(call.arguments.get("call")) for call in record.calls if call.tool == "compare"}
    sound = (batch.call for batch in findings.batches if batch.applied.in_force and not batch.applied.broke)
    return tuple(call.call_id for call in (*sound, *record.succeeded("apply_by_hand")) if call.call_id not in done)


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


def _family(record: Record, call: str, last: Comparison, world: World) -> dict[str, Claim | TooFew]:
    """Widen the claims of all batches that confirm to the level of their step (Holm)."""
    both = ((str(one.arguments["call"]), one.read(CompareResult)) for one in record.succeeded("compare"))
    alone = {name: one.comparison.spread for name, one in both if one.batch == 2} | {call: last.spread}
    left = {name: record.call(name).read(ApplyResult).left for name in alone}
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
        calls = uncompared(situation.findings)
        return (Slot(("call",), tuple((call,) for call in calls)),) if calls else None

    def simulate(self, world: World, record: Record, arguments: JsonArguments, chance: random.Random) -> CompareResult:
        """Judge one batch: the true effect with the error that so many pairs leave."""
        applied = record.call(str(arguments["call"])).read(ApplyResult)
        truth, alpha = math.log(world.effect(applied.mitigation)), world.limits.alpha * applied.left
        found = _comparison(world, truth, applied.pairs, alpha, chance)
        return CompareResult(
            mitigation=applied.mitigation,
            batch=applied.batch,
            comparison=found,
            confirmations=_family(record, str(arguments["call"]), found, world) if applied.batch == 2 else {},
            moved=(),
            summary=f"{applied.mitigation}, batch {applied.batch}, {applied.pairs} pairs: {found.shown('spread')}.",
        )
