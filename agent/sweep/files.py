"""The files of a sweep: the table of runs with what its columns mean, the table of cells, the report."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...knowledge.errors import VgoError
from ...layers.schema import Layer
from ...tools.document import illustrated
from ...tools.recorded.write import write as write_table
from ...tools.survey import survey
from ...tools.sweep.cell import CellSettings, first_cells
from ...tools.sweep.setting import cell_setting, mitigation_of
from ...tools.sweep.sweep import Sweep
from ...tools.sweep.table import cell_rows, cells_csv, runs_table
from ..consent import NO, ONCE
from ..experiment import ExperimentRun
from ..interface import Interface
from ..render.terminal import blocks_text
from ..report.sweep import answer, document, sweep_summary
from ..run_folder import RunFolder, write
from ..trial_runs import launcher_of
from .conduct import SweepResult
from .request import SweepRequest

RUNS, CELLS = "runs.csv", "cells.csv"


def write_files(sweep: Sweep, run: ExperimentRun, layers: Mapping[str, Layer]) -> SweepResult:
    """Write all of them; give the answer."""
    from ..render.files import document_files
    from ..report.response_figures import figure  # Matplotlib takes its time

    cells, folder, subject = list(cell_rows(sweep)), run.folder.path, run.subject
    summary = sweep_summary(sweep, cells, subject, folder)
    if sweep.ran.rows:
        path = folder / RUNS
        write_table(runs_table(sweep, str(path), layers.values(), run.facts), path, fresh=True)
    write(folder / CELLS, cells_csv(cells))
    picture = figure(sweep.space, cells, subject.unit)
    pages = document_files(illustrated(document(sweep, cells, summary), {"sweep": picture}))
    for name, content in pages.items():
        write(folder / name, content.encode())
    summary["files"] = [str(folder / name) for name in (*[RUNS] * bool(sweep.ran.rows), CELLS, *pages)]
    failure = ""
    if sweep.impossible:
        first = sweep.standing(sweep.cells[0]).reason
        failure = f"No cell could be run: {first}; see cells.csv in {folder} for the others."
    words = f"{blocks_text(answer(sweep, summary))}\nReport: {folder / 'report.html'}"
    return SweepResult(summary, words, failure)


MOST_SHOWN = 100
"""Cells in words; --json has all."""
_SYSTEM, _GROUP = ("frequency", "scheduler"), ("cpu_quota", "memory")


def preview(request: SweepRequest, folder: RunFolder) -> dict[str, Any]:
    """List the cells that the design begins with, what each would change, and why it could not."""
    if request.subject.on:
        raise VgoError(
            "--dry-run looks at this machine: leave --on out, or look at hosts with `vgo-agent layers --on`."
        )
    subject = request.subject
    machine = survey(subject, request.conditions, root=Path(subject.root), launcher=launcher_of(subject))
    first = first_cells(request.space, request.seed)
    shown = []
    for number, values in enumerate(first.cells, 1):
        name = f"c{number:04d}"
        one: dict[str, Any] = {"cell": name, "values": dict(values), "command": [], "would": [], "in_the_way": None}
        try:
            setting = cell_setting(CellSettings.of(request.space, values, request.program), machine)
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
            scope = mitigation_of(parameter).scope
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
