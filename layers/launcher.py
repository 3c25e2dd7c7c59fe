"""Launchers: where and how the program runs; a command line composed around it, and what is seen of it from here."""

from __future__ import annotations

import functools
import os
import shlex
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from ..knowledge.errors import VgoError
from .loader import FOLDER, LAUNCHERS, files, find_layer, split, user_folder
from .probes.base import SpawnCommand
from .schema import Column, Layer, Value
from .wrapper import Words, answer, missing, one_line, refusal, spelt

HOST = Column(
    name="host", description="Machines that the program ran on, joined by +.", unit="", type="text", role="setting"
)
MANY = "options"
"""The parameter that may hold several words; every other one is a word, whatever is in it."""
ANSWER_S = 60.0
"""A host that has not told its name by then does not answer."""


def open_launcher(spec: str, environment: Mapping[str, str] = os.environ) -> Launcher:
    """Read a launcher by its spec, `NAME:parameter=value,...` or a file; refuse what cannot start anything.

    Raises VgoError; no host is asked yet.
    """
    layer = find_launcher(spec)
    for name in layer.required:
        if layer.parameters.get(name) == "":
            raise VgoError(f"The launcher {layer.key} needs {name}: --launcher {layer.key}:{name}={name.upper()}.")
    if lacking := missing(layer):
        raise VgoError(f"The launcher {layer.key} cannot be used: {lacking}.")
    return Launcher(spec, layer.model_copy(update={"columns": (*layer.columns, HOST)}), environment)


def find_launcher(spec: str) -> Layer:
    """Read a launcher; nothing is asked of the machine."""
    name, _ = split(spec)
    known = sorted(path.stem for folder in (FOLDER, user_folder()) for path in files(folder / LAUNCHERS))
    if "/" not in name and name not in known and not name.endswith((".yaml", ".yml")):
        raise VgoError(f"There is no launcher {name}: name one of these: {', '.join(known)}, or the file of yours.")
    layer = find_layer(spec)
    if layer.kind != "launcher":
        raise VgoError(f"{spec} is a metric layer: give it with --layer.")
    return layer


