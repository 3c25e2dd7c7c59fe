"""A calibration in words: the quota, how it was found, what it brings near the base and what not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...tools.machine_profile.calibrated import Calibrated, Range, Unmatched
from ...tools.machine_profile.quota import docker_flag
from ..terminal import folded, table
from .machine import quota_words

MOST_NAMED = 12


def calibrated_text(found: Calibrated, path: Path) -> str:
    """Give the whole answer as text."""
    one = found.calibration
    parts = [
        f"{headline(found)}, {quota_words(one.quota)}.",
        table(("SPEED-UP OVER THE BASE", "LEAST", "MEDIAN", "GREATEST", "WIDTH"), rows(found)),
        table(("STEP", "CPUS", "STRESSORS", "MEDIAN SPEED-UP"), step_rows(found)),
        *map(folded, sentences(found)),
        f"cgroup v2:  cpu.max = {one.quota.quota_us} {one.quota.period_us}\n"
        f"cgroup v1:  cpu.cfs_quota_us = {one.quota.quota_us}, cpu.cfs_period_us = {one.quota.period_us}\n"
        f"container:  {docker_flag(one.quota)}\n"
        f"here:  vgo-agent machine run --like {path} -- COMMAND",
    ]
    return "\n\n".join(parts)


def headline(found: Calibrated) -> str:
    """Say what was found, without a full stop."""
    one = found.calibration
    share = f"{100 * one.quota.cpus:.1f} % of a CPU (95 % {100 * one.low:.1f} to {100 * one.high:.1f})"
    return f"{one.here.name} with {share} is most like {one.base.name}"


def rows(found: Calibrated) -> list[tuple[str, ...]]:
    """Lay out the range before and after."""
    return [_range("without the quota", found.before), _range(_with_it(found), found.after)]


def _with_it(found: Calibrated) -> str:
    """Say where the runs were made that its row is computed from, as the last step moves the quota once more."""
    last, chosen = found.steps[-1].quota.cpus, found.calibration.quota.cpus
    return "with it" if last == chosen else f"with it, computed from runs at {last:.4g} CPUs"


def step_rows(found: Calibrated) -> list[tuple[str, ...]]:
    """Lay out the search."""
    return [
        (str(number), f"{step.quota.cpus:.4g}", str(step.stressors), f"{step.median:.3g}")
        for number, step in enumerate(found.steps, 1)
    ]


def sentences(found: Calibrated) -> list[str]:
    """Say what is not matched, what failed and what makes it doubtful."""
    cpu = [one for one in found.unmatched if one.group == "cpu"]
    others = [one for one in found.unmatched if one.group != "cpu"]
    lines = ["Every CPU stressor comes within 10 % of the base."] if not cpu else []
    if cpu:
        lines.append(f"Not matched, more than 10 % off the base: {_named(cpu)}. No quota fits every instruction mix.")
    if others:
        lines.append(f"Of the {found.apart} stressors of other groups, off the base: {_named(others)}.")
    lines += [f"No result for {name}: {why}." for name, why in found.failed.items()]
    return [*lines, *(f"Note: {note}" for note in found.notes)]


def _range(name: str, one: Range) -> tuple[str, ...]:
    return (name, *(f"{value:.3g}" for value in (one.least, one.median, one.greatest, one.width)))


def _named(these: Sequence[Unmatched]) -> str:
    named = [f"{one.stressor} {one.speed_up:.3g}" for one in these[:MOST_NAMED]]
    more = [f"{len(these) - MOST_NAMED} more"] if len(these) > MOST_NAMED else []
    return ", ".join([*named, *more])
