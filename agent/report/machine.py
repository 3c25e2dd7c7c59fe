"""Machine profiles in words: what was measured, and the variability profile of two."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...knowledge.errors import VgoError
from ...tools.document import Block, Document, Facts, Figure, Note, Section, Table, illustrated
from ...tools.machine_profile.compare import (
    OUTLIER_RULE,
    BootstrapEstimate,
    GroupSummary,
    MachineComparison,
    StressorRatio,
)
from ...tools.machine_profile.form import Calibrated, Profile, Quota, Range, Unmatched
from ...tools.machine_profile.quota import docker_flag
from ..render.text import blocks_text
from .numbers import histogram

_APART = "Only the CPU stressors bound CPU-bound programs; the other groups stand apart."


def quota_words(quota: Quota | None) -> str:
    """Name a quota, or that there is none."""
    if quota is None:
        return "no quota"
    return f"a quota of {quota.cpus:.3g} CPUs ({quota.quota_us} us of {quota.period_us} us)"


def profiled_values(one: Profile) -> dict[str, Any]:
    """Give what was measured as an object."""
    return {
        "name": one.system.name,
        "complete": one.complete,
        "runs": len(one.runs),
        "stressors": dict(Counter(one.battery.stressors.values())),
        "quota": one.battery.quota.model_dump() if one.battery.quota else None,
        "failed": {name: one.why_missing(name) for name in one.battery.stressors if name not in one.rates("real")},
    }


def profile_sentences(one: Profile) -> list[str]:
    """Say what was measured, the rates first, and what is missing."""
    told, system, battery = profiled_values(one), one.system, one.battery
    counts = ", ".join(f"{count} {group}" for group, count in told["stressors"].items())
    failed, every, ran = told["failed"], len(battery.stressors), {run.stressor for run in one.runs}
    return [
        f"{system.name}: rates of {every - len(failed)} of {every} stressors, from {len(one.runs)} runs of "
        f"{battery.seconds:g} s.",
        f"{system.cpu}, stress-ng {system.stress_ng}, {quota_words(battery.quota)}; stressors: {counts}.",
        *([f"The quota stopped {sum(run.throttled > 0 for run in one.runs)} of the runs."] if battery.quota else []),
        *(["The budget ended before the last run: `vgo-agent resume` makes the others."] if not one.complete else []),
        *(f"No result: {name} ({why})." for name, why in failed.items() if name in ran),
    ]


def document(found: MachineComparison, name: str = "machine") -> Document:
    """Give the whole comparison; its figure is called `name`."""
    bars = histogram([one.speed_up.value for one in found.ratios if one.group == "cpu"], "x", False)
    group_columns = ("group", "stressors", "least", "quartile", "median", "quartile", "greatest")
    ratio_columns = ("stressor", "group", "speed-up", "95 %", "")
    return Document(
        "Machine profiles compared",
        "machine",
        (
            _title(found),
            Figure(name, "Speed-ups of the stressors.", "\n".join(("Speed-ups of the CPU stressors:", *bars))),
            Table(group_columns, [_summary_row(one) for one in found.groups]),
            _APART,
            *_said(found),
            *map(Note, found.notes),
            Section("Every stressor", (Table(ratio_columns, [_ratio_row(one) for one in found.ratios]),)),
        ),
    )


ENDINGS = (".md", ".html")


def refuse(path: Path) -> None:
    """Refuse early what cannot be written at the end."""
    if path.suffix not in ENDINGS:
        raise VgoError(f"--save {path} has no known ending: name it *.md or *.html.")
    if not os.access(path.absolute().parent, os.W_OK):
        raise VgoError(f"--save {path}: its folder is missing or cannot be written; choose another place.")


def save(found: MachineComparison, path: Path) -> list[Path]:
    """Write the page, and beside a Markdown page its picture; return the files."""
    from .strips import picture
    from .svg import document_files, save_files

    files = document_files(illustrated(document(found, path.stem), {path.stem: picture(found)}), path.stem)
    kept = {".md": (".md", ".svg"), ".html": (".html",)}[path.suffix]
    return save_files(path.parent, {name: text for name, text in files.items() if name.endswith(kept)})


def _title(found: MachineComparison) -> str:
    kind = "real time" if found.rate == "real" else "CPU time"
    return (
        f"B/A: {found.b.name} ({found.b.cpu}) over {found.a.name} ({found.a.cpu}), "
        f"bogo operations per second of {kind}; above 1, B does more."
    )


def _said(found: MachineComparison) -> list[str]:
    """Give the sentences: the bound, the applications, outliers, what is missing."""
    lines = [_bound_words(found.bound)] if found.bound else []
    if found.applications:
        inside = sum(one.inside for one in found.applications)
        lines.append(f"{inside} of {len(found.applications)} applications lie within that range.")
        lines += [
            f"Outside: {one.name}, {one.speed_up:.3g} times as fast; a program bound by memory or I/O falls outside."
            for one in found.applications
            if not one.inside
        ]
    lines += [
        f"Outliers of group {one.group}: {', '.join(one.outliers)} ({OUTLIER_RULE}). They are kept; without "
        f"them the range is {one.least_inside:.3g} to {one.greatest_inside:.3g}."
        for one in found.groups
        if one.outliers
    ]
    return [*lines, *(f"No ratio for {name}: {why}." for name, why in found.missing.items())]


def _bound_words(bound: GroupSummary) -> str:
    low, high = bound.least.value, bound.greatest.value
    return (
        f"Predicted for CPU-bound programs: {low:.3g} to {high:.3g} times as fast on B, that is {1 / high:.3g} to "
        f"{1 / low:.3g} times the seconds."
    )


def _summary_row(one: GroupSummary) -> tuple[str, ...]:
    five = (one.least, one.quartile_1, one.median, one.quartile_3, one.greatest)
    return (one.group, str(one.stressors), *map(_interval_words, five))


def _ratio_row(one: StressorRatio) -> tuple[str, ...]:
    value = one.speed_up
    bounds = f"{value.low:.3g} to {value.high:.3g}" if value.low is not None else "one repetition"
    return (one.stressor, one.group, f"{value.value:.3g}", bounds, "outlier" if one.outlier else "")


def _interval_words(one: BootstrapEstimate) -> str:
    return f"{one.value:.3g}" if one.low is None else f"{one.value:.3g} [{one.low:.3g}, {one.high:.3g}]"


MOST_NAMED = 12


def calibrated_text(found: Calibrated, path: Path) -> str:
    """Give the whole answer as text."""
    one = found.calibration
    ranges = (_range("without the quota", found.before), _range(_with_it(found), found.after))
    steps = [
        (str(number), f"{step.quota.cpus:.4g}", str(step.stressors), f"{step.median:.3g}")
        for number, step in enumerate(found.steps, 1)
    ]
    ways = (
        ("cgroup v2", f"cpu.max = {one.quota.quota_us} {one.quota.period_us}"),
        ("cgroup v1", f"cpu.cfs_quota_us = {one.quota.quota_us}, cpu.cfs_period_us = {one.quota.period_us}"),
        ("container", docker_flag(one.quota)),
        ("here", f"vgo-agent machine run --like {path} -- COMMAND"),
    )
    blocks: tuple[Block, ...] = (
        f"{headline(found)}, {quota_words(one.quota)}.",
        Table(("speed-up over the base", "least", "median", "greatest", "width"), ranges),
        Table(("step", "CPUs", "stressors", "median speed-up"), steps),
        *_sentences(found),
        *map(Note, found.notes),
        Facts(ways),
    )
    return blocks_text(blocks)


def headline(found: Calibrated) -> str:
    """Say what was found, without a full stop."""
    one = found.calibration
    share = f"{100 * one.quota.cpus:.1f} % of a CPU (95 % {100 * one.low:.1f} to {100 * one.high:.1f})"
    return f"Most like {one.base.name} is {one.here.name} with {share}"


def _with_it(found: Calibrated) -> str:
    """Say where the runs were made that its row is computed from, as the last step moves the quota once more."""
    last, chosen = found.steps[-1].quota.cpus, found.calibration.quota.cpus
    return "with it" if last == chosen else f"with it, computed from runs at {last:.4g} CPUs"


def _sentences(found: Calibrated) -> list[str]:
    """Say what is not matched and what failed."""
    cpu = [one for one in found.unmatched if one.group == "cpu"]
    others = [one for one in found.unmatched if one.group != "cpu"]
    lines = ["Computed so, every CPU stressor comes within 10 % of the base."] if not cpu else []
    if cpu:
        lines.append(f"Not matched, more than 10 % off the base: {_named(cpu)}. No quota fits every instruction mix.")
    if others:
        lines.append(f"Of the {found.apart} stressors of other groups, off the base: {_named(others)}.")
    return [*lines, *(f"No result for {name}: {why}." for name, why in found.failed.items())]


def _range(name: str, one: Range) -> tuple[str, ...]:
    return (name, *(f"{value:.3g}" for value in (one.least, one.median, one.greatest, one.width)))


def _named(these: Sequence[Unmatched]) -> str:
    named = [f"{one.stressor} {one.speed_up:.3g}" for one in these[:MOST_NAMED]]
    more = [f"{len(these) - MOST_NAMED} more"] if len(these) > MOST_NAMED else []
    return ", ".join([*named, *more])
