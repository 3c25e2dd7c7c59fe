"""Run cells on this machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import NamedTuple

from ...knowledge.errors import VgoError
from ..execution.bench import Bench, row_of
from ..execution.expected import Expected
from ..execution.judge import judge
from ..execution.through import Through
from ..execution.way import Way, Ways
from ..machine import Machine
from ..mitigation.checks import Check
from ..mitigation.engine import Applied, applied
from ..mitigation.kernel_file import KernelRefusal
from ..row import Row
from .cell import Cell
from .setting import CellSetting


class PreparedCell(NamedTuple):
    """A cell whose settings are ready, or in force."""

    cell: str
    setting: CellSetting
    change: Applied
    undo: ExitStack


@dataclass
class LocalCells:
    """Sets a cell up, proves once that it is in force, runs it, and puts everything back."""

    settings: Callable[[Cell], CellSetting]
    """Raises VgoError where a cell is impossible."""
    machine: Machine
    bench: Bench
    """Its spawner, layers and launcher."""
    layers: Sequence[str] = ()
    """Specs of those that are on in every run."""
    proved: set[str] = field(default_factory=set)
    """Settings that were shown to be in force."""
    longest_s: dict[str, float] = field(default_factory=dict)
    """Of the runs of each cell that ended by themselves."""
    _now: PreparedCell | None = None

    def run(self, cell: Cell) -> Row | None:
        """Run a cell once and give its row; what it sets stays until another cell is run."""
        if self._now is None or self._now.cell != cell.id:
            self.close()
            try:
                setting = self.settings(cell)
            except VgoError as error:
                return refused(_plain(error))
            try:
                self._now = self._prepared(cell, setting)
            except KernelRefusal as error:  # another agent that holds the settings is no matter of the cell
                return refused(_plain(error))
        try:
            failing = self._failing(self._now)
        except VgoError as error:
            return refused(_plain(error))
        if self.bench.deadline.over:
            return None
        if failing:
            return refused(f"not in force: {failing.what} is {failing.seen}, expected {failing.expected}")
        return self._row(self._now)

    def close(self) -> None:
        """Put back what the last cell set."""
        now, self._now = self._now, None
        if now:
            now.undo.close()

    def _prepared(self, cell: Cell, setting: CellSetting) -> PreparedCell:
        with ExitStack() as undo:
            change = undo.enter_context(applied(setting.mitigation, setting.launch, setting.subject, self.machine))
            return PreparedCell(cell.id, setting, change, undo.pop_all())

    def _failing(self, now: PreparedCell) -> Check | None:
        """Switch it on; the first time prove it, with runs that are no part of the data."""
        if now.setting.identity not in self.proved:
            ways = Ways(self.bench.launcher)
            way = ways.of(now.change.launch, ())
            through = Through(self.bench.spawner, ways, self.bench.deadline)
            checks = now.change.prove(through, self._limit_s(now, way))
            if failing := next((check for check in checks if not check.passed), None):
                return failing  # and it is proved anew where it is asked for again
            self.proved.add(now.setting.identity)
        return next((check for check in now.change.on() if not check.passed), None)

    def _limit_s(self, now: PreparedCell, way: Way) -> float | None:
        """When a run is ended: by what other runs of the cell took, since another cell may be another program."""
        shown = Expected(longest_s=self.longest_s.get(now.cell, 0.0)).limit_s()
        limits = [limit for limit in (shown, self.bench.limit_s(way, changed=False)) if limit is not None]
        return min(limits, default=None)

    def _row(self, now: PreparedCell) -> Row | None:
        bench, change, subject = self.bench, now.change, now.setting.subject
        way = Ways(bench.launcher, lambda spec: (bench.layer(spec), bench.probe(spec))).of(
            change.launch, tuple(self.layers)
        )
        own_s = self._limit_s(now, way)
        limit_s = bench.deadline.limit_s(own_s)
        try:
            run = bench.spawner.run(
                way.launch, way.probes, limit_s, capture=subject.metric is not None, on_started=bench.on_started
            )
        except VgoError as error:  # the program, or a condition of its start
            return refused(_plain(error))
        if run.timed_out and limit_s != own_s:
            return None
        if not run.timed_out:
            self.longest_s[now.cell] = max(self.longest_s.get(now.cell, 0.0), run.wall_ns / 1e9)
        judged = judge(run, subject, way.through, limit_s)
        return row_of(run, judged, way, begun=1, reason=judged.failure)


def refused(reason: str) -> Row:
    """Make the row of a cell that could not be begun."""
    return {
        "ok": 0,
        "begun": 0,
        "reason": reason,
        "exit_code": None,
        "survivors": 0,
        "outcome": None,
        "wall_s": 0.0,
        "layers": "",
    }


def _plain(error: VgoError) -> str:
    return str(error).rstrip(".")
