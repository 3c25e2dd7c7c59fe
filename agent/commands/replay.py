"""replay: the same measurements lead to the same events again."""

from __future__ import annotations

import argparse

from .options import add_manners, add_run

EPILOG = """\
example:
  vgo-agent replay vgo-runs/20250314-092653-bench.sh

Drives the loop again with the recorded measurements: every other step is computed anew and must give the same event.
Nothing is run or changed; the first difference is named. A language model that planned the run is asked again where
the same file is at hand, and has to write the same on the same build and kind of CPU. Of a measurement, a profile, a
study or a sweep table and answer are made again from the log of its runs.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_run(parser)
    parser.add_argument(
        "--without-model", action="store_true", help="read what a language model wrote from the record, ask none"
    )
    add_manners(parser)


def run(arguments: argparse.Namespace) -> int:
    """Replay."""
    from .checking import folder_of, tell

    folder = folder_of(arguments)
    from ..replay import replay

    return tell(replay(folder, arguments.without_model), "The same events again", arguments)
