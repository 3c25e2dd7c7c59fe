"""measure: run a command until its spread is known, and nothing else."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ...knowledge.errors import VgoError
from ..terminal import answer, speaks_unicode
from .options import add_cluster, add_manners, add_out, add_program, add_settings

if TYPE_CHECKING:
    from ..settings import UserSettings
    from ..step import StepRequest, StepResult

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
    parser.usage = f"{parser.prog} [OPTIONS] [--] COMMAND [ARGS...]"
    parser.epilog = EPILOG
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
        tool="measure",
        arguments={"max_runs": settings.max_runs, "max_seconds": settings.budget_s},
        why="run until it is enough",
    )
    return carry_out(request, settings, arguments)


def carry_out(request: StepRequest, settings: UserSettings, arguments: argparse.Namespace) -> int:
    """Run one step, tell what goes on, save and answer; one that was cut short does so too before it ends as it was."""
    from ..clock import BudgetClock
    from ..save import refuse
    from ..step import begin
    from ..watching import watching
    from .subject import short_name

    place = place_of(arguments.save) if arguments.save else None
    if place:
        refuse(place)
    subject = request.subject
    name, clock = short_name(subject.command, subject.shell), BudgetClock(arguments.began_s)
    with watching(settings.quiet, arguments, subject.unit) as interface:
        stepped = begin(request, settings.out, name, interface, clock)
    return _answered(stepped, place, arguments)


def resume(folder: Path, arguments: argparse.Namespace, settings: UserSettings, more_s: float | None) -> int:
    """Go on with a step, or answer again."""
    from ..clock import BudgetClock
    from ..step import go_on, read
    from ..watching import watching
    from .subject import on_of

    on, clock = on_of(arguments.on, settings), BudgetClock(arguments.began_s)
    with watching(settings.quiet, arguments, read(folder).subject.unit) as interface:
        stepped = go_on(folder, interface, clock, on, more_s)
    return _answered(stepped, None, arguments)


def _answered(stepped: StepResult, place: Path | None, arguments: argparse.Namespace) -> int:
    from ..report.step import summary, text
    from ..save import keep, save

    keep(stepped)
    saved = save(stepped, place) if place else ()
    answer(summary(stepped, saved), text(stepped, saved, speaks_unicode(sys.stdout)), arguments.json)
    return 0


def place_of(words: str) -> Path:
    """Read where to save; a path drops the slash by which its user means a folder."""
    path = Path(words)
    if words.endswith("/") and path.suffix and not path.is_dir():
        raise VgoError(f"--save {words} ends as a folder and is named as a file: leave out the slash or the ending.")
    return path