@dataclass(frozen=True, eq=False)
class Launcher:
    """A launcher with its parameters."""

    spec: str
    layer: Layer
    environment: Mapping[str, str]
    """Ours: only what differs from it is carried to the program."""

    def wrap(self, command: SpawnCommand, directory: Path | None = None) -> SpawnCommand:
        """Compose the command line that starts the command through the launcher, in a directory."""
        argv = _words(self, command, directory).argv(self.layer)
        carries = bool(self.layer.variable) or "$LINE" in self.layer.run
        environment = {**self.layer.environment, **(self.environment if carries else command.environment)}
        environment |= {name: value for name, value in command.environment.items() if is_own(name, self.layer.own)}
        return SpawnCommand(argv, environment)

    @property
    def before_program(self) -> tuple[str, ...]:
        """Words before the program, where it is started with its own words; else none."""
        words = self.wrap(SpawnCommand(("",), self.environment)).argv
        return words[:-1] if words[-1] == "" else ()

    def values(self) -> dict[str, Value]:
        """The cells of each run."""
        return {HOST.name: "+".join(self.hosts)}

    @functools.cached_property
    def hosts(self) -> tuple[str, ...]:
        """Names of the machines that the program runs on, as they say themselves, sorted; asked once.

        Raises VgoError when the launcher starts nothing.
        """
        if not self.layer.hosts:
            return (os.uname().nodename,)
        asking = self.wrap(SpawnCommand(tuple(shlex.split(self.layer.hosts)), self.environment))
        try:
            done = answer(asking.argv, asking.environment, ANSWER_S)
        except subprocess.TimeoutExpired as error:
            raise VgoError(f"The launcher {self.spec} did not answer within {ANSWER_S:g} s: try it by hand.") from error
        found = tuple(sorted(set(done.stdout.decode(errors="replace").split())))
        if done.returncode != 0 or not found:
            raise VgoError(self._refused(done))
        return found

    def ask(self) -> tuple[str, ...]:
        """Ask for the hosts now, so that a launcher that starts nothing is refused before the first run."""
        if refused := refusal(self.layer, self.environment):
            raise VgoError(f"The launcher {self.layer.key} cannot be used: {refused}.")
        return self.hosts

    @property
    def elsewhere(self) -> bool:
        """The program runs on another machine, or on others too."""
        return self.hosts != (os.uname().nodename,)

    @property
    def away(self) -> str:
        """Why this process does not see the program as its descendant; empty when it does."""
        if self.elsewhere:
            return f"the program runs on {', '.join(self.hosts)}, through the launcher {self.layer.key}"
        if not self.layer.here:
            return f"the program is started by the other side of the launcher {self.layer.key}, not by vgo-agent"
        return ""

    def unseen(self, layer: Layer, names: Iterable[str] | None = None) -> dict[str, str]:
        """Columns of a layer that its built-in probe would read of the wrong process or machine, with the reason."""
        if not layer.probe or not self.away:
            return {}
        cure = "run vgo-agent there" if self.elsewhere else "leave the launcher out"
        reason = f"It would be read of the launcher itself, since {self.away}: {cure}."
        asked = [column.name for column in layer.columns] if names is None else names
        described = {name: column for name in asked if (column := layer.column(name))}
        return {name: reason for name, column in described.items() if self.elsewhere or column.scope != "machine"}

    def carried(self, command: SpawnCommand) -> dict[str, str]:
        """Environment variables that the command adds to ours or changes, less those that speak to the launcher."""
        changed = {name: value for name, value in command.environment.items() if self.environment.get(name) != value}
        return {name: value for name, value in changed.items() if not is_own(name, self.layer.own)}

    def _refused(self, done: subprocess.CompletedProcess[bytes]) -> str:
        said = one_line(done.stderr)
        words = f" and said: {said}" if said else ""
        meaning = self.layer.exits.get(done.returncode, "so it starts nothing")
        cure = self.layer.cure_for(done.stderr)
        return f"The launcher {self.spec} ended with {done.returncode}, {meaning}{words}{f': {cure}' * bool(cure)}."


def _words(launcher: Launcher, command: SpawnCommand, directory: Path | None) -> Words:
    """Fill in what only launchers have: `$FLAGS`, `$VARIABLES`, `$DIRECTORY`, and `$LINE` with both of these."""
    layer = launcher.layer
    variables = launcher.carried(command)
    there = str(layer.parameters.get("directory") or directory or Path.cwd())
    words = Words(layer, command.argv, "")
    words.fill(**{name.upper(): spelt(value) for name, value in layer.parameters.items() if name != MANY})
    words.fill(DIRECTORY=there, LINE=line(command.argv, variables, there))
    given = [flag for name, flag in layer.flags.items() if layer.parameters.get(name) not in ("", False, None)]
    words.fill(FLAGS=[word for flag in given for word in words.of(flag)])
    assignments = [f"{name}={value}" for name, value in variables.items()]
    template = shlex.split(layer.variable)
    words.fill(VARIABLES=[word.replace("$VARIABLE", one) for one in assignments for word in template])
    return words


def is_own(name: str, own: Iterable[str]) -> bool:
    """Tell whether a variable speaks to the launcher itself."""
    return any(fnmatchcase(name, pattern) for pattern in own)


def line(argv: tuple[str, ...], variables: Mapping[str, str], directory: str) -> str:
    """Write a command as one line for a remote POSIX shell, every word quoted exactly.

    The shell stays (no exec), since it turns a death by signal N into 128 + N, where sshd alone would give 255.
    """
    assigned = [f"{name}={value}" for name, value in variables.items()]
    words = ("env", *assigned, *argv) if assigned else argv
    return f"cd {shlex.quote(directory)} && {shlex.join(words)}; exit $?"
