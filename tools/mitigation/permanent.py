"""How to keep a mitigation for good: the files and options of the programs that set things at boot or at a start."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, get_args

from ...knowledge.schema import Keeper, Mitigation
from ..machine import Machine
from . import permanent_starter as starter
from . import permanent_system as system
from .permanent_draft import FormatLines, NoCpuLeft, PermanentTarget
from .permanent_service import SERVICE_NOTES, systemd

EACH_RUN = "it waits before each run for the temperature of the first, which only what starts all the runs can see"
FORMATS: tuple[Keeper, ...] = get_args(Keeper)


@dataclass(frozen=True)
class PermanentForm:
    """One way to keep it, or why it is none."""

    format: Keeper
    path: str
    """The file that the text belongs in; empty where it belongs in something of the user's."""
    text: str
    """Empty: this format has no way to say it."""
    notes: tuple[str, ...]
    """What to do with it, and what holds for this machine only."""
    why: str
    """Why there is no text."""


def permanent(
    mitigation: Mitigation,
    machine: Machine,
    program: Sequence[str] = (),
    notes: tuple[str, ...] = (),
    root: Path = Path("/"),
) -> tuple[PermanentForm, ...]:
    """Write a mitigation whose parameters have values in every format; `program` is what it is for.

    `notes` stand with every text; `root` is where the files of the machine are read.
    """
    target = PermanentTarget(mitigation, machine, tuple(program), root)
    return tuple(_kept(format, target, notes) for format in FORMATS)


def _kept(format: Keeper, target: PermanentTarget, notes: tuple[str, ...]) -> PermanentForm:
    mitigation = target.mitigation
    said = mitigation.permanent.get(format, "").strip()
    if mitigation.apply is None:
        draft = FormatLines(why="vgo-agent does not apply it; a person does it by its steps")
    elif mitigation.apply.cool_down:
        draft = FormatLines(why=EACH_RUN)
    else:
        draft = _drafted(format, target)
    if said:
        draft = _FORMATS[format].with_said(draft, said, target)
    if not draft.lines:
        return PermanentForm(format, "", "", draft.notes, draft.why or "it sets nothing of that kind")
    heading = f"# {mitigation.name} ({mitigation.key}), by vgo-agent mitigations --keep"
    first = ("#!/bin/sh",) if format in ("slurm", "shell") else ()
    notes = (*draft.notes, *notes)
    lines = (*first, heading, *(f"# {note}" for note in notes), *draft.lines)
    if format == "cmdline":
        lines = draft.lines
    path = draft.path or _FORMATS[format].path.format(
        dashed=mitigation.key.replace("_", "-"), unit=_unit(target.program)
    )
    return PermanentForm(format, path, "\n".join(lines) + "\n", notes, "")


def _drafted(format: Keeper, target: PermanentTarget) -> FormatLines:
    try:
        return _FORMATS[format].write(target)
    except NoCpuLeft as error:
        return FormatLines(why=str(error))


def _unit(program: Sequence[str]) -> str:
    """Name the unit that the program may have."""
    name = os.path.basename(program[0]).partition(".")[0] if program else ""
    return re.sub(r"[^A-Za-z0-9:_@-]", "-", name) or "UNIT"


def _appended(draft: FormatLines, said: str, target: PermanentTarget) -> FormatLines:
    return FormatLines((*draft.lines, *said.splitlines()), draft.notes)


def _into_service(draft: FormatLines, said: str, target: PermanentTarget) -> FormatLines:
    """Words of the file are options of a service."""
    opening = () if draft.lines else ("[Service]",)
    return FormatLines((*draft.lines, *opening, *said.splitlines()), draft.notes or SERVICE_NOTES)


def _into_job(draft: FormatLines, said: str, target: PermanentTarget) -> FormatLines:
    """Options come before the first command, and a step starts the program."""
    lines = draft.lines or (f"srun {target.command}",)
    return FormatLines((*said.splitlines(), *lines), draft.notes)


def _on_the_line(draft: FormatLines, said: str, target: PermanentTarget) -> FormatLines:
    """The file knows the kernel's own word, which does more than a sysctl set late in the boot."""
    return FormatLines((" ".join(said.split()),), system.BOOT_NOTES)


def _into_profile(draft: FormatLines, said: str, target: PermanentTarget) -> FormatLines:
    """Join sections of the same name: TuneD wants each once."""
    sections: dict[str, list[str]] = {"[main]": [f"summary={target.mitigation.name}"]}
    for line in filter(None, (*draft.lines, "[main]", *said.splitlines())):
        if line.startswith("["):
            options = sections.setdefault(line, [])
        else:  # what the file says stands for what was derived
            name = line.partition("=")[0]
            options[:] = [*(one for one in options if one.partition("=")[0] != name), line]
    lines = [line for name, options in sections.items() for line in ("", name, *options)]
    return FormatLines(tuple(lines[1:]), draft.notes or system.PROFILE_NOTES)


class KeeperFormat(NamedTuple):
    """How one format is written."""

    write: Callable[[PermanentTarget], FormatLines]
    path: str = ""
    """The file that it belongs in; empty where that is the user's."""
    with_said: Callable[[FormatLines, str, PermanentTarget], FormatLines] = _appended
    """Adds what the file of the mitigation says for this format."""


_FORMATS: Mapping[Keeper, KeeperFormat] = {
    "systemd": KeeperFormat(systemd, "/etc/systemd/system/{unit}.service.d/50-vgo-agent-{dashed}.conf", _into_service),
    "slurm": KeeperFormat(starter.slurm, with_said=_into_job),
    "openmp": KeeperFormat(starter.openmp),
    "docker": KeeperFormat(starter.docker),
    "shell": KeeperFormat(starter.shell),
    "sysctl": KeeperFormat(system.sysctl, "/etc/sysctl.d/90-vgo-agent-{dashed}.conf"),
    "tmpfiles": KeeperFormat(system.tmpfiles, "/etc/tmpfiles.d/vgo-agent-{dashed}.conf"),
    "udev": KeeperFormat(system.udev, "/etc/udev/rules.d/90-vgo-agent-{dashed}.rules"),
    "tuned": KeeperFormat(system.tuned, "/etc/tuned/vgo-agent-{dashed}/tuned.conf", _into_profile),
    "cmdline": KeeperFormat(system.cmdline, with_said=_on_the_line),
}
