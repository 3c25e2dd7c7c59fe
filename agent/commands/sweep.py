"""sweep: run a command over a space of settings, in random rounds, each cell until its spread is known."""

from __future__ import annotations

import argparse
import re

from .ending import give_shown
from .options import add_experiment, add_program
from .try_ import options_after

EPILOG = """\
examples:
  vgo-agent sweep fio
  vgo-agent sweep fio --dry-run
  vgo-agent sweep threads -- ./solver --size 10
  vgo-agent sweep 'size=1000,2000,4000 affinity=0,0+1 OMP_WAIT_POLICY=active,passive' -- ./solver --size '{size}'
  vgo-agent sweep space.yaml --design lhs --cells 40 --budget 3600 -- ./bench.sh --block '{block}' --jobs '{jobs}'
  vgo-agent sweep threads --on tcp://10.0.0.1:8786 -- ./solver --size 10
  vgo-agent sweep space.yaml --design adaptive --response cv --json -- ./bench.sh '{block}'

SPACE is a YAML file, or the name of one that ships (cpu, fio, threads): parameters with levels or a range, and where
each goes. `{name}` in COMMAND stands for a level; a parameter may also go to a variable, CPUs, threads, clock, disk
scheduler, a quota or memory limit of a control group, or a mitigation. SPACE may also be the levels themselves, as in
the fourth example, in one word or several: names that stand in COMMAND, or threads, affinity, frequency, scheduler,
cpu_quota, memory, a VARIABLE, or a parameter of a mitigation (omp_threads.threads=1,2). A cell is a combination of
levels. All cells run in rounds, in another random order each time, until the SD of each is known well enough; what is
impossible here is kept as failed, with the reason. Where one was stopped or killed, the same command or `vgo-agent
resume` on its folder goes on; with the command, its limits may be others.
runs.csv in the folder is a run table, in which parameters are settings: analyze, compare and power read it. With --on
each round is made on one host, and rounds are dealt to all in random order, so that cells are compared within hosts.
"""
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*=")
SETTINGS = ("allow", "budget", "timeout", "min-runs", "max-runs", "layer", "launcher", "root", "seed")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = f"{parser.prog} SPACE [OPTIONS] [--] [COMMAND [ARGS...]]"
    parser.add_argument(
        "space", metavar="SPACE", help="a YAML file, the name of one that ships, or 'NAME=LEVEL,LEVEL ...'"
    )
    add_program(parser, "default: the one of SPACE", "also in SPACE", samples=False)
    _add_design(parser)
    parser.add_argument("--dry-run", action="store_true", help="print cells and all that each changes, touch nothing")
    parser.add_argument("--name", metavar="NAME", help="name of the folder, sweep-NAME below --out (default: of SPACE)")
    add_experiment(parser, SETTINGS)


def _add_design(parser: argparse.ArgumentParser) -> None:
    design = parser.add_argument_group("the design", "also in SPACE")
    design.add_argument(
        "--design",
        choices=("grid", "lhs", "adaptive"),
        help="every combination, a Latin hypercube, or new cells where a Gaussian process says (default grid)",
    )
    design.add_argument("--cells", type=int, metavar="N", help="cells of lhs, and of adaptive at most (default 20)")
    design.add_argument(
        "--response",
        choices=("sd", "cv", "mean", "median", "p95", "p99"),
        help="what adaptive looks at, and the report draws (default sd)",
    )
    design.add_argument(
        "--seek",
        choices=("best", "unknown"),
        help="adaptive goes where the response may be best, or where it is least known (default best)",
    )
    design.add_argument("--within", type=float, metavar="F", help="factor within which the SD is known (default 1.25)")
    design.add_argument("--runs", type=int, metavar="N", help="runs to spend over all cells")


def run(arguments: argparse.Namespace) -> int:
    """Sweep."""
    _space_in_words(arguments)
    from ..settings import effective
    from ..sweep.request import sweep_request

    settings, origins = effective(vars(arguments))
    request, folder = sweep_request(arguments, settings, origins)
    if arguments.dry_run:
        from ..sweep.files import preview, words
        from ..terminal import answer

        shown = preview(request, folder)
        answer(shown, words(shown), arguments.json)
        return 0
    from ..clock import BudgetClock
    from ..live_view import watching
    from ..sweep.conduct import begin

    with watching(settings.quiet, arguments, request.subject.unit) as interface:
        ended = begin(request, folder, interface, BudgetClock(arguments.began_s))
    return give_shown(ended.shown(), arguments.json)


def _space_in_words(arguments: argparse.Namespace) -> None:
    """Take every NAME=LEVELS before the program for a part of SPACE, among options too."""
    from ...tools.sweep.inline import is_inline

    options_after(arguments, "space")
    while is_inline(arguments.space) and arguments.command and _PARAMETER.match(arguments.command[0]):
        arguments.space += f" {arguments.command[0]}"
        arguments.command = arguments.command[1:]
        options_after(arguments, "space")
