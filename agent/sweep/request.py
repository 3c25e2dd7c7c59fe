"""What a sweep is asked to do: the space with what the command line says put in, and where it is kept."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ...knowledge.actions import Precondition
from ...knowledge.errors import VgoError
from ...knowledge.loader import Knowledge, load
from ...knowledge.wrong import first
from ...layers.schema import Layer
from ...tools.layer_choice import WORDS, named
from ...tools.machine import Machine
from ...tools.subject import Subject
from ...tools.survey import survey
from ...tools.sweep.cell import Cell
from ...tools.sweep.designs import first_cells
from ...tools.sweep.inline import inline, is_inline, named_after
from ...tools.sweep.setting import CellSettings, conditions, settles_slowly
from ...tools.sweep.space import Space, read_space
from ..clock import BudgetClock
from ..commands.subject import subject_of
from ..session import launcher_of
from ..settings import Origin, UserSettings

SETTLING = 5
"""Runs of a cell one after the other, where a setting should not be switched between every two of them."""
PREFIX = "sweep-"
"""Of the names of folders."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,80}")
_NO_KNOWLEDGE = Knowledge({}, {}, "")


@dataclass(frozen=True)
class SweepRequest:
    """A sweep to carry out."""

    space: Space
    """Resolved: the command and all else that the command line says is in it."""
    name: str
    settings: UserSettings
    layers: tuple[str, ...]
    inputs: tuple[str, ...]
    knowledge: Knowledge
    on: str = ""
    """Where to run, if not here."""
    mixed: bool = False
    clock: BudgetClock = field(default_factory=BudgetClock)
    """Counts the budget, from when the command began."""

    @property
    def conditions(self) -> list[Precondition]:
        """What the machine has to be surveyed for."""
        return conditions(self.space, self.knowledge.mitigations)

    @property
    def folder(self) -> Path:
        """Where it is kept."""
        return self.settings.out / f"{PREFIX}{self.name}"

    def subject(self, texts: Mapping[str, str]) -> Subject:
        """The program of one cell."""
        return subject_of(
            argparse.Namespace(
                command=[filled(word, texts) for word in self.space.command],
                shell=self.space.shell,
                metric=self.space.metric,
                per_iteration=None,
                unit=self.space.unit or None,
                higher_is_better=self.space.higher_is_better,
                input=list(self.inputs),
                on=self.on,
                mixed=self.mixed,
            ),
            self.settings,
        )

    def here(self) -> tuple[Subject, Machine]:
        """Survey the machine, with the program of the first cell that has one."""
        subject = self.first_subject()
        return subject, survey(subject, self.conditions, root=Path(subject.root), launcher=launcher_of(subject))

    def first_subject(self) -> Subject:
        """The program of the first cell that has one; none is refused. Cells may fail, on hosts too."""
        refusal: VgoError | None = None
        for values in first_cells(self.space, self.settings.seed).cells:
            try:
                return self.subject(Cell("", values).texts)
            except VgoError as error:
                refusal = refusal or error
        assert refusal is not None
        raise refusal

    def cells(self, machine: Machine) -> CellSettings:
        """What makes the setting of each cell."""
        return CellSettings(self.space, self.knowledge.mitigations, machine, self.subject)


def sweep_request(arguments: argparse.Namespace, settings: UserSettings, origins: Mapping[str, Origin]) -> SweepRequest:
    """Read SPACE and the options; what cannot work is refused before the first run."""
    given = vars(arguments)
    word, asked = arguments.space, _typed(given["command"])
    space = _resolved(inline(word, asked) if is_inline(word) else read_space(word), given, settings, origins)
    layers = tuple(settings.layers) if "layers" in given else ()
    if shorthand := next((word for word in layers if word in WORDS), None):
        raise VgoError(f"--layer {shorthand} would choose anew each time: name the layers of a sweep one by one.")
    _refuse_clash(space, named(layers).values())
    _refuse_unused(space)
    name = arguments.name or (named_after(word) if is_inline(word) else Path(word).stem)
    if not _NAME.fullmatch(name):
        raise VgoError(f"{name!r} is no name of a folder: give --name, letters and digits, such as fio-2.")
    known = knowledge_for(space)
    conditions(space, known.mitigations)
    if space.repetitions.block is None and settles_slowly(space, known.mitigations):
        calm = space.repetitions.model_copy(update={"block": SETTLING})
        space = space.model_copy(update={"repetitions": calm})
    clock, inputs = BudgetClock(arguments.began_s), tuple(arguments.input)
    return SweepRequest(space, name, settings, layers, inputs, known, arguments.on, arguments.mixed, clock)


def knowledge_for(space: Space) -> Knowledge:
    """Load what is known, where any parameter is one of a mitigation."""
    return load() if any(one.mitigation for one in space.parameters.values()) else _NO_KNOWLEDGE


def filled(word: str, texts: Mapping[str, str]) -> str:
    """Put the levels in the place of `{name}`; other braces stay."""
    return re.sub(r"\{([a-z][a-z0-9_]*)\}", lambda found: texts.get(found[1], found[0]), word)


def _typed(command: list[str]) -> tuple[str, ...]:
    """The command without the dashes before it."""
    return tuple(command[1:] if command[:1] == ["--"] else command)


def _resolved(space: Space, given: Mapping[str, Any], settings: UserSettings, origins: Mapping[str, Origin]) -> Space:
    """Put what the command line says in its place; it goes before the file."""
    repetitions = {"least": given.get("min_runs"), "most": given.get("max_runs"), "within": given.get("within")}
    design = {"kind": given.get("design"), **{name: given.get(name) for name in ("cells", "response", "seek")}}
    # The default of the settings is a limit only where neither SPACE nor the user has one.
    ours = settings.budget_s if origins["budget"] != "default" else space.budget.seconds or settings.budget_s
    top = {
        "command": _typed(given["command"]),
        "shell": given["shell"],
        "metric": given["metric"],
        "unit": given["unit"],
    }
    dumped = space.model_dump()
    for place, values in {"repetitions": repetitions, "design": design}.items():
        dumped[place] |= {name: value for name, value in values.items() if value is not None}
    dumped["budget"] |= {"seconds": ours} | ({"runs": given["runs"]} if given["runs"] is not None else {})
    dumped |= {name: value for name, value in top.items() if value}
    dumped["higher_is_better"] |= given["higher_is_better"]
    try:
        return Space.model_validate(dumped)
    except ValidationError as error:
        wrong = first(error)
        place = wrong.where if wrong.place else "the options"
        raise VgoError(f"{place}: {wrong.what}, in the option or in {given['space']}.") from error


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
