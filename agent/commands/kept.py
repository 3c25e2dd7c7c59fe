"""`mitigations --keep`: how to make one permanent, as files and options of what sets things at boot or at a start."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...knowledge.errors import VgoError
from ..terminal import folded
from .options import OfProgram

if TYPE_CHECKING:
    from ...knowledge.schema import Mitigation
    from ...tools.mitigation.permanent import PermanentForm


def keep(command: OfProgram, names: Sequence[str], param: Sequence[str], form: str) -> tuple[dict[str, Any], str]:
    """Tell how to keep the one that is named, for the program where there is one, in one format or in all."""
    from ...knowledge.loader import load
    from ...tools.mitigation.parameters import left_open, with_values
    from ...tools.mitigation.permanent import permanent
    from .mitigation_arguments import mitigation_meant, this_machine, values_meant
    from .subject import root_of

    if len(names) != 1:
        raise VgoError(
            "--keep prints how to keep one mitigation: name it, as in `vgo-agent mitigations plain_nice --keep all`."
        )
    known = load()
    plain = mitigation_meant(names[0], known)
    program = _program(command)
    root = Path(root_of(command.in_force()))
    machine = this_machine(known, root)
    given = values_meant(param, plain)
    mitigation = with_values(plain, given, machine, elsewhere=True)
    kept = permanent(mitigation, machine, program, tuple(left_open(plain, given, machine)), root)
    ways = [one for one in kept if one.text]
    if form != "all":
        kept = tuple(one for one in kept if one.format == form)
        if not kept[0].text:
            raise VgoError(_refusal(mitigation, kept[0], ways))
    text = _everything(mitigation, kept) if form == "all" else kept[0].text
    values = {"mitigation": mitigation.key, "formats": [vars(one) for one in kept], "steps": list(mitigation.steps)}
    return values, text


def _program(command: OfProgram) -> tuple[str, ...]:
    """The program, as what starts it takes it: through a shell where it is a line for one."""
    from ...tools.execution.launch import resolve

    words = command.command
    if "command" in command.typed and not "".join(words[:1]).strip():
        raise VgoError("-- names no program: write -- /usr/bin/solver --fast, or leave it out.")
    return resolve(words, shell=True) if command.shell else words


def _refusal(mitigation: Mitigation, one: PermanentForm, ways: Sequence[PermanentForm]) -> str:
    others = " or ".join(way.format for way in ways)
    by_hand = "explain" if mitigation.steps else "try"
    cure = f"Keep it with --keep {others}." if others else f"See `vgo-agent {by_hand} {mitigation.key}`."
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
