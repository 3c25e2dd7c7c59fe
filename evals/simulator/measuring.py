"""What the tools that run the program would have said in a world: measure, profile, apply_mitigation, compare."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

from ...tools.apply_mitigation import ApplyResult
from ...tools.base import ToolError
from ...tools.case import Record
from ...tools.compare import CompareResult
from ...tools.interim import Look, look_after
from ...tools.measure import FLOOR, LEAST, MeasureResult
from ...tools.mitigation.checks import Check
from ...tools.profile import ProfileResult
from ...tools.statistics.comparison.bootstrap import FEWEST_RUNS, MORE_RUNS, Ratio
from ...tools.statistics.comparison.compare import LEAST_RUNS, WEAKEST, Comparison, Verdict
from ...tools.statistics.comparison.permutation import SPREADS, SpreadTest
from ...tools.statistics.comparison.weighted import Statistic
from ...tools.statistics.stopping.interim import bounds
from .made import profiled, shape_of, summary_of
from .place import known
from .world import HEAVY, World

Arguments = Mapping[str, Any]
SHOWN_Z = 3.1
"""Standard errors between no effect and the weakest that is shown four times in five."""
EARLY_Z = 3.5
"""Standard errors at half of the pairs beyond which the look ends them."""


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
    done = looks[0].pairs if looks and looks[0].stopped else pairs if in_force else 0
    levels = bounds(world.limits.alpha)
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
        alpha_left=(levels.first if looks[0].stopped else levels.last) if looks else None,
        summary=f"{key}, batch {batch}: {done} pairs.",
    )


def _looks(world: World, key: str, batch: int, pairs: int, chance: random.Random) -> tuple[Look, ...]:
    half = look_after(pairs)
    if half is None:
        return ()
    error = world.noise / math.sqrt(half)
    estimate = math.log(world.effect(key)) + chance.gauss(0, error)
    limit = 0.0 if batch == 1 else math.log(world.limits.target_ratio)
    stopped = estimate < limit - EARLY_Z * error or estimate > EARLY_Z * error
    verdict: Verdict = "no difference shown" if not stopped else "steadier" if estimate < 0 else "less steady"
    alpha = bounds(world.limits.alpha).first
    return (Look(pairs=half, p_value=_two_sided(estimate / error), alpha=alpha, verdict=verdict, stopped=stopped),)


def compare(world: World, record: Record, arguments: Arguments, chance: random.Random) -> CompareResult:
    """Judge one batch: the true effect with the error that so many pairs leave."""
    applied = record.call(str(arguments["call"])).read(ApplyResult)
    alpha = world.limits.alpha if applied.alpha_left is None else applied.alpha_left
    found = _comparison(world, math.log(world.effect(applied.mitigation)), applied.pairs, alpha, chance)
    reaches = found.verdict == "steadier" and found.below(world.limits.target_ratio) is not None
    return CompareResult(
        mitigation=applied.mitigation,
        batch=applied.batch,
        comparison=found,
        p_paid=applied.paid(found.p_value, world.limits.alpha),
        moved=(),
        reaches_target=reaches,
        summary=f"{applied.mitigation}, batch {applied.batch}, {applied.pairs} pairs: {found.verdict}.",
    )


def _comparison(world: World, truth: float, pairs: int, alpha: float, chance: random.Random) -> Comparison:
    error = world.noise / math.sqrt(pairs)
    estimate = truth + chance.gauss(0, error)
    p_value = min(1.0, 1.5 * _two_sided(estimate / error))
    shown = math.exp(-SHOWN_Z * error)
    mean = chance.gauss(0, 0.01) + (0.1 if chance.random() < 0.1 else 0.0)
    arm = summary_of(pairs, world.run_s, world.cv)
    verdict, reason = _verdict(estimate, p_value < alpha, pairs, shown)
    return Comparison(
        paired=True,
        lower_is_better=True,
        baseline_runs=pairs,
        other_runs=pairs,
        dropped=0,
        block=1,
        ratios=(
            _ratio("mean", arm.mean, mean, 0.01, pairs),
            _ratio("sd", arm.sd or 0.0, estimate, error, pairs),
            _ratio("cv", world.cv, estimate - mean, error, pairs),
            _ratio("p95-p05", arm.p95 - arm.p5, estimate + chance.gauss(0, error / 3), error, pairs),
        ),
        shifts=(),
        p_value=p_value,
        tests=tuple(
            SpreadTest(statistic=name, log_ratio=estimate, p_value=p_value / 1.5, adjusted=p_value, noise=error)
            for name in SPREADS
        ),
        p_location=0.5,
        distance=0.0,
        relative_distance=0.0,
        baseline_modes=1,
        other_modes=1,
        verdict=verdict,
        reason=reason,
        shown_ratio=shown,
        runs_needed=None,
        notes=(),
    )


def _verdict(estimate: float, differs: bool, pairs: int, shown: float) -> tuple[Verdict, str]:
    if pairs < LEAST_RUNS:
        return "cannot tell", "too few runs"
    if differs:
        return ("steadier" if estimate < 0 else "less steady"), ""
    return ("cannot tell", "only a strong effect would show") if shown < WEAKEST else ("no difference shown", "")


def _ratio(statistic: Statistic, baseline: float, log: float, error: float, pairs: int) -> Ratio:
    bounded = pairs >= MORE_RUNS.get(statistic, FEWEST_RUNS)
    low, high = (math.exp(log + sign * 1.96 * error) if bounded else None for sign in (-1, 1))
    value = math.exp(log)
    return Ratio(statistic=statistic, baseline=baseline, other=baseline * value, value=value, low=low, high=high)


def _two_sided(z: float) -> float:
    return math.erfc(abs(z) / math.sqrt(2))
