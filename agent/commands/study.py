"""study: which thread settings make a parallel program steady, and at what cost."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from .options import add_cluster, add_manners, add_out, add_program, add_settings

if TYPE_CHECKING:
    from ...tools.study.laid_out import StudyScope
    from ..progress import Lines
    from ..settings import UserSettings
    from ..study import StudyRequest, StudyResult

EPILOG = """\
examples:
  vgo-agent study openmp --dry-run -- ./solver
  vgo-agent study openmp --rounds 60 --budget 1800 -- ./solver input.dat
  vgo-agent study openmp --factors binding,threads,wait -- ./solver
  vgo-agent study openmp --binary clang=./solver.clang --metric 'time: ([0-9.]+)' -- ./solver
  vgo-agent study openmp --subject-to 'mean<=1.05*best' -- ./solver
  vgo-agent study openmp --on slurm.yaml --rounds 80 -- ./solver

It varies binding, cores used and left to the system, SMT, wait policy, loop schedule, OpenMP runtime, kinds of cores,
memory nodes and jobs beside the program; what a machine or program does not have is skipped and said. Every round runs
every setting once in random order, the environment as given among them. Of those that are shown to vary less, and not
shown to vary more than the steadiest, the fastest (with --subject-to the steadiest that keeps to it) is run again
against the environment as given, and only what that confirms is recommended. The clock of each CPU is logged where it
can be read.
Give it a quiet machine. With --on each round is made on one of the hosts, which have to be alike.
--root DIR with --dry-run shows the settings for another machine, from a copy of its /sys.
"""
SETTINGS = ("budget", "timeout", "alpha", "root", "seed")
ROUNDS = 40


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare what can be studied."""
    parser.epilog = EPILOG
    kinds = parser.add_subparsers(dest="kind", metavar="KIND", title="kinds", required=True, prog=parser.prog)
    _openmp(
        kinds.add_parser("openmp", help="settings of OpenMP threads", description="Study settings of OpenMP threads.")
    )


def _openmp(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = f"{parser.prog} [OPTIONS] [--] COMMAND [ARGS...]"
    parser.epilog = EPILOG
    add_program(parser)
    study = parser.add_argument_group("the study")
    study.add_argument(
        "--rounds", type=int, default=ROUNDS, metavar="N", help=f"runs of each setting (default {ROUNDS})"
    )
    study.add_argument("--factors", metavar="A,B", default="", help="vary only these factors (default all)")
    study.add_argument(
        "--cross", metavar="A,B", default="", help="cross these factors (default binding,threads,smt,wait)"
    )
    study.add_argument(
        "--binary", metavar="NAME=PATH", action="append", default=[], help="another build of the program; repeatable"
    )
    study.add_argument("--design", type=Path, metavar="FILE.yaml", help="factors and levels of your own")
    study.add_argument("--most", type=int, metavar="N", help="settings at most (default 60)")
    study.add_argument(
        "--subject-to", metavar="EXPR", default="", help="recommend only what keeps to it: 'mean<=1.05*best', cv, sd"
    )
    study.add_argument("--dry-run", action="store_true", help="print the settings and what is skipped, run nothing")
    add_settings(parser, SETTINGS)
    add_cluster(parser)
    add_out(parser)
    add_manners(parser)


def run(arguments: argparse.Namespace) -> int:
    """Study."""
    from ..settings import effective

    settings, _ = effective(vars(arguments))
    asked = _asked(arguments, settings)
    if arguments.dry_run:
        return _dry_run(asked, arguments)
    return _answer(_begun(asked, settings, _lines(arguments, settings)), arguments)


def resume(folder: Path, arguments: argparse.Namespace, settings: UserSettings, more_s: float | None) -> int:
    """Go on with a study, or answer again."""
    from ..clock import BudgetClock
    from ..study import go_on
    from .subject import on_of

    lines, on = _lines(arguments, settings), on_of(arguments.on, settings)
    return _answer(go_on(folder, lines, BudgetClock(arguments.began_s), on, more_s), arguments)


def _lines(arguments: argparse.Namespace, settings: UserSettings) -> Lines:
    from ..progress import Lines

    return Lines("s", quiet=settings.quiet and not arguments.verbose, verbose=arguments.verbose)


def _begun(asked: StudyRequest, settings: UserSettings, lines: Lines) -> StudyResult:
    from ..study import begin
    from .subject import short_name

    return begin(asked, settings.out, short_name(asked.subject.command, asked.subject.shell), lines)


def _asked(arguments: argparse.Namespace, settings: UserSettings) -> StudyRequest:
    from ...knowledge.errors import VgoError
    from ...tools.subject import LOCAL
    from ..clock import BudgetClock
    from ..study import StudyRequest
    from .subject import subject_of

    if not 2 <= arguments.rounds <= 10_000:
        raise VgoError(f"--rounds {arguments.rounds} cannot show a spread: give 10 to 10000 (40 is the default).")
    if arguments.per_iteration:
        raise VgoError("A study judges whole runs: leave out --per-iteration, and name one number with --metric.")
    if arguments.shell and arguments.binary:
        raise VgoError("--binary takes the place of the program, which --shell hides: give COMMAND without --shell.")
    subject = subject_of(arguments, settings).model_copy(update={"launcher": LOCAL})
    return StudyRequest(
        subject=subject,
        wanted=_wanted(arguments),
        rounds=arguments.rounds,
        budget_s=settings.budget_s,
        seed=settings.seed,
        alpha=settings.alpha,
        clock=BudgetClock(arguments.began_s),
    )


def _wanted(arguments: argparse.Namespace) -> StudyScope:
    from ...tools.study.design import MOST, Wished
    from ...tools.study.factors import SHIPPED, read_factors
    from ...tools.study.laid_out import StudyScope

    wished = Wished(
        factors=_names(arguments.factors),
        cross=_names(arguments.cross),
        binaries=tuple(map(_binary, arguments.binary)),
        most=arguments.most or MOST,
        subject_to=arguments.subject_to,
    )
    return StudyScope(factors=read_factors(arguments.design or SHIPPED), wished=wished)


def _names(said: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in said.split(",") if name.strip()))


def _binary(said: str) -> tuple[str, str]:
    from ...knowledge.errors import VgoError
    from ...tools.execution.resolve import resolve

    name, equals, path = said.partition("=")
    if not (name and equals and path):
        raise VgoError(f"--binary {said} is not NAME=PATH: write --binary clang=./a.clang.")
    return name, resolve((path,))[0]


def _dry_run(asked: StudyRequest, arguments: argparse.Namespace) -> int:
    from ...knowledge.errors import VgoError
    from ..report.study import planned
    from ..terminal import answer

    if asked.subject.on:
        raise VgoError("--dry-run looks at this machine: leave --on out; `vgo-agent cluster check` looks at hosts.")
    root = Path(asked.subject.root)
    design = asked.wanted.laid_out(asked.subject.argv, root, elsewhere=root != Path("/"))
    settings = [one.model_dump(mode="json") | {"told": one.told()} for one in design.settings]
    values = {"machine": design.machine, "settings": settings, "skipped": [one.model_dump() for one in design.skipped]}
    answer(values, planned(design, asked.rounds), arguments.json)
    return 0


def _answer(studied: StudyResult, arguments: argparse.Namespace) -> int:
    from ..report.study import summary, text
    from ..report.study_files import save
    from ..terminal import answer

    files = save(studied)
    answer(summary(studied, files), text(studied), arguments.json)
    return 0
