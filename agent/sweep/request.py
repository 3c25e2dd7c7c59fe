"""From the options of `sweep` to what it is asked to do, and what it would do: its cells, with nothing touched."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from ...knowledge.errors import VgoError
from ...knowledge.files import first
from ...layers.schema import Layer
from ...tools.layers_here import WORDS, named
from ...tools.subject import Subject
from ...tools.survey import survey
from ...tools.sweep.cell import CellSettings, first_cells, texts_of
from ...tools.sweep.cell_runs import cell_setting, preconditions, settles_slowly
from ...tools.sweep.space import Space, inline, is_inline, named_after, read_space
from ..commands.subject import refuse_samples, subject_of
from ..place import launcher_of
from ..run_folder import RunFolder
from ..settings import Origin, UserSettings
from .conduct import SweepRequest, filled

if TYPE_CHECKING:
    from .options import OfSweep

SETTLING = 5
"""Runs of a cell one after the other, where a setting should not be switched between every two of them."""
PREFIX = "sweep-"
"""Of the names of folders."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,80}")


def sweep_request(
    command: OfSweep, settings: UserSettings, origins: Mapping[str, Origin]
) -> tuple[SweepRequest, RunFolder]:
    """Read SPACE and the options, and name the folder; what cannot work is refused before the first run."""
    refuse_samples(command, "A sweep")
    word = " ".join(command.space)
    space = _resolved(
        inline(word, command.command) if is_inline(word) else read_space(word), command, settings, origins
    )
    layers = tuple(settings.layers) if "layers" in command.flags else ()
    if shorthand := next((word for word in layers if word in WORDS), None):
        raise VgoError(f"--layer {shorthand} would choose anew each time: name the layers of a sweep one by one.")
    _refuse_clash(space, named(layers).values())
    _refuse_unused(space)
    name = command.name or (named_after(word) if is_inline(word) else Path(word).stem)
    if not _NAME.fullmatch(name):
        raise VgoError(f"{name!r} is no name of a folder: give --name, letters and digits, such as fio-2.")
    subject = _first_program(space, settings, command)
    inputs = command.input
    request = SweepRequest(
        subject=subject, space=space, seed=settings.seed, layers=layers, inputs=inputs, allow=settings.allow
    )
    preconditions(space.parameters)  # what is unknown is refused
    if space.repetitions.block is None and settles_slowly(space):
        calm = space.repetitions.model_copy(update={"block": SETTLING})
        request = request.model_copy(update={"space": space.model_copy(update={"repetitions": calm})})
    return request, RunFolder(settings.out / f"{PREFIX}{name}")


def _first_program(space: Space, settings: UserSettings, command: OfSweep) -> Subject:
    """The program of the first cell that has one; none is refused. Its command has the parameters in their places."""
    refusal: VgoError | None = None
    for values in first_cells(space, settings.seed).cells:
        words = tuple(filled(word, texts_of(values)) for word in space.command)
        said: dict[str, Any] = {name: getattr(space, name) for name in ("shell", "metric", "higher_is_better")}
        more = {"per_iteration": None, "unit": space.unit or None, "command": words}
        try:
            subject = subject_of(replace(command, **(said | more)), settings)
            return subject.model_copy(update={"command": space.command})
        except VgoError as error:
            refusal = refusal or error
    assert refusal is not None
    raise refusal


def _resolved(space: Space, command: OfSweep, settings: UserSettings, origins: Mapping[str, Origin]) -> Space:
    """Put what the command line says in its place; it goes before the file."""
    repetitions = {
        "least": command.flags.get("min_runs"),
        "most": command.flags.get("max_runs"),
        "within": command.within,
    }
    design = {"kind": command.design, **{name: getattr(command, name) for name in ("cells", "response", "seek")}}
    # The default of the settings is a limit only where neither SPACE nor the user has one.
    ours = settings.budget_s if origins["budget"] != "default" else space.budget.seconds or settings.budget_s
    top = {name: getattr(command, name) for name in ("command", "shell", "metric", "unit")}
    dumped = space.model_dump()
    for place, values in {"repetitions": repetitions, "design": design}.items():
        dumped[place] |= {name: value for name, value in values.items() if value is not None}
    dumped["budget"] |= {"seconds": ours} | ({"runs": command.runs} if command.runs is not None else {})
    dumped |= {name: value for name, value in top.items() if value}
    dumped["higher_is_better"] |= command.higher_is_better
    try:
        return Space.model_validate(dumped)
    except ValidationError as error:
        wrong = first(error)
        place = wrong.where if wrong.place else "the options"
        raise VgoError(f"{place}: {wrong.what}, in the option or in {' '.join(command.space)}.") from error


def _refuse_clash(space: Space, layers: Iterable[Layer]) -> None:
    """Refuse a parameter that has the name of a column of a layer."""
    for layer in layers:
        if name := next((name for name in space.parameters if layer.column(name)), None):
            raise VgoError(f"{name} is a column of the layer {layer.key}: give the parameter another name.")


def _refuse_unused(space: Space) -> None:
    """Refuse a parameter that changes nothing."""
    if not space.command:
        raise VgoError("No command was given: name the program after SPACE, or `command:` in it.")
    for name, parameter in space.parameters.items():
        nowhere = parameter.to == "argument" and not parameter.environment and not parameter.mitigation
        if nowhere and not any(f"{{{name}}}" in word for word in space.command):
            raise VgoError(
                f"{name} goes nowhere: write {{{name}}} in the command, or say with `to`, `environment` or "
                "`mitigation` where it goes."
            )


MOST_SHOWN = 100
"""Cells in words; --json has all."""


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
        "needs_consent": [name for name, _ in request.beyond()],
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
