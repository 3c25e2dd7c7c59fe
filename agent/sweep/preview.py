"""What a sweep would do: its cells, and every write of each; and consent to what changes more than the program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...knowledge.errors import VgoError
from ...tools.survey import survey
from ...tools.sweep.cell import Cell
from ...tools.sweep.designs import first_cells
from ...tools.sweep.setting import mitigation_of
from ..consent import NO, ONCE
from ..interface import Interface
from ..run_folder import RunFolder
from ..session import launcher_of
from .request import SweepRequest

MOST_SHOWN = 100
"""Cells in words; --json has all."""
_SYSTEM, _GROUP = ("frequency", "scheduler"), ("cpu_quota", "memory")


def preview(request: SweepRequest, folder: RunFolder) -> dict[str, Any]:
    """List the cells that the design begins with, what each would change, and why it could not."""
    if request.subject.on:
        raise VgoError(
            "--dry-run looks at this machine: leave --on out, or look at hosts with `vgo-agent cluster check`."
        )
    subject = request.subject
    machine = survey(subject, request.conditions, root=Path(subject.root), launcher=launcher_of(subject))
    first, settings = first_cells(request.space, request.seed), request.cells(machine)
    shown = []
    for number, values in enumerate(first.cells, 1):
        cell = Cell(f"c{number:04d}", values)
        one: dict[str, Any] = {"cell": cell.id, "values": dict(values), "command": [], "would": [], "in_the_way": None}
        try:
            setting = settings.of(cell)
            one |= {"command": list(setting.subject.command), "would": list(setting.would(machine))}
        except VgoError as refused:
            one["in_the_way"] = str(refused)
        shown.append(one)
    repetitions, design = request.space.repetitions, request.space.design
    return {
        "folder": str(folder.path),
        "design": design.model_dump(),
        "repetitions": repetitions.model_dump(),
        "budget": request.space.budget.model_dump(),
        "most_runs": repetitions.most * (design.cells if design.kind == "adaptive" else len(shown)),
        "needs_consent": [name for name, _ in beyond(request)],
        "dropped": list(first.told),
        "cells": shown,
    }


def words(shown: dict[str, Any]) -> str:
    """Put it in words."""
    cells, repetitions = shown["cells"], shown["repetitions"]
    adaptive = ", and more where they are wanted" if shown["design"]["kind"] == "adaptive" else ""
    lines = [
        f"{len(cells)} cells{adaptive}, each {repetitions['least']} to {repetitions['most']} times, at most "
        f"{shown['most_runs']:,} runs; kept in {shown['folder']}. Nothing was touched."
    ]
    lines += [f"{one[0].upper()}{one[1:]}." for one in shown["dropped"]]
    if (block := repetitions["block"] or 1) > 1:
        lines.append(f"Each cell runs {block} times in a row in each round, since its settings take time to settle.")
    if shown["needs_consent"]:
        lines.append(f"More than the program is changed by {', '.join(shown['needs_consent'])}: --allow system.")
    for one in cells[:MOST_SHOWN]:
        levels = " ".join(f"{name}={level}" for name, level in one["values"].items())
        lines.append(f"{one['cell']}: {levels}")
        lines += [f"  run {' '.join(one['command'])}"] if one["command"] else []
        lines += [f"  {line}" for line in one["would"]]
        lines += [f"  impossible here: {one['in_the_way']}"] if one["in_the_way"] else []
    if len(cells) > MOST_SHOWN:
        lines.append(f"... and {len(cells) - MOST_SHOWN} more (--json lists all)")
    return "\n".join(lines)


def beyond(request: SweepRequest) -> list[tuple[str, str]]:
    """Name the parameters that change more than the program, with their scope."""
    found = []
    for name, parameter in request.space.parameters.items():
        scope = "system" if parameter.to in _SYSTEM else "cgroup" if parameter.to in _GROUP else "process"
        if parameter.mitigation:
            scope = mitigation_of(parameter, request.knowledge.mitigations).scope
        if scope != "process":
            found.append((name, scope))
    return found


def ask(request: SweepRequest, interface: Interface) -> None:
    """Ask for consent to what changes more than the program; without it, refuse before the first run."""
    allow, mitigations = request.allow, [one for one in request.space.parameters.values() if one.mitigation]
    far = beyond(request)
    if allow == "none" and (far or mitigations):
        raise VgoError("--allow none forbids what some parameters set: leave it out, or those parameters.")
    if not far or allow == "system":
        return
    names = ", ".join(name for name, _ in far)
    scope = "system" if any(scope == "system" for _, scope in far) else "cgroup"
    would = [f"set {name}, for the runs of the cells that say so (--dry-run lists each write)" for name, _ in far]
    answers = (ONCE.key, NO.key)
    said = interface.approve({"mitigation": "This sweep", "scope": scope, "would": would, "answers": answers})
    if not said["granted"]:
        raise VgoError(
            f"{names} may not be changed ({said['reason']}): leave those parameters out, or give --allow system "
            "(--dry-run lists each write)."
        )
