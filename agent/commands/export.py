"""export: how to make a mitigation permanent, as files and options of what sets things at boot or at a start."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...knowledge.errors import VgoError
from ..terminal import answer, folded
from .options import add_manners

if TYPE_CHECKING:
    from ...knowledge.schema import Mitigation
    from ...tools.mitigation.permanent import PermanentForm

# As `Keeper` in the knowledge lists them, which is dear to import for a help text.
FORMATS = ("systemd", "sysctl", "tmpfiles", "udev", "tuned", "cmdline", "slurm", "openmp", "docker", "shell")
EPILOG = f"""\
examples:
  vgo-agent export pin_to_cpu --for "/usr/bin/solver --fast"
  vgo-agent export swappiness_low --format sysctl > 90-swappiness.conf
  vgo-agent export reserve_cores --param cores=2 --format slurm

Formats: {", ".join(FORMATS)}.
With one format the text is printed as it belongs in the file; with all of them, each under its name, and why the others
cannot say it. Nothing is written or changed. What holds for this machine only (numbers of CPUs) says so, and a value
that is bounded by the CPUs of the machine it is for is not checked against those of this one.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = f"{parser.prog} [OPTIONS] MITIGATION"
    parser.add_argument("mitigation", metavar="MITIGATION", help="its key or name, as `vgo-agent mitigations` lists it")
    parser.add_argument(
        "--param", metavar="NAME=VALUE", action="append", default=[], help="a parameter of it; repeatable"
    )
    parser.add_argument("--format", choices=("all", *FORMATS), default="all", help="one format (default all)")
    parser.add_argument("--for", metavar="PROGRAM", dest="program", help="the program, with its arguments")
    add_manners(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print."""
    from ...knowledge.loader import load
    from ...tools.mitigation.parameters import left_open, with_values
    from ...tools.mitigation.permanent import permanent
    from .alone import this_machine
    from .mitigation_arguments import mitigation_meant, values_meant

    known = load()
    plain = mitigation_meant(arguments.mitigation, known)
    program = _program(arguments.program)
    machine = this_machine(known)
    given = values_meant(arguments.param, plain)
    mitigation = with_values(plain, given, machine, elsewhere=True)
    kept = permanent(mitigation, machine, program, tuple(left_open(plain, given, machine)))
    ways = [one for one in kept if one.text]
    if arguments.format != "all":
        kept = tuple(one for one in kept if one.format == arguments.format)
        if not kept[0].text:
            raise VgoError(_refusal(mitigation, kept[0], ways))
    text = _everything(mitigation, kept) if arguments.format == "all" else kept[0].text
    values = {"mitigation": mitigation.key, "formats": [vars(one) for one in kept], "steps": list(mitigation.steps)}
    answer(values, text, arguments.json)
    return 0


def _program(words: str | None) -> tuple[str, ...]:
    try:
        program = tuple(shlex.split(words or ""))
    except ValueError as error:
        raise VgoError(f"--for {words!r} is no command line ({error}): close the quotation.") from error
    if words is not None and not any(program[:1]):
        raise VgoError(f"--for {words!r} names no program: write --for '/usr/bin/solver --fast', or leave it out.")
    return program


def _refusal(mitigation: Mitigation, one: PermanentForm, ways: Sequence[PermanentForm]) -> str:
    others = " or ".join(way.format for way in ways)
    by_hand = "explain" if mitigation.steps else "try"
    cure = f"Keep it with --format {others}." if others else f"See `vgo-agent {by_hand} {mitigation.key}`."
    return f"{mitigation.key} cannot be kept as {one.format}: {one.why.rstrip('.')}. {cure}"


def _everything(mitigation: Mitigation, kept: Sequence[PermanentForm]) -> str:
    parts = [_shown(one) for one in kept if one.text]
    parts = parts or [f"No program keeps {mitigation.name} ({mitigation.key}) by itself."]
    if mitigation.steps:
        parts.append("\n".join(["What a person does:", *(folded(f"- {step}") for step in mitigation.steps)]))
    if without := [one for one in kept if not one.text]:
        parts.append("\n".join(["Not as:", *map(folded, _reasons(without))]))
    return "\n\n".join(parts)


def _reasons(without: Sequence[PermanentForm]) -> list[str]:
    """Name the formats that cannot say it, by why."""
    reasons: dict[str, list[str]] = {}
    for one in without:
        reasons.setdefault(one.why, []).append(one.format)
    return [f"- {', '.join(formats)}: {why}." for why, formats in reasons.items()]


def _shown(one: PermanentForm) -> str:
    notes = [f"# {note}" for note in one.notes] if one.format == "cmdline" else []
    return "\n".join([f"== {one.format}" + (f": {one.path}" if one.path else ""), *notes, one.text.rstrip("\n")])
