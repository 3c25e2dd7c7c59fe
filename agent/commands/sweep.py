"""sweep: run a command over a space of settings, in random rounds, each cell until its spread is known."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...knowledge.errors import VgoError
from ..sweep.options import OfSweep
from .options import Answering, OfProgram, OnHosts, option, words

if TYPE_CHECKING:
    from ...tools.study.design import StudyScope
    from ..settings import UserSettings
    from ..study import StudyOptions

_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*=")


@dataclass(frozen=True, kw_only=True)
class SweepCommand(OfSweep):
    """Run a command over a space of settings, in random rounds, each cell until its spread is known."""

    EPILOG = """\
examples:
  vgo-agent sweep fio
  vgo-agent sweep fio --dry-run
  vgo-agent sweep threads -- ./solver --size 10
  vgo-agent sweep 'size=1000,2000,4000 affinity=0,0+1 OMP_WAIT_POLICY=active,passive' -- ./solver --size '{size}'
  vgo-agent sweep space.yaml --design lhs --cells 40 --budget 3600 -- ./bench.sh --block '{block}' --jobs '{jobs}'
  vgo-agent sweep threads --on tcp://10.0.0.1:8786 -- ./solver --size 10
  vgo-agent sweep space.yaml --design adaptive --response cv --json -- ./bench.sh '{block}'

SPACE is a YAML file, or the name of one that ships (cpu, fio, fio-modes, threads): parameters with levels or a range,
and where each goes; also, where the command line does not say them, command, shell, metric, unit and higher_is_better.
`{name}` in COMMAND stands for a level; a parameter may also go to a variable, CPUs, threads, clock, disk scheduler, a
quota or memory limit of a control group, or a mitigation. SPACE may also be the levels themselves, as in the fourth
example, in one word or several: names that stand in COMMAND, or threads, affinity, frequency, scheduler, cpu_quota,
memory, a VARIABLE, or a parameter of a mitigation (omp_threads.threads=1,2). A cell is a combination of levels. All
cells run in rounds, in another random order each time, until the SD of each is known well enough; what is impossible
here is kept as failed, with the reason. Where one was stopped or killed, the same command or `vgo-agent resume` on its
folder goes on; with the command, its limits may be others. `vgo-agent sweep openmp --help` tells of thread settings
that are laid out from this machine. runs.csv in the folder is a run table, in which parameters are settings: analyze
and compare read it. With --on each round is made on one host, and rounds are dealt to all in random order, so that
cells are compared within hosts.
"""
    USAGE = "SPACE [OPTIONS] [--] [COMMAND [ARGS...]]"
    WORDS = {"command": "the program and its arguments (default: the one of SPACE)"}
    SETTINGS = ("allow", "budget", "timeout", "min-runs", "max-runs", "layer", "launcher", "root", "seed", "out")

    @classmethod
    def begins_program(cls, places: Sequence[str], word: str) -> bool:
        """Every NAME=LEVELS before the program is a part of SPACE."""
        from ...tools.sweep.space import is_inline

        return bool(places) and not (is_inline(" ".join(places)) and _PARAMETER.match(word))

    def run(self) -> int:
        """Sweep."""
        if self.space == ("openmp",):
            raise VgoError("openmp stands before the options: write `vgo-agent sweep openmp [OPTIONS] -- COMMAND`.")
        from ..settings import effective
        from ..sweep.request import sweep_request

        settings, origins = effective(self.flags)
        request, folder = sweep_request(self, settings, origins)
        if self.dry_run:
            from ..sweep.request import preview, words

            shown = preview(request, folder)
            return self.answer(shown, words(shown))
        from ..sweep.conduct import begin

        unit = request.subject.unit
        ended = self.watched(settings, unit, lambda interface, clock: begin(request, folder, interface, clock))
        return self.answer(*ended.shown())


ROUNDS = 40


@dataclass(frozen=True, kw_only=True)
class StudyCommand(OfProgram, OnHosts, Answering):
    """Which thread settings make a parallel program steady, and at what cost."""

    EPILOG = """\
examples:
  vgo-agent sweep openmp --dry-run -- ./solver
  vgo-agent sweep openmp --rounds 60 --budget 1800 -- ./solver input.dat
  vgo-agent sweep openmp --factors binding,threads,wait -- ./solver
  vgo-agent sweep openmp --binary clang=./solver.clang --metric 'time: ([0-9.]+)' -- ./solver
  vgo-agent sweep openmp --subject-to 'mean<=1.05*best' -- ./solver
  vgo-agent sweep openmp --on slurm.yaml --rounds 80 -- ./solver

