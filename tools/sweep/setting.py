"""From a cell to what is done: the command with its levels in place, and one mitigation made of all that is set."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...knowledge.actions import Apply, Precondition, Verify
from ...knowledge.errors import VgoError
from ...knowledge.schema import Mitigation, Scope
from ..execution.launch import Launch
from ..machine import Machine
from ..mitigation.by_hand import planned
from ..mitigation.kernel_file import cpu_list
from ..mitigation.parameters import with_values
from ..mitigation.preconditions import beyond_reach, unmet
from ..shipped import shipped
from ..subject import Subject
from .cell import CellSettings
from .space import OFF, Parameter, Space

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
_CLOCK = "/sys/devices/system/cpu/cpufreq/policy*/scaling_max_freq"
_FIRST_CLOCK = "/sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq"
_SCOPES: tuple[Scope, ...] = ("process", "cgroup", "system")
_CPUS = re.compile(r"\d{1,5}(-\d{1,5})?(,\d{1,5}(-\d{1,5})?)*")
_WHOLE = re.compile(r"\d+")


@dataclass(frozen=True)
class CellSetting:
    """How one cell is run here."""

    subject: Subject
    launch: Launch
    """Before the mitigation."""
    mitigation: Mitigation
    """Everything that is set; it may be nothing."""

    @property
    def identity(self) -> str:
        """What two settings share that are the same."""
        pinned = sorted(self.launch.affinity or ())
        return f"{self.subject.model_dump_json()} {pinned} {self.mitigation.model_dump_json()}"

    def would(self, machine: Machine) -> tuple[str, ...]:
        """List every write, hold, variable and change of the start."""
        pinned = self.launch.affinity
        start = (f"start it on the CPUs {','.join(map(str, sorted(pinned)))}",) if pinned else ()
        return (*planned(self.mitigation, self.subject, machine, Path(self.subject.root)), *start)


def cell_setting(cell: CellSettings, machine: Machine) -> CellSetting:
    """Make a setting; raises VgoError where the cell is impossible here."""
    subject, texts = cell.program(), cell.texts
    parts = [part for name, text in texts.items() for part in _parts(name, cell.parameters[name], text, machine)]
    for part in parts:
        _refuse(part, subject, machine)
    launch = Launch(argv=subject.argv, directory=Path(subject.directory))
    pinned = [text for name, text in texts.items() if cell.parameters[name].to == "affinity"]
    if pinned:
        launch = replace(launch, affinity=_cpus(pinned, parts, machine))
    setting = CellSetting(subject, launch, _joined(parts))
    setting.would(machine)  # what cannot be resolved is told before anything is touched
    return setting


def _parts(name: str, parameter: Parameter, text: str, machine: Machine) -> Iterator[Mitigation]:
    if parameter.mitigation and (parameter.parameter or text != OFF):
        values = {parameter.parameter: text} if parameter.parameter else {}
        yield with_values(mitigation_of(parameter), values, machine)
    elif parameter.environment:
        yield _made(name, "process", {"environment": {parameter.environment: text}})
    elif maker := _MAKERS.get(parameter.to):
        yield maker(name, parameter, text)


def _refuse(part: Mitigation, subject: Subject, machine: Machine) -> None:
    # How many CPUs the program keeps busy is not known, and a sweep is there to find out.
    asked = part.applies.model_copy(update={"single_threaded": False, "multi_threaded": False})
    if reasons := (*unmet(asked, machine, subject, None), *beyond_reach(part, machine, subject)):
        raise VgoError(f"{part.name}: {reasons[0].rstrip('.')}.")


def mitigation_of(parameter: Parameter) -> Mitigation:
    """Find the mitigation of a parameter; one that is unknown, or that only a person can apply, is refused."""
    mitigation = shipped().mitigations.get(parameter.mitigation)
    if mitigation is None:
        raise VgoError(f"There is no mitigation {parameter.mitigation!r}; `vgo-agent mitigations` lists them.")
    if mitigation.apply is None:
        raise VgoError(f"{mitigation.key} is for a person to do, so a sweep cannot switch it: leave it out.")
    names = [one.name for one in mitigation.parameters]
    if parameter.parameter and parameter.parameter not in names:
        has = f"it has {', '.join(names)}" if names else "it has none"
        raise VgoError(f"{mitigation.key} has no parameter {parameter.parameter}: {has}.")
    return mitigation


def settles_slowly(space: Space) -> bool:
    """Tell whether a parameter should not be switched between every two runs."""
    known = (mitigation_of(one) for one in space.parameters.values() if one.mitigation)
    clock = any(one.to == "frequency" for one in space.parameters.values())
    return clock or any(not mitigation.interleavable for mitigation in known)


def preconditions(parameters: Mapping[str, Parameter]) -> tuple[Precondition, ...]:
    """What the machine has to be surveyed for; a parameter that can go nowhere is refused."""
    found = [mitigation_of(one).applies for one in parameters.values() if one.mitigation]
    if any(one.to == "frequency" for one in parameters.values()):
        found.append(Precondition(root=True, file=_FIRST_CLOCK))
    return tuple(found)


def _made(name: str, scope: Scope, apply: Mapping[str, Any], **more: Any) -> Mitigation:
    """Make what a parameter sets into a mitigation, so that it is journalled, proved and put back as one."""
    return Mitigation.model_validate(
        {
            "key": "sweep",
            "name": name,
            "description": name,
            "when": "",
            "hurts": "",
            "scope": scope,
            "apply": apply,
            **more,
        }
    )


def _threads(name: str, _: Parameter, text: str) -> Mitigation:
    _whole(name, text, "a number of threads")
    return _made(name, "process", {"environment": dict.fromkeys(THREADS, text)})


def _frequency(name: str, _: Parameter, text: str) -> Mitigation:
    khz = _whole(name, text, "a clock in MHz") * 1000
    write = {"path": _CLOCK, "value": str(khz), "siblings": ["scaling_min_freq"]}
    return _made(name, "system", {"write": [write]}, applies={"root": True, "file": _FIRST_CLOCK})


def _scheduler(name: str, parameter: Parameter, text: str) -> Mitigation:
    path = f"/sys/block/{parameter.device}/queue/scheduler"
    siblings = ["nr_requests", "wbt_lat_usec"]
    write = {"path": path, "value": text, "siblings": siblings, "optional": "*" in parameter.device}
    return _made(name, "system", {"write": [write]}, applies={"root": True})


def _in_group(knob: str, times: int, what: str) -> Callable[[str, Parameter, str], Mitigation]:
    """Make the maker of a limit of a control group, of so many of its units for each that is written."""
    return lambda name, _, text: _made(name, "cgroup", {"spawn": {"group": {knob: _whole(name, text, what) * times}}})


_MAKERS: Mapping[str, Callable[[str, Parameter, str], Mitigation]] = {
    "threads": _threads,
    "frequency": _frequency,
    "scheduler": _scheduler,
    "cpu_quota": _in_group("cpu_quota_us", 1000, "a quota in per cent of one CPU"),
    "memory": _in_group("memory_bytes", 1 << 20, "a limit in MiB"),
}


def _whole(name: str, text: str, what: str) -> int:
    if not _WHOLE.fullmatch(text) or int(text) == 0:
        raise VgoError(f"{name}={text} is not {what}: give a whole number above zero.")
    return int(text)


def _cpus(lists: list[str], parts: list[Mitigation], machine: Machine) -> frozenset[int]:
    if len(lists) > 1 or any(part.apply and part.apply.spawn.affinity for part in parts):
        raise VgoError("Two parameters say on which CPUs it runs: leave one of them out.")
    if not _CPUS.fullmatch(lists[0]):
        raise VgoError(f"{lists[0]!r} is no list of CPUs: write one such as 0-1,4.")
    cpus = frozenset(cpu_list(lists[0]))
    if not cpus or not cpus <= set(machine.cpus):
        allowed = ",".join(map(str, machine.cpus))
        raise VgoError(f"The CPUs {lists[0]} are not among those that this process may use: {allowed}.")
    return cpus


def _joined(parts: list[Mitigation]) -> Mitigation:
    """Make one mitigation of several; two that set the same thing to different values are refused."""
    apply: dict[str, Any] = {}
    verify: dict[str, Any] = {}
    for part in parts:
        apply = _merged(apply, part.apply.model_dump(exclude_defaults=True) if part.apply else {}, "")
        verify = _merged(verify, part.verify.model_dump(exclude_defaults=True), "")
    paths = [write["path"] for write in apply.get("write", ())]
    if twice := next((path for path in paths if paths.count(path) > 1), None):
        raise VgoError(f"Two parameters write {twice}: leave one of them out.")
    scope: Scope = max((part.scope for part in parts), key=_reach, default="process")
    return _made("sweep", scope, Apply.model_validate(apply).model_dump(), verify=Verify.model_validate(verify))


def _reach(scope: Scope) -> int:
    return _SCOPES.index(scope) if scope in _SCOPES else len(_SCOPES)


def _merged(one: Mapping[str, Any], other: Mapping[str, Any], place: str) -> dict[str, Any]:
    merged = dict(one)
    for name, value in other.items():
        where, before = f"{place}.{name}".lstrip("."), merged.get(name)
        if name not in merged or before == value:
            merged[name] = value
        elif isinstance(before, dict) and isinstance(value, dict):
            merged[name] = _merged(before, value, where)
        elif isinstance(before, tuple) and isinstance(value, tuple):
            merged[name] = (*before, *value)
        else:
            raise VgoError(f"Two parameters set {where}, to {before} and to {value}: leave one of them out.")
    return merged
