"""The files of a sweep: the table of runs with what its columns mean, the table of cells, the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...layers.schema import Layer
from ...tools.document import illustrated
from ...tools.execution.launcher_time import LauncherAlone
from ...tools.recorded.write import write as write_table
from ...tools.sweep.sweep import Sweep
from ...tools.sweep.table import cell_rows, cells_csv, runs_table
from ..experiment import ExperimentRun
from ..render.terminal import blocks_text
from ..report.sweep import answer, document, sweep_summary
from ..run_folder import write
from ..session import ShownAnswer

RUNS, CELLS = "runs.csv", "cells.csv"


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


def write_files(
    sweep: Sweep, run: ExperimentRun, layers: Mapping[str, Layer], launcher: LauncherAlone | None
) -> SweepResult:
    """Write all of them; give the answer."""
    from ..render.files import document_files
    from ..report.response_figures import figure  # Matplotlib takes its time

    cells, folder, subject = list(cell_rows(sweep)), run.folder.path, run.subject
    summary = sweep_summary(sweep, cells, subject, folder, launcher)
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
    return SweepResult(summary, words, failure)
