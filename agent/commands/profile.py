"""profile: run a command with metric layers on, and nothing else."""

from __future__ import annotations

import argparse

from .measure import add_save, carry_out
from .options import add_cluster, add_manners, add_out, add_program, add_settings

EPILOG = """\
examples:
  vgo-agent profile --save t.csv ./bench.sh && vgo-agent analyze t.csv
  vgo-agent profile --layer process --layer strace --runs 60 ./bench.sh
  vgo-agent profile --layer all --json -- python bench.py

Light layers are on in every profiled run, heavy ones in turn, two at most; bare runs between them, in random order,
show what the layers themselves do to the program. `vgo-agent layers` lists what there is. Ctrl-C ends it with the runs
so far. Every run is kept in a run folder below --out, which `vgo-agent resume` goes on with; --save FILE.csv,
FILE.parquet or FOLDER keeps a table where you want it, with a page that describes the columns. analyze reads both.
"""
SETTINGS = ("budget", "timeout", "on-failure", "layer", "launcher", "root", "seed")
RUNS = 100


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_program(parser)
    parser.add_argument(
        "--runs", type=int, default=RUNS, metavar="N", help=f"runs with each set of layers that is on (default {RUNS})"
    )
    add_settings(parser, SETTINGS)
    add_cluster(parser)
    add_save(parser)
    add_out(parser)
    add_manners(parser)


def run(arguments: argparse.Namespace) -> int:
    """Profile."""
    from ...knowledge.errors import VgoError
    from ...tools.layers_here import named
    from ..settings import effective
    from ..step import StepRequest
    from .subject import subject_of

    if arguments.runs < 2:
        raise VgoError(f"--runs {arguments.runs} shows no spread; give at least 2.")
    settings, _ = effective(vars(arguments))
    named(settings.layers)  # a layer that does not exist is told before the first run
    request = StepRequest(
        subject=subject_of(arguments, settings),
        limits=settings.limits(),
        kind="profile",
        arguments={"layers": settings.layers, "runs": arguments.runs, "max_seconds": settings.budget_s},
        why="read counters around each run",
    )
    return carry_out(request, settings, arguments)
