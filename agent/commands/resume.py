"""resume: go on with a diagnosis that was killed or interrupted."""

from __future__ import annotations

import argparse

from .ending import give
from .options import add_asking, add_manners, add_run, add_settings

EPILOG = """\
examples:
  vgo-agent resume vgo-runs/20250314-092653-bench.sh
  vgo-agent resume vgo-runs/20250314-092653-bench.sh --budget 300
  vgo-agent resume vgo-runs/20250314-092653-bench.sh --accept tmpfs_directory

No finished step is lost or repeated; a mitigation that was half applied is put back first. A run that was cut short has
what was left of its budget. With --budget it has so many seconds from now; a run that has ended goes on too then, with
what its budget had kept it from trying. --accept holds for what has not been asked about yet.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = EPILOG
    add_run(parser)
    parser.add_argument(
        "--budget", type=float, metavar="S", default=argparse.SUPPRESS, help="seconds to go on for, from now"
    )
    add_settings(parser, ("accept",))
    add_manners(parser)
    add_asking(parser)


def run(arguments: argparse.Namespace) -> int:
    """Go on."""
    from ..clock import BudgetClock
    from ..session import read_request, resume
    from ..settings import effective
    from ..watching import watching
    from .meant import run_meant
    from .mitigation_arguments import accepted

    settings, _ = effective(vars(arguments))
    accept = accepted(tuple(getattr(arguments, "accept", ())))
    folder = run_meant(arguments.run, settings.out)
    unit = read_request(folder).subject.unit
    with watching(settings.quiet, arguments, unit) as interface:
        more_s = settings.budget_s if "budget" in arguments else None
        ending = resume(folder, interface, BudgetClock(arguments.began_s), more_s, accept)
    return give(ending, arguments.json)
