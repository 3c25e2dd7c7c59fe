"""Carry a sweep out in its folder, or go on with one: every run is kept as it ends, the tables at the end."""

from __future__ import annotations

import contextlib
import gc
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from ...knowledge.actions import Precondition
from ...knowledge.errors import VgoError
from ...tools.execution.launcher_time import LauncherTimer
from ...tools.execution.row_log import SYNC_S, Remark, RowLog, RowsInMemory, rows_in
from ...tools.experiment.conditions import AppliedConditions
from ...tools.layers_here import choose
from ...tools.subject import Allow, Subject
from ...tools.sweep.cell_runs import mitigations_of, preconditions
from ...tools.sweep.space import Space
from ...tools.sweep.sweep import CellConditions, Sweep
from ...tools.sweep.table import cell_rows, cells_csv, runs_table
from ..clock import BudgetClock
from ..commands.subject import with_command
from ..consent import NO, ONCE
from ..experiment import EndedExperiment, ExperimentRequest, ExperimentResult, ExperimentRun, RemadeFiles, go_on
from ..interface import Interface
from ..run_folder import RunFolder, experiment_in, write
from ..session import read_request

if TYPE_CHECKING:
    from ...layers.schema import Layer

RUNS, CELLS = "runs.csv", "cells.csv"
DRAWN, RAN = "cells.jsonl", "log.jsonl"
"""Logs of the cells that were drawn, and of the runs."""
FILES_S = 3.0
"""Of the budget, for the tables and pictures after the last run."""
SAME = ("launcher", "root", "directory", "timeout_s")
"""Of the subject: what stays from one command to the next."""


def filled(word: str, texts: Mapping[str, str]) -> str:
    """Put the levels in the place of `{name}`; other braces stay."""
    return re.sub(r"\{([a-z][a-z0-9_]*)\}", lambda found: texts.get(found[1], found[0]), word)


class SweepRequest(ExperimentRequest):
    """What a sweep was asked for; it goes on only with the same, but for its limits."""

    lenient: ClassVar[bool] = True
    kind: Literal["sweep"] = "sweep"
    space: Space
    """Resolved: the command and all else that the command line says is in it."""
    seed: int
    layers: tuple[str, ...]
    inputs: tuple[str, ...]
    """Files that the user named."""
    allow: Allow
    """A command that goes on with it need not say it again."""

    @property
    def conditions(self) -> Sequence[Precondition]:
        """What the machine has to be surveyed for."""
        return preconditions(self.space.parameters)

    @property
    def probed(self) -> Sequence[str]:
        """Layers that are on in every run."""
        return self.layers

    def program(self, texts: Mapping[str, str]) -> Subject:
        """The program of one cell, as it is meant from the directory that the sweep began in."""
        command = tuple(filled(word, texts) for word in self.space.command)
        with contextlib.chdir(self.subject.directory):
            return with_command(self.subject, command, self.inputs)

    def lasting(self, seconds: float, folder: RunFolder) -> Self:
        """Give it another budget."""
        budget = self.space.budget.model_copy(update={"seconds": seconds})
        return self.model_copy(update={"space": self.space.model_copy(update={"budget": budget})})

    def differs(self, before: SweepRequest) -> str:
        """Name what is another than it was; empty where it can go on: limits may change."""
        kept = [name for name in Space.model_fields if name not in ("repetitions", "budget", "description")]
        pairs = (
            (self, before, ("seed", "layers", "inputs")),
            (self.subject, before.subject, SAME),
            (self.space, before.space, kept),
        )
        differing = (name for now, then, names in pairs for name in names if getattr(now, name) != getattr(then, name))
        return next(differing, "")

    def beyond(self) -> list[tuple[str, str]]:
        """Name the parameters that change more than the program, with their scope."""
        found = mitigations_of(self.space.parameters)
        return [(name, one.scope) for name, one in found.items() if one.scope != "process"]

    def ask(self, interface: Interface) -> None:
        """Ask for consent to what changes more than the program; without it, refuse before the first run."""
        allow, mitigations = self.allow, [one for one in self.space.parameters.values() if one.mitigation]
        far = self.beyond()
        if allow == "none" and (far or mitigations):
            raise VgoError("--allow none forbids what some parameters set: leave it out, or those parameters.")
        if not far or allow == "system":
            return
        names = ", ".join(name for name, _ in far)
        scope = "system" if any(scope == "system" for _, scope in far) else "cgroup"
        would = [f"set {name}, for the runs of the cells that say so (--dry-run lists each write)" for name, _ in far]
        answers = (ONCE.key, NO.key)
        said = interface.approve({"mitigation": "This sweep", "scope": scope, "would": would, "answers": answers})
        if not said["granted"]:
            raise VgoError(
                f"{names} may not be changed ({said['reason']}): leave those parameters out, or give --allow system "
                "(--dry-run lists each write)."
            )

    def run(self, run: ExperimentRun) -> EndedExperiment:
        """Run the cells, and write the files; what was measured is written where an error ends it, too."""
        bench, space = run.place.bench, self.space
        layers = choose(self.layers, bench).layers if self.layers else ()
        seconds = space.budget.seconds
        assert seconds is not None
        bench.deadline = run.clock.deadline(seconds, FILES_S)
        launcher = LauncherTimer(bench, seconds)
        launcher.time()
        with _log(run.folder.path / DRAWN, 0.0) as drawn, _log(run.folder.path / RAN) as ran:
            listener, hosts = run.interface.progressed, bool(self.subject.on)
            sweep = Sweep(space, self.seed, drawn, ran, hosts, listener, bench.deadline)

            def written() -> EndedExperiment:
                return write_files(sweep, run, bench.described_by(layers), launcher)

            gc.disable()  # a collection between two runs would evict what the next one finds in the cache
            try:
                cells = CellConditions(sweep, self.program)
                with AppliedConditions(bench, cells, run.machine) as conditions:
                    sweep.go(bench, conditions, layers)
            except VgoError:
                with contextlib.suppress(VgoError):  # the first says more
                    written()
                raise
            finally:
                gc.enable()
            launcher.time()
            return written()

    def remade(self, folder: RunFolder) -> RemadeFiles:
        """Make both tables again, and what rows alone tell."""
        from ..report.sweep import best

        drawn, ran = (RowsInMemory(rows_in(folder.path / name)) for name in (DRAWN, RAN))
        sweep = Sweep(self.space, self.seed, drawn, ran, bool(self.subject.on))
        cells = list(cell_rows(sweep))
        runs = runs_table(sweep, RUNS, (), {}).frame.write_csv().encode()
        failed = sum(row["failed"] for row in cells)
        answer = {"runs": sweep.runs, "cells": len(cells), "failed": failed, "best": best(sweep, cells)}
        return RemadeFiles(len(ran.rows), {RUNS: runs, CELLS: cells_csv(cells)}, answer)


