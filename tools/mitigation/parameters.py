"""Put numbers and words in the place of `{name}` in a mitigation: which a search may try, which CPUs they mean."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from ...knowledge.actions import LIST_OF_CPUS, Apply, MitigationParameter
from ...knowledge.errors import VgoError
from ...knowledge.files import first
from ...knowledge.schema import Mitigation
from ..machine import Machine
from .kernel_file import cpu_list

_NAME = re.compile(r"\{([a-z][a-z0-9_]*)(?:\?([a-z]+)=((?:[^{}]|\{[^{}]*\})*)|\*(\d+))?\}")
"""`{quota}`, or `{quota?max=-1}`: the value, but -1 where it is `max`; `{quota*1000}` is a thousand times the value."""
_VALUE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.,+:-]*|-?\d+(\.\d+)?")
"""A number or a plain word: nothing that a shell, a path or a list of words would read as more."""
_FORMS = {"whole number": r"\d+", "list of CPUs": LIST_OF_CPUS}
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_COUNTED = re.compile(r"cpus(?:([/*-])(\d+))?")
_PLACES = ("apply", "permanent", "steps")


def with_values(
    mitigation: Mitigation, values: Mapping[str, str], machine: Machine, elsewhere: bool = False
) -> Mitigation:
    """Put the values, and the defaults of the other parameters, in their places; nothing is left to be given.

    Doing it again changes nothing. Unknown names, and values that are out of bounds or no plain words, are refused.
    For a machine elsewhere the bounds do not hold that are counted from the CPUs of this one.
    """
    known = {parameter.name: parameter for parameter in mitigation.parameters}
    for name in values:
        if name not in known:
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise VgoError(f"{mitigation.key} has no parameter {name}: {has}.")
    chosen = {
        name: _checked(mitigation.key, parameter, values.get(name, parameter.default), machine, elsewhere)
        for name, parameter in known.items()
    }
    if not known:
        return mitigation
    fields = mitigation.model_dump()
    filled = {place: _filled(fields[place], chosen) for place in _PLACES}
    return mitigation.model_copy(
        update={
            "parameters": (),
            "apply": _applied(mitigation.key, filled["apply"], chosen) if mitigation.apply else None,
            "permanent": filled["permanent"],
            "steps": tuple(filled["steps"]),
        }
    )


def _applied(key: str, filled: Any, chosen: Mapping[str, str]) -> Apply:
    try:
        return Apply.model_validate(filled)
    except ValidationError as error:
        given = ", ".join(f"{name}={value}" for name, value in chosen.items())
        raise VgoError(f"{key} cannot have {given}: {first(error)}.") from error


def levels_of(parameter: MitigationParameter, machine: Machine) -> tuple[str, ...]:
    """List what a search tries here, the mildest first, each once; those out of bounds are left out."""
    asked = parameter.levels or tuple(str(number) for number in range(1, len(machine.cpus)))
    counted = dict.fromkeys(_counted(level, machine) for level in asked)
    return tuple(level for level in counted if not _out_of_bounds(parameter, level, machine))


def greatest(parameter: MitigationParameter, machine: Machine) -> str:
    """Give the largest number that is allowed here; empty where there is no bound."""
    return _counted(parameter.most, machine)


def left_open(mitigation: Mitigation, values: Mapping[str, str], machine: Machine) -> Iterator[str]:
    """Say which values depend on the CPUs of the machine that they are for, where that is another one perhaps."""
    for parameter in mitigation.parameters:
        name, value = parameter.name, values.get(parameter.name, parameter.default).strip()
        counted = _counted(value, machine)
        bounds = {"at least": parameter.least, "at most": parameter.most}
        on_cpus = " and ".join(f"{how} {bound}" for how, bound in bounds.items() if _COUNTED.fullmatch(bound))
        if _COUNTED.fullmatch(value):
            yield f"{name} is {value}, which is {counted} on this machine: ask again on another."
        elif on_cpus:
            yield f"{name} is {on_cpus}: {value} was not checked against that, the CPUs it is for are not known here."


def _checked(key: str, parameter: MitigationParameter, value: str, machine: Machine, elsewhere: bool = False) -> str:
    value = _counted(value.strip(), machine)
    if not _VALUE.fullmatch(value):
        raise VgoError(f"{value!r} is no value for {parameter.name} of {key}: give a number or a plain word.")
    if parameter.form and not re.fullmatch(_FORMS[parameter.form], value):
        raise VgoError(f"{value} is no value for {parameter.name} of {key}: it is a {parameter.form}.")
    if bounds := _out_of_bounds(parameter, value, machine, elsewhere):
        raise VgoError(f"{value} is no value for {parameter.name} of {key}: {bounds}.")
    return value


def _out_of_bounds(parameter: MitigationParameter, value: str, machine: Machine, elsewhere: bool = False) -> str:
    """Say what the value has to be; empty when it is."""
    bounds = ("" if elsewhere and _COUNTED.fullmatch(one) else one for one in (parameter.least, parameter.most))
    least, most = (_counted(bound, machine) for bound in bounds)
    if not least and not most:
        return ""
    unit = f" {parameter.unit}" if parameter.unit else ""
    if not _NUMBER.fullmatch(value):
        words = [word for word in dict.fromkeys((*parameter.levels, parameter.default)) if word.isalpha()]
        return "" if value in words else " or ".join((_a_number(parameter.unit), *words))
    if least and most and float(most) < float(least):
        return f"it is at least {least}{unit}, and this machine allows {most} at most"
    if (least and float(value) < float(least)) or (most and float(value) > float(most)):
        if least == most:
            return f"it is {least}{'' if elsewhere else ' here'}"
        between = f"from {least} to {most}" if least and most else f"at least {least}" if least else f"at most {most}"
        return f"it is {between}{unit}{'' if elsewhere else ' here'}"
    return ""


def _a_number(unit: str) -> str:
    return "it is a percentage" if unit == "%" else f"it is a number of {unit}" if unit else "it is a number"


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
        return _NAME.sub(lambda found: _value(found, values), part)
    if isinstance(part, dict):
        return {key: _filled(value, values) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return tuple(_filled(value, values) for value in part)
    return part


def _value(found: re.Match[str], values: Mapping[str, str]) -> str:
    name, word, instead, times = found.groups()
    if name not in values:
        return found[0]
    if times:
        if not values[name].isdecimal():
            raise VgoError(f"{values[name]} is no value for {name}: it is a whole number.")
        return str(int(values[name]) * int(times))
    return instead if values[name] == word else values[name]


def chosen_cpus(kind: str, reserved: str, machine: Machine) -> frozenset[int]:
    """Choose among the CPUs that this process may use."""
    if kind == "one_cpu":
        return frozenset({machine.quiet_cpu})
    if kind == "one_per_core":
        return frozenset(min(core) for core in machine.cores) or frozenset(machine.cpus)
    if kind == "all_but_reserved":
        return frozenset(machine.cpus) - frozenset(reserved_cpus(reserved, machine))
    cpus = frozenset(cpu_list(kind))
    if not cpus or not cpus <= set(machine.cpus):
        allowed = ",".join(map(str, machine.cpus))
        raise VgoError(f"The CPUs {kind} are not among those that this process may use: {allowed}.")
    return cpus


def reserved_cpus(asked: str, machine: Machine) -> tuple[int, ...]:
    """Leave the first CPUs to everybody else, since devices and services tend to use those; the quiet one goes last."""
    if not asked.isdigit():
        raise VgoError(f"{asked} CPUs cannot be left to others: give a whole number.")
    most = len(machine.cpus) - 1
    if int(asked) > most:
        leave = f"leave {most} at most" if most else "give it more CPUs (taskset, cpuset, a larger machine)"
        raise VgoError(f"Of {most + 1} CPUs {asked} left to others would leave none to the program: {leave}.")
    return tuple(sorted(machine.cpus, key=lambda cpu: (cpu == machine.quiet_cpu, cpu))[: int(asked)])
