"""diagnose: the main job on a command of the user."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ...knowledge.errors import VgoError
from .options import Asking, OfProgram, OnHosts, option
from .setting_options import EVERY

if TYPE_CHECKING:
    from ...tools.subject import Subject, TrialPlan
    from ..diagnosis import DiagnosisRequest, NewDiagnosis
    from ..settings import UserSettings


@dataclass(frozen=True, kw_only=True)
class DiagnoseCommand(OfProgram, OnHosts, Asking):
    """The main job on a command of the user."""

    EPILOG = """\
examples:
  vgo-agent diagnose ./bench.sh
  vgo-agent diagnose --metric 'time: ([0-9.]+) ms' --unit ms -- python bench.py --size 10
  vgo-agent diagnose --shell 'sort big.txt | uniq -c'

Options stand before COMMAND; everything after it belongs to the program, which gets no input and no terminal.
Where nothing that the tool can do helps, and the answer went to a terminal, what a person may do is offered after it.
"""
    SETTINGS = EVERY

    surface: Path | None = option(
        "a surface of this program (`vgo-agent surface fit --save DIR`): asked for a steady configuration where "
        "nothing that was tried helps",
        metavar="DIR",
    )

    def run(self) -> int:
        """Diagnose."""
        from ...tools.layers_here import named

        settings = self.in_force()
        named(settings.layers)  # a layer that does not exist is told before the first run
        new = diagnosis_of(self, settings)
        request = new.request.model_copy(update={"plan": _plan(self.surface)})
        return carry_out(replace(new, request=request), settings, self)


def diagnosis_of(command: OfProgram, settings: UserSettings) -> NewDiagnosis:
    """Read the options that say what is diagnosed, within which limits, and who decides."""
    from ..diagnosis import NewDiagnosis
    from .subject import short_name, subject_of

    subject = subject_of(command, settings)
    return NewDiagnosis(asked_of(subject, settings), settings.out, short_name(subject.command, subject.shell))


def asked_of(subject: Subject, settings: UserSettings) -> DiagnosisRequest:
    """Ask for the diagnosis of a program."""
    from ..diagnosis import DiagnosisRequest
    from ..model.chosen import who_decides
    from .mitigation_arguments import accepted

    planner, model = who_decides(settings)
    limits = settings.limits().model_copy(update={"accept": accepted(settings.accept)})
    return DiagnosisRequest(subject=subject, limits=limits, planner=planner, model=model)


def _plan(surface: Path | None) -> TrialPlan:
    """Refuse a folder without a surface before the first run."""
    from ...tools.subject import NO_PLAN, TrialPlan

    if surface is None:
        return NO_PLAN
    from ...tools.surface.stored import is_stored

    if not is_stored(surface):
        raise VgoError(f"--surface {surface} holds no surface.json; make it with `vgo-agent surface fit --save DIR`.")
    return TrialPlan(surface=str(surface.absolute()))


def carry_out(
    new: NewDiagnosis, settings: UserSettings, command: Asking, afterwards: Callable[[Path], None] = lambda _: None
) -> int:
    """Diagnose, telling what goes on, and answer; then do what else there is for the run folder."""
    from ..diagnosis import diagnose
    from .trial import attended

    ending = command.watched(
        settings, new.request.subject.unit, lambda interface, clock: diagnose(replace(new, clock=clock), interface)
    )
    code = command.answer(*ending.shown())
    afterwards(Path(ending.summary["run_dir"]))
    if attended() and sys.stdout.isatty() and not (settings.quiet or command.json):
        from .by_hand import offer

        offer(Path(ending.summary["run_dir"]), command)
    return code
