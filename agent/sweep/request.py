"""What a sweep is asked to do: the space with what the command line says put in, and where it is kept."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import ValidationError

from ...knowledge.actions import Precondition
from ...knowledge.errors import VgoError
from ...knowledge.files import first
from ...layers.schema import Layer
from ...tools.layers_here import WORDS, named
from ...tools.subject import Allow, Subject
from ...tools.sweep.cell import first_cells, texts_of
from ...tools.sweep.inline import inline, is_inline, named_after
from ...tools.sweep.setting import preconditions, settles_slowly
from ...tools.sweep.space import Space, read_space
from ..commands.subject import refuse_samples, subject_of, with_command
from ..experiment import ExperimentRequest, ExperimentRun, RemadeFiles
from ..interface import Interface
from ..run_folder import RunFolder
from ..settings import Origin, UserSettings

if TYPE_CHECKING:
    from ..commands.sweep import SweepCommand
    from .conduct import SweepResult

SETTLING = 5
"""Runs of a cell one after the other, where a setting should not be switched between every two of them."""
PREFIX = "sweep-"
"""Of the names of folders."""
SAME = ("launcher", "root", "directory", "timeout_s")
"""Of the subject: what stays from one command to the next."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,80}")


class SweepRequest(ExperimentRequest):
    """What a sweep was asked for; it goes on only with the same, but for its limits."""

    lenient: ClassVar[bool] = True
    kind: Literal["sweep"] = "sweep"
    space: Space
    """Resolved: the command and all else that the command line says is in it."""
    seed: int
    layers: tuple[str, ...]
    inputs: tuple[str, ...]
    """Files that the user named."""
    allow: Allow
    """A command that goes on with it need not say it again."""

    @property
    def conditions(self) -> Sequence[Precondition]:
        """What the machine has to be surveyed for."""
        return preconditions(self.space.parameters)

    @property
    def probed(self) -> Sequence[str]:
        """Layers that are on in every run."""
        return self.layers

    def program(self, texts: Mapping[str, str]) -> Subject:
        """The program of one cell, as it is meant from the directory that the sweep began in."""
        command = tuple(filled(word, texts) for word in self.space.command)
        with contextlib.chdir(self.subject.directory):
            return with_command(self.subject, command, self.inputs)

    def lasting(self, seconds: float, folder: RunFolder) -> Self:
        """Give it another budget."""
        budget = self.space.budget.model_copy(update={"seconds": seconds})
        return self.model_copy(update={"space": self.space.model_copy(update={"budget": budget})})

    def differs(self, before: SweepRequest) -> str:
        """Name what is another than it was; empty where it can go on: limits may change."""
        kept = [name for name in Space.model_fields if name not in ("repetitions", "budget", "description")]
        pairs = (
            (self, before, ("seed", "layers", "inputs")),
            (self.subject, before.subject, SAME),
            (self.space, before.space, kept),
        )
        differing = (name for now, then, names in pairs for name in names if getattr(now, name) != getattr(then, name))
        return next(differing, "")

    def ask(self, interface: Interface) -> None:
        """Ask for consent to what changes more than the program."""
        from .files import ask

        ask(self, interface)

    def run(self, run: ExperimentRun) -> SweepResult:
        """Run the cells in rounds."""
        from .conduct import conduct

        return conduct(self, run)

    def remade(self, folder: RunFolder) -> RemadeFiles:
        """Make both tables again, and what rows alone tell."""
        from .conduct import remade

        return remade(self, folder)


def sweep_request(
    command: SweepCommand, settings: UserSettings, origins: Mapping[str, Origin]
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


def _first_program(space: Space, settings: UserSettings, command: SweepCommand) -> Subject:
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


def filled(word: str, texts: Mapping[str, str]) -> str:
    """Put the levels in the place of `{name}`; other braces stay."""
    return re.sub(r"\{([a-z][a-z0-9_]*)\}", lambda found: texts.get(found[1], found[0]), word)


def _resolved(space: Space, command: SweepCommand, settings: UserSettings, origins: Mapping[str, Origin]) -> Space:
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
