"""The command line: choose a command, run it, turn errors into exit codes.

`vgo-agent --help` must cost little more than Python itself, so nothing heavy is imported here or in `configure`.
"""

from __future__ import annotations

import argparse
import errno
import sys
import time
from collections.abc import Sequence
from importlib import import_module

from ..knowledge.errors import VgoError
from ..tools.amount import LONGEST, MOST
from ..tools.ending_signals import came
from .began import process_began_s
from .commands import COMMANDS, Subcommand
from .ending import say_stopped
from .terminal import columns, printable, terminal_gone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

DESCRIPTION = "Find why some runs of a program are slow, and prove what makes them stop."
EXIT_CODES = """\
exit codes:
  0    an answer: any verdict but `unusable`; a check that passed
  1    one line on standard error says what is wrong and what cures it;
       also the verdict `unusable`, and a check that found something
  2    the command line is not understood
  130  Ctrl-C (what can go on is told with the command that does it)
  128+N  ended by signal N; 141 when the reader of the output has gone
"""
EXAMPLE = "examples:\n  vgo-agent demo\n  vgo-agent diagnose ./bench.sh\n\n`vgo-agent COMMAND --help` says more."


class Parser(argparse.ArgumentParser):
    """Options are never abbreviated, so that a new one cannot change what an old script means; numbers are bounded."""

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> object:
        """Refuse `--option=--`, of which argparse makes an empty list before Python 3.13."""
        if action.option_strings and action.nargs is None and arg_strings == ["--"]:
            raise argparse.ArgumentError(action, "expected one argument, and -- is none")
        if action.nargs == argparse.REMAINDER and arg_strings and not arg_strings[0].startswith("-"):
            self.refuse_own(arg_strings[1:])
        return super()._get_values(action, arg_strings)

    def refuse_own(self, words: Sequence[str]) -> None:
        """Refuse --dry-run after the program: whoever writes it there wants nothing to be run, and it would be."""
        if "--dry-run" in words and "--dry-run" in self._option_string_actions:
            self.error("--dry-run stands after the program: put it before, or write -- before a program that takes it")

    def error(self, message: str) -> NoReturn:
        """Say where the runs are listed to who has named none."""
        super().error(message + "; `vgo-agent runs` lists them" * message.endswith("required: RUN"))

    def __init__(self, *, prog: str | None = None, description: str | None = None, **rest: object) -> None:
        """Keep line breaks of descriptions and examples."""
        super().__init__(prog=prog, description=description, allow_abbrev=False, formatter_class=_formatter)
        self.register("type", int, _whole)
        self.register("type", float, _finite)


def _whole(text: str) -> int:
    """Read a whole number; stands for `type=int` in every parser."""
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number: write one, such as 40") from None
    if abs(number) > MOST:
        raise argparse.ArgumentTypeError(f"{number} is out of range: give at most {MOST}")
    return number


def _finite(text: str) -> float:
    """Read a number; stands for `type=float` in every parser."""
    try:
        number = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number: write one, such as 0.5") from None
    if not abs(number) <= LONGEST:
        raise argparse.ArgumentTypeError(f"{text} is out of range: give at most {LONGEST:g}")
    return number


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code."""
    try:
        if argv is None:
            return _run(sys.argv[1:], process_began_s())
        return _run(list(argv), time.monotonic())
    except BrokenPipeError:
        _drop_output(1)
        return 141
    except OSError as error:
        if error.errno != errno.EIO or not terminal_gone():
            raise
        _drop_output(1, 2)
        return 129  # as if it had been told by SIGHUP


def _run(words: list[str], began_s: float) -> int:
    command = COMMANDS.get(words[0]) if words else None
    if command is None:
        return _overview(words)
    parser = Parser(prog=f"vgo-agent {command.name}", description=sentence(command))
    module = import_module(command.module)
    parser.epilog = module.EPILOG
    module.configure(parser)
    parse = parser.parse_intermixed_args if getattr(module, "MIXED", False) else parser.parse_args
    arguments = parse(words[1:])
    arguments.began_s = began_s
    try:
        _refuse_bytes(words)
        status: int = module.run(arguments)
    except BaseException as error:  # noqa: BLE001 - raised again, unless a signal ended the command
        if came():  # whatever else it looks like
            return _stopped(arguments)
        return _failed(error, arguments)
    if came():  # it has answered all the same, with what there was
        say_stopped()
    return status


def _refuse_bytes(words: Sequence[str]) -> None:
    """Refuse an argument with bytes that no transcript and no report can hold."""
    for word in words:
        if any("\ud800" <= char <= "\udfff" for char in word):
            raise VgoError(
                f"{word!r} holds bytes that this locale cannot read; set LC_ALL=C.UTF-8, or use other names."
            )


def _failed(error: BaseException, arguments: argparse.Namespace) -> int:
    """Say why there is no answer; what no user can mend is raised again."""
    if isinstance(error, VgoError):
        return _ended(str(error), error, arguments, 1)
    if isinstance(error, OSError) and error.errno in _OF_A_PATH and error.filename is not None:
        return _ended(_path_refused(error), error, arguments, 1)
    raise error


def _stopped(arguments: argparse.Namespace) -> int:
    """Say that a signal ended it."""
    why = say_stopped()
    if getattr(arguments, "json", False):
        _say_in_json(why)
    return 128 + came()


_OF_A_PATH = (errno.ENAMETOOLONG, errno.EISDIR, errno.ENOTDIR, errno.EACCES, errno.ELOOP, errno.EROFS)
"""What is wrong with a path is for the user to mend, wherever it is found."""


def _path_refused(error: OSError) -> str:
    name = str(error.filename)
    if error.errno == errno.ENAMETOOLONG:
        return f"{name[:40]}... is too long for the name of a file: correct it."
    return f"{name} cannot be used ({error.strerror}): correct the path, or mend what lies there."


def _overview(words: list[str]) -> int:
    """Answer a command line without a command."""
    parser = overview()
    if words and not words[0].startswith("-"):
        from .misspelt import instead

        try:
            parser.error(f"there is no command {printable(words[0])!r}; {printable(instead(words))}")
        except VgoError as error:
            parser.error(printable(str(error)))
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


def sentence(command: Subcommand) -> str:
    """Describe a command in its own help."""
    return f"{command.words[0].upper()}{command.words[1:]}."


def _ended(why: str, error: BaseException, arguments: argparse.Namespace, status: int) -> int:
    """Say in one line why there is no answer."""
    if getattr(arguments, "verbose", False):
        import traceback

        traceback.print_exception(error)
    print(f"vgo-agent: {printable(why)}", file=sys.stderr)
    if getattr(arguments, "json", False):
        _say_in_json(why)
    return status


def _say_in_json(why: str) -> None:
    import json

    print(json.dumps({"error": why}), flush=True)


def _drop_output(*streams: int) -> None:
    """Send what is left to nowhere: Python flushes its streams once more at its end, which would fail again."""
    import os

    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in streams:
        os.dup2(nowhere, stream)
    os.close(nowhere)


def _formatter(prog: str) -> argparse.HelpFormatter:
    # Given a width, argparse does not import shutil to find one.
    return argparse.RawDescriptionHelpFormatter(prog, max_help_position=28, width=columns() - 2)
