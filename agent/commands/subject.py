"""From the options of `diagnose` to the subject of a diagnosis."""

from __future__ import annotations

import argparse
import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from ...knowledge.errors import VgoError
from ...tools.execution.resolve import resolve
from ...tools.subject import Subject
from ..settings import Settings

LONGEST_NAME = 40


def subject_of(arguments: argparse.Namespace, settings: Settings) -> Subject:
    """Check the options against each other and the machine; what cannot work is refused before the first run."""
    command = tuple(arguments.command[1:] if arguments.command[:1] == ["--"] else arguments.command)
    if any("\udc80" <= char <= "\udcff" for word in command for char in word):
        raise VgoError("The command holds bytes that this locale cannot read; set LC_ALL=C.UTF-8, or use a script.")
    return Subject(
        command=command,
        argv=resolve(command, shell=arguments.shell),
        shell=arguments.shell,
        directory=os.getcwd(),
        metric=_metric(arguments.metric),
        unit=_unit(arguments),
        lower_is_better=not arguments.higher_is_better,
        timeout_s=settings.timeout_s,
        on_failure=settings.on_failure,
        inputs=_inputs(command, arguments.shell, arguments.input),
    )


def short_name(command: Sequence[str], shell: bool) -> str:
    """Name a run folder after the program."""
    first = _words(command, shell)[:1] or ["command"]
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", os.path.basename(first[0])).strip("-.")
    return name[:LONGEST_NAME] or "command"


def _metric(pattern: str | None) -> str | None:
    try:
        re.compile(os.fsencode(pattern or ""))
    except re.error as error:
        raise VgoError(f"--metric {pattern!r} is not a regular expression ({error}); correct it there.") from error
    return pattern


def _unit(arguments: argparse.Namespace) -> str:
    if arguments.metric is None and (arguments.unit or arguments.higher_is_better):
        option = "--unit" if arguments.unit else "--higher-is-better"
        raise VgoError(f"{option} says how to read a number of the program; name that number with --metric.")
    if arguments.metric is None:
        return "s"
    return arguments.unit or ""


def _inputs(command: Sequence[str], shell: bool, named: Sequence[str]) -> tuple[str, ...]:
    """Files among the arguments, `--file=PATH` included, and those that the user named."""
    for name in named:
        if not Path(name).is_file():
            raise VgoError(f"There is no file {name}; correct --input.")
    arguments = _words(command, shell)[1:]
    candidates = [*arguments, *(word.partition("=")[2] for word in arguments), *named]
    return tuple(dict.fromkeys(os.path.abspath(name) for name in candidates if _is_file(name)))


def _is_file(name: str) -> bool:
    try:
        return bool(name) and Path(name).is_file()
    except (OSError, ValueError):  # too long for a path, or a NUL in it
        return False


def _words(command: Sequence[str], shell: bool) -> list[str]:
    """Split a shell line as far as its quotes allow."""
    if not shell:
        return list(command)
    try:
        return shlex.split(" ".join(command))
    except ValueError:
        return " ".join(command).split()