def begin(request: SweepRequest, folder: RunFolder, interface: Interface, clock: BudgetClock) -> ExperimentResult:
    """Sweep in a folder, or go on with what an earlier command with the same space has left in it."""
    if folder.path.exists() and any(path.name != ".lock" for path in folder.path.iterdir()):
        _refuse_another(request, folder.path)
        interface.progressed(Remark(f"going on with {folder.path}"))
    return go_on(request, folder, interface, clock)


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


def _log(path: Path, sync_s: float = SYNC_S) -> contextlib.closing[RowLog]:
    """Open a log of a sweep; cells are on the disk before runs of them can be."""
    return contextlib.closing(RowLog(path, "run the same command again", sync_s))


def write_files(
    sweep: Sweep, run: ExperimentRun, layers: Mapping[str, Layer], launcher: LauncherTimer
) -> EndedExperiment:
    """Write all of them; give the answer."""
    # Tables and pictures are dear to load, and no run should wait for that.
    from ...tools.document import illustrated
    from ...tools.recorded.write import write as write_table
    from ..render.text import blocks_text
    from ..report.response_figures import figure
    from ..report.svg import document_files
    from ..report.sweep import answer, document, sweep_summary

    cells, folder, subject = list(cell_rows(sweep)), run.folder.path, run.subject
    summary = sweep_summary(sweep, cells, subject, folder, launcher.alone())
    if sweep.ran.rows:
        path = folder / RUNS
        write_table(runs_table(sweep, str(path), layers.values(), run.facts), path, fresh=True)
    write(folder / CELLS, cells_csv(cells))
    picture = figure(sweep.space, cells, subject.unit)
    pages = document_files(illustrated(document(sweep, cells, summary), {"sweep": picture}))
    for name, content in pages.items():
        write(folder / name, content.encode())
    summary["files"] = [str(folder / name) for name in (*[RUNS] * bool(sweep.ran.rows), CELLS, *pages)]
    failure = ""
    if sweep.impossible:
        first = sweep.standing(sweep.cells[0]).reason
        failure = f"No cell could be run: {first}; see cells.csv in {folder} for the others."
    words = f"{blocks_text(answer(sweep, summary))}\nReport: {folder / 'report.html'}"
    return EndedExperiment(summary, words, failure)
