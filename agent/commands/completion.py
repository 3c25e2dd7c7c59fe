"""completion: the script that completes commands and options in a shell."""

from __future__ import annotations

import argparse

EPILOG = """\
examples:
  vgo-agent completion bash > ~/.local/share/bash-completion/completions/vgo-agent
  vgo-agent completion zsh > ~/.zfunc/_vgo-agent
"""
FOLDERS = ("out", "run")
FILES = ("input", "command")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="the shell that will read it")


def run(arguments: argparse.Namespace) -> int:
    """Print the script."""
    import shtab

    from ..terminal import raw

    raw(shtab.complete(whole_parser(), shell=arguments.shell))
    return 0


def whole_parser() -> argparse.ArgumentParser:
    """Make the parser of all commands at once, which only completion needs."""
    from importlib import import_module

    from ..cli import overview, sentence
    from . import COMMANDS

    parser = overview()
    commands = parser.add_subparsers()
    for command in COMMANDS.values():
        part = commands.add_parser(command.name, help=command.words, description=sentence(command))
        import_module(command.module).configure(part)
        _complete_paths(part)
    return parser


def _complete_paths(parser: argparse.ArgumentParser) -> None:
    import shtab

    for action in parser._actions:  # argparse has no public way to list them; shtab does the same
        kinds = ((FOLDERS, shtab.DIRECTORY), (FILES, shtab.FILE))
        for kind in (kind for names, kind in kinds if action.dest in names):
            action.complete = kind  # type: ignore[attr-defined]
