"""diagnose: the main job on a command of the user."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ...knowledge.errors import VgoError
from .ending import give
from .options import add_asking, add_cluster, add_manners, add_program, add_settings

if TYPE_CHECKING:
    from ...tools.plan import TrialPlan
    from ..session import NewDiagnosis
    from ..settings import UserSettings

EPILOG = """\
examples:
  vgo-agent diagnose ./bench.sh
  vgo-agent diagnose --metric 'time: ([0-9.]+) ms' --unit ms -- python bench.py --size 10
  vgo-agent diagnose --shell 'sort big.txt | uniq -c'

Options stand before COMMAND; everything after it belongs to the program, which gets no input and no terminal.
Where nothing that the tool can do helps, and the answer went to a terminal, what a person may do is offered after it.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_program(parser)
    parser.add_argument(
        "--surface",
        type=Path,
        metavar="DIR",
        help="a surface of this program (`vgo-agent surface fit --save DIR`): asked for a steady configuration where "
        "nothing that was tried helps",
    )
    add_settings(parser)
    add_cluster(parser)
    add_manners(parser)
    add_asking(parser)


def run(arguments: argparse.Namespace) -> int:
    """Diagnose."""
    from ...tools.layers_here import named
    from ..clock import BudgetClock
    from ..model.chosen import who_decides
    from ..session import DiagnosisRequest, NewDiagnosis
    from ..settings import effective
    from .mitigation_arguments import accepted
    from .subject import short_name, subject_of

    settings, _ = effective(vars(arguments))
    named(settings.layers)  # a layer that does not exist is told before the first run
    subject = subject_of(arguments, settings)
    name = short_name(subject.command, subject.shell)
    planner, model = who_decides(settings)
    limits = settings.limits().model_copy(update={"accept": accepted(settings.accept)})
    clock, plan = BudgetClock(arguments.began_s), _plan(arguments.surface)
    request = DiagnosisRequest(subject=subject, limits=limits, planner=planner, plan=plan, model=model)
    return carry_out(NewDiagnosis(request, settings.out, name, clock), settings, arguments)


def _plan(surface: Path | None) -> TrialPlan:
    """Refuse a folder without a surface before the first run."""
    from ...tools.plan import NO_PLAN, TrialPlan

    if surface is None:
        return NO_PLAN
    from ...tools.surface.stored import is_stored

    if not is_stored(surface):
        raise VgoError(f"--surface {surface} holds no surface.json; make it with `vgo-agent surface fit --save DIR`.")
    return TrialPlan(surface=str(surface.absolute()))


def carry_out(
    new: NewDiagnosis,
    settings: UserSettings,
    arguments: argparse.Namespace,
    afterwards: Callable[[Path], None] = lambda _: None,
) -> int:
    """Diagnose, telling what goes on, and answer; then do what else there is for the run folder."""
    from ..live_view import watching
    from ..session import diagnose
    from .trial import attended

    with watching(settings.quiet, arguments, new.request.subject.unit) as interface:
        ending = diagnose(new, interface)
    code = give(ending, arguments.json)
    afterwards(Path(ending.summary["run_dir"]))
    if attended() and sys.stdout.isatty() and not (settings.quiet or arguments.json):
        from .by_hand import offer

        offer(Path(ending.summary["run_dir"]), arguments)
    return code
