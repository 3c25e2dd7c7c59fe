"""study: which thread settings make a parallel program steady, and at what cost."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from .ending import give_shown
from .options import add_cluster, add_manners, add_out, add_program, add_settings, words

if TYPE_CHECKING:
    from ...tools.study.design import StudyScope
    from ..settings import UserSettings
    from ..study import StudyOptions

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
    kinds = parser.add_subparsers(dest="kind", metavar="KIND", title="kinds", required=True, prog=parser.prog)
    _openmp(
        kinds.add_parser("openmp", help="settings of OpenMP threads", description="Study settings of OpenMP threads.")
    )


def _openmp(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
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
    options, scope = _options(arguments, settings), _scope(arguments)
    if arguments.dry_run:
        return _dry_run(options, scope, arguments)
    from ..clock import BudgetClock
    from ..live_view import watching
    from ..study import begin
    from .subject import short_name

    name, clock = short_name(options.subject.command, options.subject.shell), BudgetClock(arguments.began_s)
    with watching(settings.quiet, arguments, options.subject.unit) as interface:
        ended = begin(options, scope, settings.out, name, interface, clock)
    return give_shown(ended.shown(), arguments.json)


def _options(arguments: argparse.Namespace, settings: UserSettings) -> StudyOptions:
    from ...knowledge.errors import VgoError
    from ...tools.subject import LOCAL
    from ..study import StudyOptions
    from .subject import subject_of

    if not 2 <= arguments.rounds <= 10_000:
        raise VgoError(f"--rounds {arguments.rounds} cannot show a spread: give 10 to 10000 (40 is the default).")
    if arguments.per_iteration:
        raise VgoError("A study judges whole runs: leave out --per-iteration, and name one number with --metric.")
    if arguments.shell and arguments.binary:
        raise VgoError("--binary takes the place of the program, which --shell hides: give COMMAND without --shell.")
    return StudyOptions(
        subject=subject_of(arguments, settings).model_copy(update={"launcher": LOCAL}),
        rounds=arguments.rounds,
        budget_s=settings.budget_s,
        seed=settings.seed,
        alpha=settings.alpha,
    )


def _scope(arguments: argparse.Namespace) -> StudyScope:
    from ...tools.study.design import MOST, StudyScope, Wished
    from ...tools.study.factors import SHIPPED, read_factors

    wished = Wished(
        factors=words(arguments.factors),
        cross=words(arguments.cross),
        binaries=tuple(map(_binary, arguments.binary)),
        most=arguments.most or MOST,
        subject_to=arguments.subject_to,
    )
    return StudyScope(factors=read_factors(arguments.design or SHIPPED), wished=wished)


def _binary(said: str) -> tuple[str, str]:
    from ...knowledge.errors import VgoError
    from ...tools.execution.resolve import resolve

    name, equals, path = said.partition("=")
    if not (name and equals and path):
        raise VgoError(f"--binary {said} is not NAME=PATH: write --binary clang=./a.clang.")
    return name, resolve((path,))[0]


def _dry_run(options: StudyOptions, scope: StudyScope, arguments: argparse.Namespace) -> int:
    from ...knowledge.errors import VgoError
    from ..report.study import planned
    from ..terminal import answer

    subject = options.subject
    if subject.on:
        raise VgoError("--dry-run looks at this machine: leave --on out; `vgo-agent cluster check` looks at hosts.")
    root = Path(subject.root)
    design = scope.laid_out(subject.argv, root, elsewhere=root != Path("/"))
    settings = [one.model_dump(mode="json") | {"told": one.told()} for one in design.settings]
    values = {"machine": design.machine, "settings": settings, "skipped": [one.model_dump() for one in design.skipped]}
    answer(values, planned(design, options.rounds), arguments.json)
    return 0
