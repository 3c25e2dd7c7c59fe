"""diagnose: the main job on a command of the user."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .ending import give
from .options import add_manners, add_program, add_settings

if TYPE_CHECKING:
    from ..session import Request
    from ..settings import Settings

EPILOG = """\
examples:
  vgo-agent diagnose ./bench.sh
  vgo-agent diagnose --metric 'time: ([0-9.]+) ms' --unit ms -- python bench.py --size 10
  vgo-agent diagnose --shell 'sort big.txt | uniq -c'

Options stand before COMMAND; everything after it belongs to the program, which gets no input and no terminal.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = f"{parser.prog} [OPTIONS] [--] COMMAND [ARGS...]"
    parser.epilog = EPILOG
    add_program(parser)
    add_settings(parser)
    add_manners(parser)


def run(arguments: argparse.Namespace) -> int:
    """Diagnose."""
    from ...tools.layer_choice import named
    from ...tools.plan import Plan
    from ..session import Request
    from ..settings import effective
    from .subject import short_name, subject_of
    from .trial import attended

    settings, _ = effective(vars(arguments))
    named(settings.layers)  # a layer that does not exist is told before the first run
    subject = subject_of(arguments, settings)
    name = short_name(subject.command, subject.shell)
    plan = Plan(attended=attended())
    request = Request(subject, settings.limits(), settings.out, name, settings.planner, plan)
    return carry_out(request, settings, arguments)


def carry_out(request: Request, settings: Settings, arguments: argparse.Namespace) -> int:
    """Diagnose, telling what goes on, and answer."""
    from ..progress import watching
    from ..session import diagnose

    with watching(settings.quiet, arguments, request.subject.unit) as interface:
        ending = diagnose(request, interface)
    return give(ending, arguments.json)
