"""replay: the same measurements lead to the same events again."""

from __future__ import annotations

import argparse

from .options import add_manners, add_run

EPILOG = """\
example:
  vgo-agent replay vgo-runs/20250314-092653-bench.sh

Drives the loop again with the recorded measurements: every other step is computed anew and must give the same event.
Nothing is run or changed; the first difference is named.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = EPILOG
    add_run(parser)
    add_manners(parser)


def run(arguments: argparse.Namespace) -> int:
    """Replay."""
    from .checking import folder_of, tell

    folder = folder_of(arguments)
    from ..replay import replay

    return tell(replay(folder), "The same events again", arguments)
