"""The command line: choose a command, run it, turn errors into exit codes.

`vgo-agent --help` must cost little more than Python itself, so nothing heavy is imported here or by a declaration.
"""

from __future__ import annotations

import errno
import sys
import time
from collections.abc import Sequence

from ..knowledge.errors import VgoError
from ..tools.ending_signals import came
from .began import process_began_s
from .commands import COMMANDS, SHOWN_FIRST, Subcommand
from .ending import say_stopped
from .terminal import drop_output, printable, terminal_gone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .commands.options import DeclaredCommand

USAGE = "vgo-agent COMMAND [OPTIONS] ..."
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


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code."""
    try:
        if argv is None:
            return _run(sys.argv[1:], process_began_s())
        return _run(list(argv), time.monotonic())
    except BrokenPipeError:
        drop_output(1)
        return 141
    except OSError as error:
        if error.errno != errno.EIO or not terminal_gone():
            raise
        drop_output(1, 2)
        return 129  # as if it had been told by SIGHUP


def _run(words: list[str], began_s: float) -> int:
    command, rest = chosen(words)
    if command is None:
        return _overview(words)
    from .parser import parser_of

    parsed = parser_of(command).parse_command(rest, began_s)
    try:
        _refuse_bytes(words)
        parsed.refuse()
        status = parsed.run()
    except BaseException as error:  # noqa: BLE001 - raised again, unless a signal ended the command
        if came():  # whatever else it looks like
            return _stopped(parsed)
        return _failed(error, parsed)
    if came():  # it has answered all the same, with what there was
        say_stopped()
    return status


def chosen(words: Sequence[str]) -> tuple[Subcommand | None, Sequence[str]]:
    """Find the command of one or two words, and what follows its name."""
    for count in (2, 1):
        if found := COMMANDS.get(" ".join(words[:count])):
            return found, words[count:]
    return None, ()


def _refuse_bytes(words: Sequence[str]) -> None:
    """Refuse an argument with bytes that no transcript and no report can hold."""
    for word in words:
        if any("\ud800" <= char <= "\udfff" for char in word):
            raise VgoError(
                f"{word!r} holds bytes that this locale cannot read; set LC_ALL=C.UTF-8, or use other names."
            )


def _failed(error: BaseException, command: DeclaredCommand) -> int:
    """Say why there is no answer; what no user can mend is raised again."""
    if isinstance(error, VgoError):
        return _ended(str(error), error, command, 1)
    if isinstance(error, OSError) and error.errno in _OF_A_PATH and error.filename is not None:
        return _ended(_path_refused(error), error, command, 1)
    raise error


def _stopped(command: DeclaredCommand) -> int:
    why = say_stopped()
    if getattr(command, "json", False):
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
    if words[:1] == ["--version"]:
        from importlib.metadata import version

        print(f"vgo-agent {version('vgo-agent')}")
        return 0
    if words and words[0] in ("-h", "--help"):
        print(overview(every="all" in words[1:]))
        return 0
    if not words:
        print(overview(), file=sys.stderr)
        return 2
    within = [command for name, command in COMMANDS.items() if name.startswith(f"{words[0]} ")]
    if within and words[1:2] in (["-h"], ["--help"]):
        print(described(within))
        return 0
    from .misspelt import instead

    try:
        why = f"there is no command {words[0]!r}; {instead(words)}"
    except VgoError as error:
        why = str(error)
    print(f"usage: {USAGE}\nvgo-agent: error: {printable(why)}", file=sys.stderr)
    return 2


def overview(every: bool = False) -> str:
    """Describe the commands that come first, or every one."""
    shown = list(COMMANDS.values())[: None if every else SHOWN_FIRST]
    more = "" if every else "\n\n`vgo-agent --help all` lists all commands."
    return f"usage: {USAGE}\n\n{DESCRIPTION}\n\n{described(shown)}{more}\n\n{EXIT_CODES}\n{EXAMPLE}"


def described(shown: Sequence[Subcommand]) -> str:
    """List commands with what they do."""
    return "\n".join(["commands:", *(f"  {command.name:<18}{command.words}" for command in shown)])


def _ended(why: str, error: BaseException, command: DeclaredCommand, status: int) -> int:
    if getattr(command, "verbose", False):
        import traceback

        traceback.print_exception(error)
    print(f"vgo-agent: {printable(why)}", file=sys.stderr)
    if getattr(command, "json", False):
        _say_in_json(why)
    return status


def _say_in_json(why: str) -> None:
    import json

    print(json.dumps({"error": why}), flush=True)
