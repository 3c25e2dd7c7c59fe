"""Find the CPU quota under which this machine comes closest to a base: every stressor in turns with and without it.

Closest is the least sum of absolute log speed-ups over the base, which a common factor minimises where their median is
1. A quota acts as a factor, but not exactly its share (Jimenez et al., section Reduction of Variability Range), so the
response is measured, and the quota moved, until the median is 1. The machine drifts meanwhile; the ratio of two runs
next to each other does not, so each step judges only such ratios.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import numpy as np

from ...knowledge.errors import VgoError
from .battery import GROUPS, Stressor
from .calibrated import Calibrated, Range, Unmatched
from .compare import BUSY
from .form import Calibration, Profile, Quota, System
from .measure import bench
from .quota import PERIOD_US, quota_of
from .speed_up import Floats, middle
from .turns import MOST_CPUS, Search, Telling, Turns

CLOSE = 0.01
"""A median speed-up within this of 1 ends the search."""
LEAST_CPUS = 0.02
FAR = 0.1
"""In logarithms: a median speed-up that the search leaves further from 1 is no calibration."""
OFF = 0.1
"""A stressor that stays further from 1 than this is named as not matched."""
DRAWS = 1000
PERIODS = 20
"""In each run at least, so that its first and last count for little."""


def calibrate(
    base: Profile,
    here: Profile | None,
    system: System,
    stressors: Sequence[Stressor],
    search: Search,
    telling: Telling,
) -> Calibrated:
    """Search and report; VgoError where this machine does less, or nothing can be compared."""
    known = {one.name: one for one in stressors}
    own = here.rates("real") if here else {}
    rates = {
        name: middle(found)
        for name, found in base.rates("real").items()
        if name in known and (here is None or name in own)
    }
    cpu = sorted(name for name in rates if known[name].group == "cpu")
    if not cpu:
        raise VgoError("The base has no CPU stressor with a result that can be run here: profile it again.")
    period = period_for(search.seconds)
    with bench([None, quota_of(0.5, period)], search.ahead) as (stress_ng, spawner, groups):
        chosen = {name: known[name] for name in rates}
        turns = Turns(rates, chosen, search, stress_ng, spawner, groups, telling)
        turns.here = {name: middle(own[name]) for name in rates if here}
        _search(turns, cpu, period)
        return _result(turns, base, system, period)


def period_for(seconds: float) -> int:
    """Choose a period: 10 ms, shorter where a run would hold fewer than twenty."""
    return max(2000, min(PERIOD_US, int(1e6 * seconds / PERIODS)))


def _search(turns: Turns, cpu: Sequence[str], period: int) -> None:
    """Step towards a median of 1, with a sample of the stressors; the last step takes every one, of all groups."""
    draw = random.Random(turns.search.seed)
    cpus = float(np.exp(-turns.median())) if turns.here else 0.5
    for _ in range(turns.search.steps - 1):
        turns.step(draw.sample(cpu, min(turns.search.sample, len(cpu))), within(cpus, period))
        before, cpus = cpus, turns.cpus_wanted()
        _refuse_lesser(turns)
        if abs(turns.steps[-1].median - 1) <= CLOSE and abs(cpus / before - 1) <= CLOSE:
            break
    turns.step(list(turns.base), within(cpus, period))
    _refuse_lesser(turns)


def within(cpus: float, period: int) -> Quota:
    """Make a quota of a wish; below the least that a short period holds, the period is longer."""
    cpus = min(MOST_CPUS, max(LEAST_CPUS, cpus))
    return quota_of(cpus, period if cpus * period >= 1000 else None)


def _refuse_lesser(turns: Turns) -> None:
    speed = float(np.exp(turns.median()))
    if speed <= 1:
        raise VgoError(
            f"This machine does no more than the base (median speed-up {speed:.3g}), and a quota only slows down: "
            "calibrate the base to this machine instead."
        )


def _result(turns: Turns, base: Profile, system: System, period: int) -> Calibrated:
    wanted = _wanted(turns)
    quota = within(float(np.exp(np.median(wanted))), period)
    before, after = _range(turns.before("cpu")), _range(turns.after("cpu", quota.cpus))
    _refuse_far(turns, after)
    low, high = np.minimum(np.quantile(_drawn(wanted, turns.search.seed), (0.025, 0.975)), MOST_CPUS)
    calibration = Calibration(
        base=base.system,
        here=system,
        quota=quota,
        low=float(low),
        high=float(high),
        before=(before.least, before.median, before.greatest),
        after=(after.least, after.median, after.greatest),
    )
    return Calibrated(
        calibration=calibration,
        steps=tuple(turns.steps),
        before=before,
        after=after,
        unmatched=_unmatched(turns, quota),
        apart=sum(len(turns.before(group)) for group in GROUPS if group != "cpu"),
        failed=_failed(turns, base),
        notes=tuple(_notes(turns, base, system)),
    )


def _refuse_far(turns: Turns, after: Range) -> None:
    """Refuse to call that a calibration which leaves the machine elsewhere."""
    if abs(np.log(after.median)) > FAR:
        raise VgoError(
            f"No quota was found: the median speed-up over the base stays at {after.median:.3g}, and runs without the "
            f"quota had {100 * turns.cpu_share:.0f} % of a CPU; calibrate when nothing else runs, use --ahead, or "
            "allow more --steps."
        )


def _unmatched(turns: Turns, quota: Quota) -> tuple[Unmatched, ...]:
    """Name what stays off the base, the farthest first."""
    left = [
        Unmatched(stressor=name, group=group, speed_up=float(np.exp(log)))
        for group in GROUPS
        for name, log in turns.after(group, quota.cpus).items()
        if abs(np.exp(log) - 1) > OFF
    ]
    return tuple(sorted(left, key=lambda one: -abs(np.log(one.speed_up))))


def _wanted(turns: Turns) -> Floats:
    """Log quota that each CPU stressor asks for, by its last pair; their median is closest for all of them."""
    before = turns.before("cpu")
    last = {pair.stressor: pair.response - float(np.log(pair.cpus)) for pair in turns.pairs if pair.works}
    return np.array([-before[name] - last[name] for name in sorted(before.keys() & last.keys())])


def _drawn(wanted: Floats, seed: int) -> Floats:
    """Bootstrap the quota over stressors."""
    picks = np.random.default_rng(seed).integers(len(wanted), size=(DRAWS, len(wanted)))
    found: Floats = np.exp(np.median(wanted[picks], axis=1))
    return found


def _range(logs: Mapping[str, float]) -> Range:
    values = np.exp(list(logs.values()))
    return Range(least=float(values.min()), median=float(np.median(values)), greatest=float(values.max()))


def _failed(turns: Turns, base: Profile) -> dict[str, str]:
    """Say of every stressor of the base that was not matched why not."""
    lacking = {
        name: f"of the base: {base.why_missing(name)}"
        if name not in base.rates("real")
        else "not in this stress-ng, or not in --here"
        for name in base.battery.stressors
        if name not in turns.base
    }
    return lacking | {
        pair.stressor: pair.limited.failed or pair.full.failed or "zero bogo operations"
        for pair in turns.pairs
        if not pair.works
    }


def _notes(turns: Turns, base: Profile, system: System) -> list[str]:
    notes = []
    if base.system.architecture != system.architecture:
        notes.append(
            f"The base is {base.system.architecture} and this machine {system.architecture}: compilers differ."
        )
    if base.system.stress_ng != system.stress_ng:
        notes.append(
            f"The base has stress-ng {base.system.stress_ng}, this machine {system.stress_ng}: work may differ."
        )
    if "cpu" in system.limited:
        notes.append("This process is under a CPU quota already, and the one found here comes on top of it.")
    if (share := turns.cpu_share) < BUSY:
        notes.append(
            f"This machine was busy: runs without the quota had {100 * share:.0f} % of a CPU, and a quota above that "
            "is found too large; calibrate again when nothing else runs, or use --ahead."
        )
    if turns.steps[-1].quota.cpus >= MOST_CPUS:
        notes.append("The base is as fast as this machine to within what can be told, so nothing need be limited.")
    return notes