It varies binding, cores used and left to the system, SMT, wait policy, loop schedule, OpenMP runtime, kinds of cores,
memory nodes and jobs beside the program; what a machine or program does not have is skipped and said. Every round runs
every setting once in random order, the environment as given among them. Of those that are shown to vary less, the
fastest than which no other is shown to vary less without taking longer (with --subject-to the steadiest that keeps to
it) is run again against the environment as given, and only what that confirms is recommended. It may cost time: where
another setting is shown to have a better mean, the answer names it with the ratio, and --subject-to 'mean<=1.05*best'
recommends only what is about as fast as the best. The clock of each CPU is logged where it can be read.
Give it a quiet machine. With --on each round is made on one of the hosts, which have to be alike.
--root DIR with --dry-run shows the settings for another machine, from a copy of its /sys.
"""
    GROUP = "the study"
    SETTINGS = ("budget", "timeout", "alpha", "root", "seed", "out")

    rounds: int = option(
        f"runs of each setting (default {ROUNDS})",
        ROUNDS,
        metavar="N",
        allowed=lambda rounds: 2 <= rounds <= 10_000,
        refused="cannot show a spread: give 10 to 10000 (40 is the default)",
    )
    factors: str = option("vary only these factors (default all)", "", metavar="A,B")
    cross: str = option("cross these factors (default binding,threads,smt,wait)", "", metavar="A,B")
    binary: tuple[str, ...] = option("another build of the program; repeatable", (), metavar="NAME=PATH")
    design: Path | None = option("factors and levels of your own", metavar="FILE.yaml")
    most: int | None = option("settings at most (default 60)", metavar="N")
    subject_to: str = option("recommend only what keeps to it: 'mean<=1.05*best', cv, sd", "", metavar="EXPR")
    dry_run: bool = option("print the settings and what is skipped, run nothing", False)

    def run(self) -> int:
        """Study."""
        settings = self.in_force()
        options, scope = _options(self, settings), _scope(self)
        if self.dry_run:
            return _dry_run(options, scope, self)
        from ..study import begin
        from .subject import short_name

        name = short_name(options.subject.command, options.subject.shell)
        ended = self.watched(
            settings,
            options.subject.unit,
            lambda interface, clock: begin(options, scope, settings.out, name, interface, clock),
        )
        return self.answer(*ended.shown())


def _options(command: StudyCommand, settings: UserSettings) -> StudyOptions:
    from ...knowledge.errors import VgoError
    from ...tools.subject import LOCAL
    from ..study import StudyOptions
    from .subject import refuse_samples, subject_of

    refuse_samples(command, "A study")
    if command.shell and command.binary:
        raise VgoError("--binary takes the place of the program, which --shell hides: give COMMAND without --shell.")
    return StudyOptions(
        subject=subject_of(command, settings).model_copy(update={"launcher": LOCAL}),
        rounds=command.rounds,
        budget_s=settings.budget_s,
        seed=settings.seed,
        alpha=settings.alpha,
    )


def _scope(command: StudyCommand) -> StudyScope:
    from ...tools.study.design import MOST, StudyScope, Wished
    from ...tools.study.factors import SHIPPED, read_factors

    wished = Wished(
        factors=words(command.factors),
        cross=words(command.cross),
        binaries=tuple(map(_binary, command.binary)),
        most=command.most or MOST,
        subject_to=command.subject_to,
    )
    return StudyScope(factors=read_factors(command.design or SHIPPED), wished=wished)


def _binary(said: str) -> tuple[str, str]:
    from ...knowledge.errors import VgoError
    from ...tools.execution.launch import resolve

    name, equals, path = said.partition("=")
    if not (name and equals and path):
        raise VgoError(f"--binary {said} is not NAME=PATH: write --binary clang=./a.clang.")
    return name, resolve((path,))[0]


def _dry_run(options: StudyOptions, scope: StudyScope, command: StudyCommand) -> int:
    from ...knowledge.errors import VgoError
    from ..report.study import planned

    subject = options.subject
    if subject.on:
        raise VgoError("--dry-run looks at this machine: leave --on out; `vgo-agent layers --on` looks at hosts.")
    root = Path(subject.root)
    design = scope.laid_out(subject.argv, root, elsewhere=root != Path("/"))
    settings = [one.model_dump(mode="json") | {"told": one.shell_words()} for one in design.settings]
    values = {"machine": design.machine, "settings": settings, "skipped": [one.model_dump() for one in design.skipped]}
    return command.answer(values, planned(design, options.rounds))
