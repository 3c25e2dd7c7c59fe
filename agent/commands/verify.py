"""verify: the folder of a run is as it was written."""

from __future__ import annotations

import argparse

from .options import add_manners, add_run

EPILOG = """\
example:
  vgo-agent verify vgo-runs/20250314-092653-bench.sh

Checks the hash chain of the transcript, its end, and the hash of every file that belongs to the run. Compare the tip
with one written down elsewhere to be sure that the whole transcript was not replaced.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_run(parser)
    add_manners(parser)


def run(arguments: argparse.Namespace) -> int:
    """Verify."""
    from .checking import folder_of, tell

    folder = folder_of(arguments)
    from ..verify import verify

    return tell(verify(folder), "As it was written", arguments)
