"""The files of a sweep: the table of runs with what its columns mean, the table of cells, the report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from ...layers.schema import Layer
from ...prompts.render import render
from ...tools.machine import Machine
from ...tools.recorded.write import write as write_table
from ...tools.subject import Subject
from ...tools.sweep.sweep import Sweep
from ...tools.sweep.table import cell_rows, cells_csv, runs_table
from ..report.sweep import sweep_page
from ..report.sweep_figure import figure
from ..run_folder import write
from ..terminal import folded

RUNS, CELLS, SUMMARY = "runs.csv", "cells.csv", "sweep.json"


@dataclass(frozen=True)
class Files:
    """Where they go, and what they say of the machine."""

    folder: Path
    subject: Subject
    machine: Machine
    layers: Mapping[str, Layer]

    def write(self, sweep: Sweep) -> tuple[dict[str, Any], str]:
        """Write all of them; give the object and the words of the answer."""
        cells = list(cell_rows(sweep))
        page = sweep_page(sweep, cells, self.subject, self.folder)
        if sweep.ran.rows:
            facts = {"subject": self.subject.model_dump(mode="json"), "machine": self.machine.model_dump(mode="json")}
            path = self.folder / RUNS
            write_table(runs_table(sweep, str(path), self.layers.values(), facts), path, fresh=True)
        write(self.folder / CELLS, cells_csv(cells))
        write(self.folder / SUMMARY, json.dumps(page["summary"], indent=2).encode() + b"\n")
        write(self.folder / "report.md", render("sweep.md.j2", page=page).encode())
        picture = Markup(figure(sweep.space, cells, self.subject.unit))
        write(self.folder / "report.html", render("sweep.html.j2", page=page, picture=picture).encode())
        return page["summary"], folded(render("sweep.txt.j2", page=page))
