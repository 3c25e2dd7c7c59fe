"""From the words of a command line to the options that a command declares."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import MISSING, Field, fields
from functools import partial
from pathlib import Path

from ..tools.amount import LONGEST, MOST
from .commands.options import DeclaredCommand
from .commands.setting_options import SETTINGS
from .terminal import columns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from .commands import Subcommand

OURS = ("place", "allowed", "refused", "group", "exclusive", "short")
"""What a declaration says beside what argparse takes."""


def _whole(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number: write one, such as 40") from None
    if abs(number) > MOST:
        raise argparse.ArgumentTypeError(f"{number} is out of range: give at most {MOST}")
    return number


def _finite(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number: write one, such as 0.5") from None
    if not abs(number) <= LONGEST:
        raise argparse.ArgumentTypeError(f"{text} is out of range: give at most {LONGEST:g}")
    return number


TYPES = {"int": int, "float": float, "Path": Path}
"""What is read, by the annotation of a field; anything else is text."""


class Parser(argparse.ArgumentParser):
    """Options are never abbreviated, so that a new one cannot change what an old script means; numbers are bounded."""

    def __init__(self, prog: str, description: str, command: type[DeclaredCommand]) -> None:
        """Keep line breaks of descriptions and examples."""
        # Given a width, argparse does not import shutil to find one.
        formatter = partial(argparse.RawDescriptionHelpFormatter, max_help_position=28, width=columns() - 2)
        super().__init__(
            prog=prog, description=description, epilog=command.EPILOG, allow_abbrev=False, formatter_class=formatter
        )
        self.usage = f"{prog} {command.USAGE}" if command.USAGE else None
        self.register("type", int, _whole)
        self.register("type", float, _finite)
        self.command = command
        self.declared: list[argparse.Action] = []
        """In the order of the help."""
        self._titled: dict[str, Any] = {}
        declared = {one.name: one for one in fields(command) if one.metadata}
        for one in sorted(declared.values(), key=lambda one: one.name == "command"):
            if one.metadata.get("place"):
                self._add_place(one)
        for owner in command.__mro__:
            for name in vars(owner).get("__annotations__", ()):
                if name in declared and not (one := declared.pop(name)).metadata.get("place"):
                    self._add_option(one, vars(owner).get("GROUP", ""))
        voice = ("quiet",) if any(one.name == "verbose" for one in fields(command)) else ()
        self._settings = [self._add_setting(flag) for flag in dict.fromkeys((*command.SETTINGS, *voice))]
        self._nargs = {flag: action.nargs for action in self.declared for flag in action.option_strings}

    def _add_place(self, one: Field[Any]) -> None:
        absent = one.default is not MISSING
        more: dict[str, Any] = {"default": one.default} if absent else {}
        if one.type in TYPES:
            more["type"] = TYPES[one.type]
        if one.type.startswith("tuple"):
            more["nargs"] = "*" if absent else "+"
        elif absent:
            more["nargs"] = "?"
        self._add(self, one.name, **(more | dict(one.metadata)))

    def _add_option(self, one: Field[Any], group: str) -> None:
        kind, more = one.type.removesuffix(" | None"), dict(one.metadata)
        if "action" not in more and kind.startswith("bool"):
            more["action"] = "store_true"
        elif "action" not in more:
            more |= {"action": "append"} if kind.startswith("tuple") and "nargs" not in more else {}
            more |= {"type": TYPES[kind]} if kind in TYPES and "type" not in more else {}
        flags = [*([more["short"]] if "short" in more else []), f"--{one.name.replace('_', '-')}"]
        self._add(
            self._group(more.get("group", group), more.get("exclusive")), *flags, default=argparse.SUPPRESS, **more
        )

    def _add_setting(self, flag: str) -> str:
        more = SETTINGS[flag]
        flags = [*([more["short"]] if "short" in more else []), f"--{flag}"]
        title = "" if flag in ("out", "quiet") else "settings"
        return self._add(self._group(title, more.get("exclusive")), *flags, default=argparse.SUPPRESS, **more).dest

    def _group(self, title: str, exclusive: str | None) -> Any:
        target: Any = self
        if title:
            also = "also in the settings file and the environment: `vgo-agent config`" if title == "settings" else None
            target = self._titled.get(title) or self._titled.setdefault(title, self.add_argument_group(title, also))
        if exclusive:
            together = self._titled.get(exclusive) or target.add_mutually_exclusive_group()
            return self._titled.setdefault(exclusive, together)
        return target

    def _add(self, target: Any, *names: str, **more: Any) -> argparse.Action:
        more = {name: value for name, value in more.items() if name not in OURS}
        more["help"] = self.command.WORDS.get(names[-1].lstrip("-"), more["help"])
        self.declared.append(action := target.add_argument(*names, **more))
        made: argparse.Action = action
        return made

    def parse_command(self, words: Sequence[str], began_s: float = 0.0) -> DeclaredCommand:
        """Read a command line; our options may stand anywhere before the program."""
        flags, places, program = self._split(list(words))
        if places and not any(one.metadata.get("place") for one in fields(self.command)):
            self.error(f"unrecognized arguments: {' '.join(places)}")
        found = vars(self.parse_args([*flags, *(["--", *places] if places else [])]))
        if program is not None:
            found["command"] = program
        absent = {action.dest: action.default for action in self.declared}
        typed = frozenset(name for name, value in found.items() if value is not absent[name])
        settings = {key: found.pop(key) for key in self._settings if key in found}
        values = {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}
        return self.command(flags=settings, typed=typed, began_s=began_s, **values)

    def _split(self, words: list[str]) -> tuple[list[str], list[str], list[str] | None]:
        """Part options, words of ours, and the program; None where none is named."""
        flags, places, at = list[str](), list[str](), 0
        runs_program = any(one.name == "command" for one in fields(self.command))
        while at < len(words):
            word, rest = words[at], words[at + 1 :]
            if word == "--":
                return (flags, places, rest) if runs_program else (flags, [*places, *rest], None)
            if word[:1] == "-" and word[1:2] and not word[1].isdigit():
                taken = self._values(word, rest)
                flags += [word, *rest[:taken]]
                at += taken
            elif self.command.begins_program(places, word):
                self._refuse_own(rest)
                return flags, places, words[at:]
            else:
                places.append(word)
            at += 1
        return flags, places, None

    def _values(self, flag: str, rest: Sequence[str]) -> int:
        """Count the words behind a flag that are its value."""
        nargs = self._nargs.get(flag, 0)
        if nargs == "*":
            return next((at for at, word in enumerate(rest) if word.startswith("-")), len(rest))
        return int(nargs is None)

    def _refuse_own(self, words: Sequence[str]) -> None:
        """Refuse --dry-run after the program: whoever writes it there wants nothing to be run, and it would be."""
        if "--dry-run" in words and "--dry-run" in self._nargs:
            self.error("--dry-run stands after the program: put it before, or write -- before a program that takes it")

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> object:
        """Refuse `--option=--`, of which argparse makes an empty list before Python 3.13."""
        if action.option_strings and action.nargs is None and arg_strings == ["--"]:
            raise argparse.ArgumentError(action, "expected one argument, and -- is none")
        return super()._get_values(action, arg_strings)

    def error(self, message: str) -> NoReturn:
        """Say where the runs are listed to who has named none."""
        super().error(message + "; `vgo-agent runs` lists them" * message.endswith("required: RUN"))


def parser_of(command: Subcommand) -> Parser:
    """Make the parser of a command."""
    return Parser(f"vgo-agent {command.name}", command.sentence, command.load())
