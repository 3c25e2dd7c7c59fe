"""What the tools that run the program would have said in a world: measure, profile, apply_mitigation, compare."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

from scipy.special import ndtri

from ...tools.apply_mitigation import ApplyResult
from ...tools.base import ToolError
from ...tools.case import Record
from ...tools.claim import FEWEST, MARGIN, Claim, TooFew
from ...tools.compare import CompareResult
from ...tools.comparison import Comparison, below, direction
from ...tools.interim import InterimLook, left_after, look_after, stopped_early
from ...tools.measure import FLOOR, LEAST, MeasureResult
from ...tools.mitigation.checks import Check
from ...tools.profile import ProfileResult
from ...tools.statistics.comparison.bootstrap import BootstrapRatio
from ...tools.statistics.comparison.description import Description
from ...tools.statistics.comparison.weighted import Statistic
from ...tools.statistics.deviations import Measure
from ...tools.statistics.holm import holm_steps
from ...tools.statistics.stopping.interim import bounds
from .made import profiled, shape_of, summary_of
from .place import known
from .world import HEAVY, World

Arguments = Mapping[str, Any]


def measure(world: World, _: Record, arguments: Arguments, chance: random.Random) -> MeasureResult:
    """Run until the rule is content, or runs or seconds are used up."""
    paid = max(2, int(arguments["max_seconds"] / world.run_s))
    runs = min(world.enough, int(arguments["max_runs"]), paid)
    least = max(LEAST, min(FLOOR, world.limits.min_runs))
    unusable = f"Only {runs} runs count, and a spread needs at least {least}." if runs < least else ""
    stopped = "spread known" if runs == world.enough else "time cap" if runs == paid else "run cap"
    cv = world.cv * math.exp(chance.gauss(0, 1 / math.sqrt(runs)))
    return MeasureResult(
        runs=runs,
        failed=0,
        survivors=0,
        warm_up=0,
        stopped_by=stopped,
        spent_s=runs * world.run_s,
        outcome=summary_of(runs, world.run_s, cv),
        sd_interval=None,
        processes=runs,
        shape=shape_of(runs, world.run_s, chance.choice((1, 1, 2, 3)), chance.random() < 0.4),
        unusable=unusable,
        steady=not unusable and cv <= world.limits.steady_cv,
        pairs_needed=world.needed,
        summary=unusable or f"{runs} runs, CV {100 * cv:.2g} %; stopped by {stopped}.",
    )


def profile(world: World, record: Record, arguments: Arguments, chance: random.Random) -> ProfileResult:
    """Run with layers on: the light ones first, the heavy ones where they are asked for again."""
    first = not record.succeeded("profile")
    asked = tuple(arguments["layers"])
    later = tuple(layer for layer in asked if layer in HEAVY) if first else ()
    on = tuple(layer for layer in asked if layer not in later) or asked
    runs = min(int(arguments["runs"]), max(20, int(arguments["max_seconds"] / world.run_s)))
    aside = "it shifts the mean by more than slow and fast runs differ" if world.kind == "distorted" else ""
    spent_s = runs * world.run_s * chance.uniform(1.2, 1.5)
    return profiled(on, later if on != asked else (), runs, spent_s, world.busy_cpus, aside)


def apply_mitigation(world: World, record: Record, arguments: Arguments, chance: random.Random) -> ApplyResult:
    """Apply and run pairs: all that were asked for, or half of them where those show it."""
    key, batch, pairs = str(arguments["mitigation"]), int(arguments.get("batch", 1)), int(arguments["pairs"])
    scope = known().mitigations[key].scope
    if scope != "process" and world.limits.allow != "system" and not world.approves:
        raise ToolError("not approved: the user refused")
    if world.chance(f"refused:{key}").random() < 0.05:
        raise ToolError(f"{key} cannot be applied: the system refused.")
    in_force = world.chance(f"in force:{key}").random() >= 0.05
    check = Check(level=1, what=key, expected="on", seen="on" if in_force else "off", passed=in_force)
    looks = _looks(world, key, batch, pairs, chance) if in_force else ()
    done = looks[0].pairs if stopped_early(looks) else pairs if in_force else 0
    return ApplyResult(
        mitigation=key,
        batch=batch,
        pairs=done,
        failed=0,
        spent_s=2 * done * world.run_s * chance.uniform(0.95, 1.05),
        checks=(check,),
        in_force=in_force,
        told=(),
        command="./program",
        looks=looks,
        left=left_after(looks, world.limits.alpha),
        summary=f"{key}, batch {batch}: {done} pairs.",
    )


def _looks(world: World, key: str, batch: int, pairs: int, chance: random.Random) -> tuple[InterimLook, ...]:
    half = look_after(pairs)
    if half is None:
        return ()
    error = world.noise / math.sqrt(half)
    estimate = math.log(world.effect(key)) + chance.gauss(0, error)
    spread = _claim("spread", estimate, error, half, bounds(world.limits.alpha).first)
    limit = 1.0 if batch == 1 else world.limits.target_ratio
    return (InterimLook(pairs=half, spread=spread, stopped=direction(spread) == "more" or below(spread, limit)),)


def compare(world: World, record: Record, arguments: Arguments, chance: random.Random) -> CompareResult:
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
    made = {name: _claim(name, log, 0.01 if name == "mean" else error, pairs, alpha) for name, log in logs.items()}
    return Comparison(described=described, claims=made)


def _family(record: Record, call: str, last: Comparison, world: World) -> dict[str, Claim | TooFew]:
    """Widen the claims of all batches that confirm to the level of their step (Holm)."""
    both = ((str(one.arguments["call"]), one.read(CompareResult)) for one in record.succeeded("compare"))
    alone = {name: one.comparison.spread for name, one in both if one.batch == 2} | {call: last.spread}
    left = {name: record.call(name).read(ApplyResult).left for name in alone}
    made = {name: one for name, one in alone.items() if isinstance(one, Claim)}
    steps = holm_steps({name: one.p_value / left[name] for name, one in made.items()}, world.limits.alpha)
    return alone | {name: _widened(one, steps[name] * left[name]) for name, one in made.items()}


def _claim(measure: Measure, log: float, error: float, pairs: int, alpha: float) -> Claim | TooFew:
    """The estimate with the interval of the normal law."""
    if pairs < FEWEST:
        return TooFew(units=(pairs, pairs), why="too few pairs")
    beyond = -float(ndtri(alpha / 2)) * error
    return Claim(
        measure=measure,
        ratio=math.exp(log),
        low=math.exp(log - beyond),
        high=math.exp(log + beyond),
        level=1 - alpha,
        p_value=math.erfc(abs(log / error) / math.sqrt(2)),
        units=(pairs, pairs),
        design="randomised",
        margin=MARGIN,
    )


def _widened(claim: Claim, alpha: float) -> Claim | TooFew:
    assert claim.ratio and claim.high
    error = math.log(claim.high / claim.ratio) / -float(ndtri((1 - claim.level) / 2))
    return _claim(claim.measure, math.log(claim.ratio), error, claim.units[0], alpha)


def _ratio(statistic: Statistic, baseline: float, log: float) -> BootstrapRatio:
    value = math.exp(log)
    return BootstrapRatio(
        statistic=statistic, baseline=baseline, other=baseline * value, value=value, low=None, high=None
    )
