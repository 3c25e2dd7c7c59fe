"""machine compare: the variability profile of B over A."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ...knowledge.errors import VgoError
from ..terminal import answer
from .options import add_manners

if TYPE_CHECKING:
    from ...tools.machine_profile.form import Profile

EPILOG = """\
examples:
  vgo-agent machine compare old.json new.json
  vgo-agent machine compare old.json new.json --applications times.csv --save report.html
  vgo-agent machine compare old.json new.json --rate cpu --json

A and B are files of `vgo-agent machine profile`. Speed-ups are ratios of median rates, B over A: above 1 B does more.
The range of the CPU stressors bounds CPU-bound programs; the other groups stand apart. times.csv holds lines of
name,seconds on A,seconds on B, and each is checked against the bound.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = EPILOG
    parser.add_argument("a", type=Path, metavar="A", help="profile of the machine that is compared with")
    parser.add_argument("b", type=Path, metavar="B", help="profile of the other machine")
    parser.add_argument(
        "--rate",
        choices=("real", "cpu"),
        default="real",
        help="operations per second of real time, which quotas and other programs lower, or of CPU time (default real)",
    )
    parser.add_argument("--applications", type=Path, metavar="FILE", help="CSV of name,seconds on A,seconds on B")
    parser.add_argument(
        "--save", type=Path, metavar="REPORT", help="REPORT.md with a picture beside it, or REPORT.html"
    )
    add_manners(parser)


def run(arguments: argparse.Namespace) -> int:
    """Compare."""
    from ...tools.machine_profile.compare import compare
    from ...tools.machine_profile.form import read_applications
    from ..report.machine import compared_text
    from ..report.machine_files import refuse, save

    if arguments.save:
        refuse(arguments.save)
    a, b = _both(arguments.a, arguments.b)
    applications = read_applications(arguments.applications) if arguments.applications else ()
    found = compare(a, b, arguments.rate, applications)
    saved = save(found, arguments.save) if arguments.save else ()
    words = compared_text(found) + "".join(f"\nWritten: {path}" for path in saved)
    answer(found.model_dump(mode="json"), words, arguments.json)
    return 0


def _both(a: Path, b: Path) -> tuple[Profile, Profile]:
    """Read two profiles that are not one."""
    from ...tools.machine_profile.form import Profile, read

    profiles = read(a, Profile), read(b, Profile)
    if a.resolve() == b.resolve() or profiles[0] == profiles[1]:
        raise VgoError(f"{a} and {b} are the same profile, and every ratio would be 1: name two.")
    return profiles
