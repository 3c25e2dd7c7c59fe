"""Carry a sweep out in its folder, or go on with one: every run is kept as it ends, the tables at the end."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...knowledge.errors import VgoError
from ...tools.execution.progress import Remark
from ...tools.execution.row_log import SYNC_S, RowLog, RowsInMemory, rows_in
from ...tools.experiment.conditions import AppliedConditions
from ...tools.layers_here import choose
from ...tools.sweep.sweep import CellConditions, Sweep
from ...tools.sweep.table import cell_rows, cells_csv, runs_table
from ..clock import BudgetClock
from ..experiment import ExperimentRun, RemadeFiles, go_on
from ..interface import Interface
from ..run_folder import RunFolder, experiment_in
from ..session import ShownAnswer, read_request
from .request import SweepRequest

DRAWN, RAN = "cells.jsonl", "log.jsonl"
"""Logs of the cells that were drawn, and of the runs."""
FILES_S = 3.0
"""Of the budget, for the tables and pictures after the last run."""


@dataclass(frozen=True)
class SweepResult:
    """How a sweep ended."""

    answer: Mapping[str, Any]
    words: str
    failure: str = ""
    """Why there is no answer: no cell could be run."""

    def shown(self, saved: Sequence[Path] = ()) -> ShownAnswer:
        """Its answer, and its words."""
        return ShownAnswer({**self.answer}, self.words, self.failure)


def begin(request: SweepRequest, folder: RunFolder, interface: Interface, clock: BudgetClock) -> SweepResult:
    """Sweep in a folder, or go on with what an earlier command with the same space has left in it."""
    if folder.path.exists() and any(path.name != ".lock" for path in folder.path.iterdir()):
        _refuse_another(request, folder.path)
        interface.progressed(Remark(f"going on with {folder.path}"))
    result = go_on(request, folder, interface, clock)
    assert isinstance(result, SweepResult)
    return result


def _refuse_another(request: SweepRequest, folder: Path) -> None:
    """Refuse to go on with what is no sweep, or another one."""
    if experiment_in(folder) != request.kind:
        raise VgoError(f"{folder} is there and holds no sweep: give a --name of its own, or another --out.")
    before = read_request(folder, SweepRequest)
    if bool(before.subject.on) != bool(request.subject.on):
        made = "on the hosts of a cluster" if before.subject.on else "on this machine"
        raise VgoError(f"{folder} holds a sweep that was made {made}: go on with it there, or give this one a --name.")
    if differs := request.differs(before):
        raise VgoError(
            f"{folder} holds a sweep with another {differs}: give this one a --name of its own, or remove that."
        )


def conduct(request: SweepRequest, run: ExperimentRun) -> SweepResult:
    """Run the cells, and write the files; what was measured is written where an error ends it, too."""
    bench, space = run.place.bench, request.space
    layers = choose(request.layers, bench).layers if request.layers else ()
    seconds = space.budget.seconds
    assert seconds is not None
    bench.deadline = run.clock.deadline(seconds, FILES_S)
    with _log(run.folder.path / DRAWN, 0.0) as drawn, _log(run.folder.path / RAN) as ran:
        listener, hosts = run.interface.progressed, bool(request.subject.on)
        sweep = Sweep(space, request.seed, drawn, ran, hosts, listener, bench.deadline)

        def written() -> SweepResult:
            from .files import write_files  # tables and pictures are dear to load, and no run should wait for that

            return write_files(sweep, run, bench.described_by(layers))

        gc.disable()  # a collection between two runs would evict what the next one finds in the cache
        try:
            cells = CellConditions(sweep, request.program)
            with AppliedConditions(bench, cells, run.machine) as conditions:
                sweep.go(bench, conditions, layers)
        except VgoError:
            with contextlib.suppress(VgoError):  # the first says more
                written()
            raise
        finally:
            gc.enable()
        return written()


def _log(path: Path, sync_s: float = SYNC_S) -> contextlib.closing[RowLog]:
    """Open a log of a sweep; cells are on the disk before runs of them can be."""
    return contextlib.closing(RowLog(path, "run the same command again", sync_s))


def remade(request: SweepRequest, folder: RunFolder) -> RemadeFiles:
    """Make both tables again, and what rows alone tell."""
    from ..report.sweep import best
    from .files import CELLS, RUNS

    drawn, ran = (RowsInMemory(rows_in(folder.path / name)) for name in (DRAWN, RAN))
    sweep = Sweep(request.space, request.seed, drawn, ran, bool(request.subject.on))
    cells = list(cell_rows(sweep))
    runs = runs_table(sweep, RUNS, (), {}).frame.write_csv().encode()
    failed = sum(row["failed"] for row in cells)
    answer = {"runs": sweep.runs, "cells": len(cells), "failed": failed, "best": best(sweep, cells)}
    return RemadeFiles(len(ran.rows), {RUNS: runs, CELLS: cells_csv(cells)}, answer)
