"""Runs of cells on this machine: what a cell sets is made ready, proved once, kept while it runs, and put back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ...knowledge.actions import Apply, Precondition, Verify
from ...knowledge.consistency import scope_of
from ...knowledge.errors import VgoError
from ...knowledge.files import parsed_yaml
from ...knowledge.schema import Mitigation
from ..execution.expected import Expected
from ..execution.launch import Launch
from ..execution.row_log import RunEnded
from ..execution.way import Way, Ways
from ..machine import Machine
from ..mitigation.by_hand import planned
from ..mitigation.engine import Applied, applied
from ..mitigation.kernel_file import KernelRefusal
from ..mitigation.parameters import with_values
from ..mitigation.preconditions import beyond_reach, shipped, unmet
from ..mitigation.verification import Check
from ..row import Row
from ..subject import Subject
from .cell import CellSettings
from .space import OFF, Parameter, Space

if TYPE_CHECKING:
    from ..execution.bench import Bench
    from ..execution.series import Series


KINDS = Path(__file__).with_name("kinds.yaml")
LEVEL = "level"
"""The parameter of a kind of setting."""


@dataclass(frozen=True)
class CellSetting:
    """How one cell is run here."""

    subject: Subject
    mitigation: Mitigation
    """Everything that is set; it may be nothing."""

    @property
    def launch(self) -> Launch:
        """Before the mitigation."""
        return Launch(argv=self.subject.argv, directory=Path(self.subject.directory))

    @property
    def identity(self) -> str:
        """What two settings share that are the same."""
        return f"{self.subject.model_dump_json()} {self.mitigation.model_dump_json()}"

    def would(self, machine: Machine) -> tuple[str, ...]:
        """List every write, hold, variable and change of the start."""
        return planned(self.mitigation, self.subject, machine, Path(self.subject.root))


def cell_setting(cell: CellSettings, machine: Machine) -> CellSetting:
    """Make a setting; raises VgoError where the cell is impossible here."""
    subject, texts = cell.program(), cell.texts
    parts = [part for name, text in texts.items() for part in _parts(name, cell.parameters[name], text, machine)]
    for part in parts:
        _refuse(part, subject, machine)
    setting = CellSetting(subject, _joined(parts))
    setting.would(machine)  # what cannot be resolved is told before anything is touched
    return setting


def _parts(name: str, parameter: Parameter, text: str, machine: Machine) -> Iterator[Mitigation]:
    chosen = LEVEL if parameter.to in kinds() else parameter.parameter
    if parameter.environment:
        yield _made(name, {"environment": {parameter.environment: text}})
    elif (kind := mitigation_of(name, parameter)) and (chosen or text != OFF):
        yield with_values(kind, {chosen: text} if chosen else {}, machine)


def _refuse(part: Mitigation, subject: Subject, machine: Machine) -> None:
    # How many CPUs the program keeps busy is not known, and a sweep is there to find out.
    asked = part.applies.model_copy(update={"single_threaded": False, "multi_threaded": False})
    if reasons := (*unmet(asked, machine, subject, None), *beyond_reach(part, machine, subject)):
        raise VgoError(f"{part.name}: {reasons[0].rstrip('.')}.")


@cache
def kinds() -> Mapping[str, Mitigation]:
    """What a parameter can go to beside the command, a variable and the mitigations that are known."""
    return {key: _made(key, **given) for key, given in parsed_yaml(KINDS.read_text(encoding="utf-8")).items()}


def mitigation_of(name: str, parameter: Parameter) -> Mitigation | None:
    """Find what a parameter sets; None: an argument or a variable. What is unknown, or for a person, is refused."""
    if not parameter.mitigation:
        return _on_device(name, parameter) if parameter.to in kinds() else None
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


def _on_device(name: str, parameter: Parameter) -> Mitigation:
    """The kind under the name of the parameter; on a disk that is named, it must hold."""
    kind, device = kinds()[parameter.to], parameter.device
    apply = kind.apply or Apply()
    if device != "*":
        writes = tuple(
            one.model_copy(update={"path": one.path.replace("/*/", f"/{device}/"), "optional": "*" in device})
            for one in apply.write
        )
        apply = apply.model_copy(update={"write": writes})
    return kind.model_copy(update={"key": name, "name": name, "apply": apply})


def mitigations_of(parameters: Mapping[str, Parameter]) -> dict[str, Mitigation]:
    """Find what each parameter sets that sets more than an argument or a variable."""
    return {name: found for name, one in parameters.items() if (found := mitigation_of(name, one))}


def settles_slowly(space: Space) -> bool:
    """Tell whether a parameter should not be switched between every two runs."""
    return not all(one.interleavable for one in mitigations_of(space.parameters).values())


def preconditions(parameters: Mapping[str, Parameter]) -> tuple[Precondition, ...]:
    """What the machine has to be surveyed for; a parameter that can go nowhere is refused."""
    return tuple(one.applies for one in mitigations_of(parameters).values())


def _made(name: str, apply: Mapping[str, Any], **more: Any) -> Mitigation:
    """Make what a parameter sets into a mitigation, so that it is journalled, proved and put back as one."""
    does = Apply.model_validate(apply)
    made = {"key": name, "name": name, "description": name, "when": "", "hurts": "", "scope": scope_of(does)}
    return Mitigation.model_validate({**made, "apply": does, **more})


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
    return _made("sweep", apply, verify=Verify.model_validate(verify))


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


class PreparedCell(NamedTuple):
    """A cell whose settings are ready, or in force."""

    cell: str
    setting: CellSetting
    change: Applied
    undo: ExitStack
    ways: Ways
    """Its own, so that they go with it."""


@dataclass
class CellRuns:
    """Runs cells one after the other."""

    bench: Bench
    machine: Machine
    proved: set[str] = field(default_factory=set)
    """Settings that were shown to be in force."""
    _longest_s: dict[str, float] = field(default_factory=dict)
    """Of the runs of each cell that ended by themselves."""
    _now: PreparedCell | None = None

    def run(self, series: Series, name: str, cell: CellSettings, pair: int) -> None:
        """Run a cell once and keep the row, also where it is refused; what it sets stays until another cell is run."""
        if (row := self._row(name, cell, series.layers)) is None:
            series.cut = True  # the budget ended before the run
            return
        series.log.append({"order": len(series.rows), "condition": name, "pair": pair, **row})
        self.bench.listener(RunEnded(series.rows, series.planned))

    def _row(self, name: str, cell: CellSettings, layers: Sequence[str]) -> Row | None:
        if self._now is None or self._now.cell != name:
            self.close()
            try:
                setting = cell_setting(cell, self.machine)
            except VgoError as error:
                return refused(error)
            try:
                self._now = self._prepared(name, setting)
            except KernelRefusal as error:  # another agent that holds the settings is no matter of the cell
                return refused(error)
        try:
            if failing := self._failing(self._now):
                return None if self.bench.deadline.over else refused(failing.failure)
            return None if self.bench.deadline.over else self._ran(self._now, layers)
        except VgoError as error:  # of the proof, of the program, or of a condition of its start
            return refused(error)

    def close(self) -> None:
        """Put back what the last cell set."""
        now, self._now = self._now, None
        if now:
            now.undo.close()

    def _prepared(self, name: str, setting: CellSetting) -> PreparedCell:
        with ExitStack() as undo:
            change = undo.enter_context(applied(setting.mitigation, setting.launch, setting.subject, self.machine))
            return PreparedCell(name, setting, change, undo.pop_all(), self.bench.new_ways())

    def _failing(self, now: PreparedCell) -> Check | None:
        """Switch it on; the first time prove it, with runs that are no part of the data."""
        if now.setting.identity not in self.proved:
            starts = replace(self.bench.starts, ways=now.ways)
            checks = now.change.prove(starts, self._limit_s(now, now.ways.of(now.change.launch)))
            if failing := next((check for check in checks if not check.passed), None):
                return failing  # and it is proved anew where it is asked for again
            self.proved.add(now.setting.identity)
        return next((check for check in now.change.on() if not check.passed), None)

    def _limit_s(self, now: PreparedCell, way: Way) -> float | None:
        """When a run is ended: by what other runs of the cell took, since another cell may be another program."""
        shown = Expected(longest_s=self._longest_s.get(now.cell, 0.0)).limit_s()
        limits = [limit for limit in (shown, self.bench.limit_s(way, changed=False)) if limit is not None]
        return min(limits, default=None)

    def _ran(self, now: PreparedCell, layers: Sequence[str]) -> Row | None:
        way = now.ways.of(now.change.launch, tuple(layers))
        if (judged := self.bench.judged(way, now.setting.subject, self._limit_s(now, way))) is None:
            return None
        run, outcome = judged
        if not run.timed_out:
            self._longest_s[now.cell] = max(self._longest_s.get(now.cell, 0.0), run.wall_ns / 1e9)
        return way.row(run, outcome.outcome, begun=1, reason=outcome.failure)


def refused(reason: object) -> Row:
    """Make the row of a cell that could not be begun."""
    return {
        "ok": 0,
        "begun": 0,
        "reason": str(reason).rstrip("."),
        "exit_code": None,
        "survivors": 0,
        "outcome": None,
        "wall_s": 0.0,
        "layers": "",
    }
