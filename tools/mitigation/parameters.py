"""Put numbers and words in the place of `{name}` in a mitigation, and say which of them a search may try."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...knowledge.actions import Apply, Parameter, Verify
from ...knowledge.errors import VgoError
from ...knowledge.schema import Mitigation
from ..machine import Machine

_NAME = re.compile(r"\{([a-z][a-z0-9_]*)\}")
_VALUE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.,+:-]*|-?\d+(\.\d+)?")
"""A number or a plain word: nothing that a shell, a path or a list of words would read as more."""
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_COUNTED = re.compile(r"cpus(?:([/*-])(\d+))?")
_PLACES = ("apply", "verify", "permanent", "steps")


def with_values(mitigation: Mitigation, values: Mapping[str, str], machine: Machine) -> Mitigation:
    """Put the values, and the defaults of the other parameters, in their places; nothing is left to be given.

    Doing it again changes nothing. Unknown names, and values that are out of bounds or no plain words, are refused.
    """
    known = {parameter.name: parameter for parameter in mitigation.parameters}
    for name in values:
        if name not in known:
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise VgoError(f"{mitigation.key} has no parameter {name}: {has}.")
    chosen = {
        name: _checked(mitigation.key, parameter, values.get(name, parameter.default), machine)
        for name, parameter in known.items()
    }
    if not known:
        return mitigation
    fields = mitigation.model_dump()
    filled = {place: _filled(fields[place], chosen) for place in _PLACES}
    return mitigation.model_copy(
        update={
            "parameters": (),
            "apply": Apply.model_validate(filled["apply"]) if mitigation.apply else None,
            "verify": Verify.model_validate(filled["verify"]),
            "permanent": filled["permanent"],
            "steps": tuple(filled["steps"]),
        }
    )


def levels_of(parameter: Parameter, machine: Machine) -> tuple[str, ...]:
    """List what a search tries here, the mildest first, each once; those out of bounds are left out."""
    asked = parameter.levels or tuple(str(number) for number in range(1, len(machine.cpus)))
    counted = dict.fromkeys(_counted(level, machine) for level in asked)
    return tuple(level for level in counted if not _out_of_bounds(parameter, level, machine))


def _checked(key: str, parameter: Parameter, value: str, machine: Machine) -> str:
    value = _counted(value.strip(), machine)
    if not _VALUE.fullmatch(value):
        raise VgoError(f"{value!r} is no value for {parameter.name} of {key}: give a number or a plain word.")
    if bounds := _out_of_bounds(parameter, value, machine):
        raise VgoError(f"{value} is no value for {parameter.name} of {key}: {bounds}.")
    return value


def _out_of_bounds(parameter: Parameter, value: str, machine: Machine) -> str:
    """Say what the value has to be; empty when it is."""
    least, most = (_counted(bound, machine) for bound in (parameter.least, parameter.most))
    if not least and not most:
        return ""
    unit = f" {parameter.unit}" if parameter.unit else ""
    if not _NUMBER.fullmatch(value):
        return f"it is a number{unit}"
    if least and most and float(most) < float(least):
        return f"it is at least {least}{unit}, and this machine allows {most} at most"
    if (least and float(value) < float(least)) or (most and float(value) > float(most)):
        between = f"from {least} to {most}" if least and most else f"at least {least}" if least else f"at most {most}"
        return f"it is {between}{unit} here"
    return ""


def _counted(word: str, machine: Machine) -> str:
    """Turn `cpus`, `cpus/2` and `cpus-1` into a number, whole and 1 at least; other words stay."""
    found = _COUNTED.fullmatch(word)
    if found is None:
        return word
    cpus, (sign, number) = len(machine.cpus), found.groups()
    by = int(number or 0)
    count = {"/": cpus // max(1, by), "*": cpus * by, "-": cpus - by}[sign] if sign else cpus
    return str(max(1, count))


def _filled(part: Any, values: Mapping[str, str]) -> Any:
    """Replace in every text of a nested shape; names that are no parameter stay: `{mask_but_quiet}`."""
    if isinstance(part, str):
        return _NAME.sub(lambda found: values.get(found[1], found[0]), part)
    if isinstance(part, dict):
        return {key: _filled(value, values) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return tuple(_filled(value, values) for value in part)
    return part
