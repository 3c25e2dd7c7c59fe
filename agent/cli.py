"""The command line: choose a command, run it, turn errors into exit codes.

`vgo-agent --help` must cost little more than Python itself, so nothing heavy is imported here or in `configure`.
"""

from __future__ import annotations

import argparse
import errno
import sys
from collections.abc import Sequence
from importlib import import_module

from ..knowledge.errors import VgoError
from .commands import COMMANDS, Command
from .terminal import columns, printable

DESCRIPTION = "Find why some runs of a program are slow, and prove what makes them stop."
EXIT_CODES = """\
exit codes:
  0    an answer: any verdict but `insufficient data`; a check that passed
  1    one line on standard error says what is wrong and what cures it;
       also `insufficient data`, and a check that found something
  2    the command line is not understood
  130  Ctrl-C (a diagnosis goes on with `vgo-agent resume RUN`)
  128+N  ended by signal N; 141 when the reader of the output has gone
"""
EXAMPLE = "example:\n  vgo-agent diagnose ./bench.sh\n\n`vgo-agent COMMAND --help` says more."


class Parser(argparse.ArgumentParser):
    """Options are never abbreviated, so that a new one cannot change what an old script means."""

    def __init__(self, *, prog: str | None = None, description: str | None = None, **rest: object) -> None:
        """Keep line breaks of descriptions and examples."""
        super().__init__(prog=prog, description=description, allow_abbrev=False, formatter_class=_formatter)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code."""
    try:
        return _run(sys.argv[1:] if argv is None else list(argv))
    except KeyboardInterrupt:  # before a command had begun
        return 130
    except BrokenPipeError:
        _drop_output()
        return 141


def _run(words: list[str]) -> int:
    command = COMMANDS.get(words[0]) if words else None
    if command is None:
        return _overview(words)
    parser = Parser(prog=f"vgo-agent {command.name}", description=sentence(command))
    module = import_module(command.module)
    module.configure(parser)
    parse = parser.parse_intermixed_args if getattr(module, "MIXED", False) else parser.parse_args
    arguments = parse(words[1:])
    try:
        status: int = module.run(arguments)
        return status
    except VgoError as error:
        return _ended(str(error), error, arguments, 1)
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        return _ended(
            f"{str(error.filename)[:40]}... is too long for the name of a file: correct it.", error, arguments, 1
        )
    except KeyboardInterrupt as error:
        return _ended("stopped by Ctrl-C.", error, arguments, 130)


def _overview(words: list[str]) -> int:
    """Answer a command line without a command."""
    parser = overview()
    if words and not words[0].startswith("-"):
        parser.error(f"there is no command {printable(words[0])!r}{_meant(words[0])}")
    arguments = parser.parse_args(words)
    if arguments.version:
        from importlib.metadata import version

        print(f"vgo-agent {version('vgo-agent')}")
        return 0
    parser.print_help(sys.stderr)
    return 2


def overview() -> Parser:
    """Make the parser of a command line without a command."""
    parser = Parser(prog="vgo-agent", description=DESCRIPTION)
    parser.usage = "vgo-agent COMMAND [OPTIONS] ..."
    lines = [f"  {command.name:<13}{command.words}" for command in COMMANDS.values()]
    parser.epilog = "\n".join(["commands:", *lines, "", EXIT_CODES, EXAMPLE])
    parser.add_argument("--version", action="store_true", help="show the version and exit")
    return parser


def sentence(command: Command) -> str:
    """Describe a command in its own help."""
    return f"{command.words[0].upper()}{command.words[1:]}."


def _ended(why: str, error: BaseException, arguments: argparse.Namespace, status: int) -> int:
    """Say in one line why there is no answer."""
    if getattr(arguments, "verbose", False):
        import traceback

        traceback.print_exception(error)
    print(f"vgo-agent: {printable(why)}", file=sys.stderr)
    if getattr(arguments, "json", False):
        import json

        print(json.dumps({"error": why}), flush=True)
    return status


def _meant(name: str) -> str:
    import difflib

    close = difflib.get_close_matches(name, COMMANDS, n=1)
    return f"; did you mean {close[0]}?" if close else ""


def _drop_output() -> None:
    """Send what is left to nowhere: Python flushes standard output once more at its end, which would fail again."""
    import os

    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


def _formatter(prog: str) -> argparse.HelpFormatter:
    # Given a width, argparse does not import shutil to find one.
    return argparse.RawDescriptionHelpFormatter(prog, max_help_position=28, width=columns() - 2)
