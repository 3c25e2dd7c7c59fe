"""resume: go on with what was killed or interrupted: a diagnosis or an experiment."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ...knowledge.errors import VgoError
from ..run_folder import RunFolder
from .ending import give, give_shown
from .options import add_asking, add_manners, add_on, add_run, add_settings

if TYPE_CHECKING:
    from ..settings import UserSettings

EPILOG = """\
examples:
  vgo-agent resume vgo-runs/20250314-092653-bench.sh
  vgo-agent resume vgo-runs/20250314-092653-bench.sh --budget 300
  vgo-agent resume vgo-runs/20250314-092653-bench.sh --accept tmpfs_directory

No finished step is lost or repeated; a mitigation that was half applied is put back first. A run that was cut short has
what was left of its budget. With --budget it has so many seconds from now; a run that has ended goes on too then, with
what its budget had kept it from trying. --accept holds for what has not been asked about yet. A measurement, a profile,
a study, a sweep or a calibration is told again where it had ended; the last three have their whole budget again. --on
says where the hosts of one can be reached now.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_run(parser)
    parser.add_argument(
        "--budget", type=float, metavar="S", default=argparse.SUPPRESS, help="seconds to go on for, from now"
    )
    add_settings(parser, ("accept",))
    add_on(parser)
    add_manners(parser)
    add_asking(parser)


def run(arguments: argparse.Namespace) -> int:
    """Go on."""
    from ..experiment_folder import experiment_in
    from ..settings import effective
    from .checking import place_meant

    settings, _ = effective(vars(arguments))
    more_s = settings.budget_s if "budget" in arguments else None
    folder = place_meant(arguments.run, settings.out)
    if not (kind := experiment_in(folder)):
        return _diagnosis(arguments, settings, more_s)
    if "accept" in arguments:
        raise VgoError(f"--accept is for a diagnosis, and {folder} is a {kind}: leave it out.")
    return _experiment(RunFolder(folder), arguments, settings, more_s)


def _experiment(folder: RunFolder, arguments: argparse.Namespace, settings: UserSettings, more_s: float | None) -> int:
    from ..clock import BudgetClock
    from ..experiment import go_on, read_experiment
    from ..live_view import watching
    from .subject import on_of

    request = read_experiment(folder.path).reached(on_of(arguments.on, settings))
    request = request.lasting(more_s, folder) if more_s else request
    with watching(settings.quiet, arguments, request.subject.unit) as interface:
        ended = go_on(request, folder, interface, BudgetClock(arguments.began_s))
    return give_shown(ended.shown(), arguments.json)


def _diagnosis(arguments: argparse.Namespace, settings: UserSettings, more_s: float | None) -> int:
    from ..clock import BudgetClock
    from ..live_view import watching
    from ..session import read_request, resume
    from .checking import run_meant
    from .mitigation_arguments import accepted

    accept = accepted(tuple(getattr(arguments, "accept", ())))
    folder = run_meant(arguments.run, settings.out)
    if arguments.on:
        raise VgoError(f"{folder.path} is a diagnosis, which goes on where it began: leave --on out.")
    unit = read_request(folder).subject.unit
    with watching(settings.quiet, arguments, unit) as interface:
        ending = resume(folder, interface, BudgetClock(arguments.began_s), more_s, accept)
    return give(ending, arguments.json)
