"""measure: run a command until its spread is known, and nothing else."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ...knowledge.errors import VgoError
from .ending import give_shown
from .options import add_cluster, add_manners, add_out, add_program, add_settings

if TYPE_CHECKING:
    from ..settings import UserSettings
    from ..step import StepRequest

EPILOG = """\
examples:
  vgo-agent measure ./bench.sh
  vgo-agent measure --stop count --stop-at 100 --save runs.csv ./bench.sh
  vgo-agent measure --metric 'time: ([0-9.]+) ms' --unit ms --json -- python bench.py

Nothing reads counters, nothing is changed. Ctrl-C ends it with the runs so far. Every run is kept in a run folder below
--out, which `vgo-agent resume` goes on with; --save FILE.csv, FILE.parquet or FOLDER keeps a table where you want it,
with a page that describes it. analyze, compare and power read both.
"""
SETTINGS = ("budget", "timeout", "on-failure", "min-runs", "max-runs", "stop", "stop-at", "launcher", "root", "seed")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_program(parser)
    add_settings(parser, SETTINGS)
    add_cluster(parser)
    add_save(parser)
    add_out(parser)
    add_manners(parser)


def add_save(parser: argparse.ArgumentParser) -> None:
    """Add where the table goes."""
    parser.add_argument("--save", metavar="PATH", help="keep every run: FILE.csv, FILE.parquet or a folder")


def run(arguments: argparse.Namespace) -> int:
    """Measure."""
    from ..settings import effective
    from ..step import StepRequest
    from .subject import subject_of

    settings, _ = effective(vars(arguments))
    request = StepRequest(
        subject=subject_of(arguments, settings),
        limits=settings.limits(),
        kind="measurement",
        arguments={"max_runs": settings.max_runs, "max_seconds": settings.budget_s},
        why="run until it is enough",
    )
    return carry_out(request, settings, arguments)


def carry_out(request: StepRequest, settings: UserSettings, arguments: argparse.Namespace) -> int:
    """Run one step, tell what goes on, save and answer; one that was cut short does so too before it ends as it was."""
    from ..clock import BudgetClock
    from ..live_view import watching
    from ..save import refuse, save
    from ..step import begin
    from .subject import short_name

    place = place_of(arguments.save) if arguments.save else None
    if place:
        refuse(place)
    subject = request.subject
    name, clock = short_name(subject.command, subject.shell), BudgetClock(arguments.began_s)
    with watching(settings.quiet, arguments, subject.unit) as interface:
        stepped = begin(request, settings.out, name, interface, clock)
    return give_shown(stepped.shown(save(stepped, place) if place else ()), arguments.json)


def place_of(words: str) -> Path:
    """Read where to save; a path drops the slash by which its user means a folder."""
    path = Path(words)
    if words.endswith("/") and path.suffix and not path.is_dir():
        raise VgoError(f"--save {words} ends as a folder and is named as a file: leave out the slash or the ending.")
    return path
