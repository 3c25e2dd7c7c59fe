"""restore: put back what a killed vgo-agent left."""

from __future__ import annotations

import argparse

from ..terminal import answer
from .options import add_manners

EPILOG = """\
example:
  vgo-agent restore

Puts settings of this machine back to what they were before an agent that is dead changed them, and removes its working
copies and temporary folders. A setting that someone else has changed since is left alone and named. Safe to repeat.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--force", action="store_true", help="also what a living agent has changed")
    add_manners(parser)


def run(arguments: argparse.Namespace) -> int:
    """Restore."""
    from ...tools.mitigation.restore import restore

    told = restore(force=arguments.force)
    answer({"restored": told}, "\n".join(told) or "Nothing was left to put back.", arguments.json)
    return 0
