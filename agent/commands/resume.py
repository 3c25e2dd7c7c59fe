"""resume: go on with a diagnosis that was killed or interrupted."""

from __future__ import annotations

import argparse

from .ending import give
from .options import add_manners, add_run

EPILOG = """\
example:
  vgo-agent resume vgo-runs/20250314-092653-bench.sh

No finished step is lost or repeated; a mitigation that was half applied is put back first.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = EPILOG
    add_run(parser)
    add_manners(parser)


def run(arguments: argparse.Namespace) -> int:
    """Go on."""
    from ..progress import watching
    from ..session import read_request, resume
    from ..settings import effective
    from .meant import run_meant

    settings, _ = effective(vars(arguments))
    folder = run_meant(arguments.run, settings.out)
    unit = read_request(folder).subject.unit
    with watching(settings.quiet, arguments, unit) as interface:
        ending = resume(folder, interface)
    return give(ending, arguments.json)
