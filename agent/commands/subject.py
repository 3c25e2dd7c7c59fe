"""From the options of `diagnose` to the subject of a diagnosis."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from ...knowledge.errors import VgoError
from ...layers.launcher import open_launcher
from ...tools.execution.launch import resolve
from ...tools.execution.outcomes import FORMATS, unit_of
from ...tools.subject import LOCAL, Subject
from ..settings import UserSettings
from .options import OfProgram, OnHosts

LONGEST_NAME = 40


def subject_of(command: OfProgram, settings: UserSettings) -> Subject:
    """Check the options against each other and the machine; what cannot work is refused before the first run."""
    words, hosts = command.command, command if isinstance(command, OnHosts) else OnHosts()
    return Subject(
        command=words,
        argv=_argv(words, command.shell, settings.launcher),
        shell=command.shell,
        directory=os.getcwd(),
        metric=_metric(command.metric, command.per_iteration),
        per_iteration=command.per_iteration,
        unit=_unit(command),
        lower_is_better=not command.higher_is_better,
        timeout_s=settings.timeout_s,
        on_failure=settings.on_failure,
        launcher=settings.launcher,
        root=root_of(settings),
        inputs=_inputs(words, command.shell, command.input),
        on=on_of(hosts.on, settings),
        mixed=hosts.mixed,
    )


def with_command(subject: Subject, command: tuple[str, ...], named: Sequence[str]) -> Subject:
    """The same with another command, and what of it and of the named files is there; refuses a program that is not."""
    argv = _argv(command, subject.shell, subject.launcher)
    inputs = _inputs(command, subject.shell, named)
    return subject.model_copy(update={"command": command, "argv": argv, "inputs": inputs})


def refuse_samples(command: OfProgram, what: str) -> None:
    """Refuse the samples of a run where whole runs are judged."""
    if command.per_iteration:
        raise VgoError(f"{what} judges whole runs: leave out --per-iteration, and name one number with --metric.")


def on_of(on: str | None, settings: UserSettings) -> str:
    """Read where to run now, so that a word that names nothing is told at once; a file is named in full."""
    if not on:
        return ""
    from ...tools.fleet.where import read_where

    if settings.root != Path("/"):
        raise VgoError("--root reads this machine's files, and --on runs elsewhere: leave one of them out.")
    return on if read_where(on).scheduler == on else os.path.abspath(on)


def _argv(command: tuple[str, ...], shell: bool, launcher: str) -> tuple[str, ...]:
    """Find the program here, or leave its name to the launcher where it is looked for elsewhere."""
    if launcher == LOCAL or open_launcher(launcher).layer.here or shell or not any(command):
        return resolve(command, shell=shell)
    return command


def root_of(settings: UserSettings) -> str:
    """Refuse what cannot be the root of a machine, and mitigations of another machine than the one that is read."""
    if settings.root == Path("/"):
        return "/"
    if settings.allow == "system":
        raise VgoError("--root reads another root, but --allow system writes to this kernel: leave one of them out.")
    if not (settings.root / "proc").is_dir():
        raise VgoError(f"--root {settings.root} has no folder proc: name the folder in which proc and sys lie.")
    return str(settings.root.absolute())


def short_name(command: Sequence[str], shell: bool) -> str:
    """Name a run folder after the program."""
    first = _words(command, shell)[:1] or ["command"]
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", os.path.basename(first[0])).strip("-.")
    return name[:LONGEST_NAME] or "command"


def _metric(pattern: str | None, form: str | None) -> str | None:
    if form is not None:
        return _field(pattern, form)
    try:
        re.compile(os.fsencode(pattern or ""))
    except re.error as error:
        raise VgoError(f"--metric {pattern!r} is not a regular expression ({error}); correct it there.") from error
    return pattern


def _field(name: str | None, form: str) -> str:
    """Check a format of samples, and that it can have the field that they are judged by."""
    if name is None:
        raise VgoError("--per-iteration needs the name of the field to judge by; give it with --metric.")
    if form in FORMATS:
        return name
    try:
        groups = re.compile(form).groupindex
    except re.error as error:
        raise VgoError(
            f"--per-iteration {form!r} is neither csv nor json nor a regular expression ({error}); correct it there."
        ) from error
    if name not in groups:
        named = ", ".join(groups) or "none"
        raise VgoError(f"--metric {name} is no named group of --per-iteration (it has {named}); write (?P<{name}>...).")
    return name


def _unit(command: OfProgram) -> str:
    if command.metric is None and (command.unit or command.higher_is_better):
        option = "--unit" if command.unit else "--higher-is-better"
        raise VgoError(f"{option} says how to read a number of the program; name that number with --metric.")
    if command.metric is None:
        return "s"
    return command.unit or (unit_of(command.metric) if command.per_iteration else "")


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
