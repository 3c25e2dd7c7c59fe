"""Runs of cells on this machine: what a cell sets is made ready, proved once, kept while it runs, and put back."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from ...knowledge.errors import VgoError
from ..execution.expected import Expected
from ..execution.progress import RunEnded
from ..execution.way import Way, Ways
from ..machine import Machine
from ..mitigation.checks import Check
from ..mitigation.engine import Applied, applied
from ..mitigation.kernel_file import KernelRefusal
from ..row import Row
from .cell import CellSettings
from .setting import CellSetting, cell_setting

if TYPE_CHECKING:
    from ..execution.bench import Bench
    from ..execution.series import Series


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
