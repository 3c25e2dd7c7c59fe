"""The runs of a diagnosis in one table, and the page that says what the table means."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

from ...tools.document import Command, Document, Section, Table
from ...tools.findings import Findings
from ...tools.record import Record
from ...tools.row import FIXED, RUNS
from ...tools.run_table import LAYERS, write_layers
from ...tools.trial_results import ApplyResult
from ..record import FinishedRun
from ..render.text import markdown_page
from .numbers import Fact

PAGE = "runs.md"
LEADING = ("call", "tool", "batch", "block")
_MEANINGS = {
    "call": ("Step of the diagnosis in which the run was made.", ""),
    "tool": ("What that step did.", ""),
    "batch": ("Batch of pairs: 1 screens, 2 confirms; empty outside batches.", ""),
    "block": ("Block of pairs that were run together, where switching is slow; empty where pairs took turns.", "count"),
    "order": ("Place of the run within its step, from 0.", "count"),
    "condition": ("baseline, or the mitigation that was in force.", ""),
    "pair": ("Pair within the batch; -1 outside pairs.", "count"),
    "ok": ("0 where the run failed and does not count.", ""),
    "exit_code": ("Exit status; negative: the signal that ended it.", ""),
    "survivors": ("Processes that the run left behind, which were ended.", "count"),
    "outcome": ("What the run is judged by.", "{unit}"),
    "wall_s": ("From spawn to the end of the process.", "s"),
    "layers": ("Layers that were on, joined by +, the outermost first; empty for a bare run.", ""),
    "failure": ("Why the run does not count, in a few words; empty where it does.", ""),
}


def runs_csv(record: Record) -> bytes:
    """Join the tables of all measuring calls, one row a run; called after each of them, so no data frame is built."""
    findings = Findings(record)
    tables = [(call, *_split(record.store.get(call.artefacts[RUNS]))) for call in findings.measuring]
    blocks = {call.call_id: applied.block for call, applied in findings.ended(ApplyResult)}
    metrics = sorted({name for _, header, _ in tables for name in header} - set(FIXED))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*LEADING, *FIXED, *metrics])
    for call, header, rows in tables:
        place = {name: index for index, name in enumerate(header)}
        source = [place.get(name) for name in (*FIXED, *metrics)]
        start = [call.call_id, call.tool, str(call.arguments.get("batch", ""))]
        each = blocks.get(call.call_id, 1)
        for row in rows:
            block = str(int(row[place["pair"]]) // each) if each > 1 else ""
            writer.writerow([*start, block, *("" if index is None else row[index] for index in source)])
    return text.getvalue().encode()


def write_folder(record: Record, page: bytes, path: Path) -> tuple[Path, ...]:
    """Write the table of runs, what its columns mean, and a page that describes it; return the files."""
    path.mkdir(exist_ok=True)
    files = {RUNS: runs_csv(record), LAYERS: write_layers(record.all_layers), PAGE: page}
    for name, content in files.items():
        (path / name).write_bytes(content)
    return tuple(path / name for name in files)


def absent(run: FinishedRun) -> tuple[Fact, ...]:
    """What this machine does not show, with the reason; what shares a reason stands together."""
    profiles = Findings(run.record).profiles
    columns = {name: reason for profile in profiles for name, reason in profile.hidden.items()}
    grouped: dict[str, list[str]] = {}
    for name, reason in {**run.machine.absent, **columns}.items():
        grouped.setdefault(reason, []).append(name)
    return tuple((", ".join(names), reason) for reason, names in grouped.items())


def runs_md(run: FinishedRun) -> bytes:
    """Describe system under test, options and every column, for a person and for a program."""
    facts = {
        "subject": run.subject.model_dump(mode="json"),
        "limits": run.limits.model_dump(mode="json"),
        "machine": run.machine.model_dump(mode="json"),
        "planner": run.planner,
    }
    told = json.dumps(facts, indent=2, sort_keys=True, ensure_ascii=False)
    better = "Lower" if run.subject.lower_is_better else "Higher"
    blocks = (
        (
            "`runs.csv` holds one row for each run of the program, over all steps of the diagnosis; a metric that a "
            f"step did not read is empty. {better} outcomes are better."
        ),
        Section("System under test and options", (Command(told, language="json"),)),
        Section("Columns", (Table(("column", "unit", "role", "layer", "meaning"), tuple(_columns(run))), _ROLES)),
        Section("Not available on this machine", (Table(("source", "reason"), absent(run)),)),
    )
    return markdown_page(Document("The runs", "run table", blocks)).encode()


_ROLES = (
    "Roles: an `outcome` is what a run is judged by; a `factor` may explain slow runs; a `consequence` grows because a "
    "run is slow, so it explains nothing; a `setting` describes how the run was made."
)


def _split(table: bytes) -> tuple[list[str], list[list[str]]]:
    header, *rows = csv.reader(io.StringIO(table.decode()))
    return header, rows


def _columns(run: FinishedRun) -> Iterator[tuple[str, ...]]:
    unit = run.subject.unit
    for name in (*LEADING, *FIXED):
        words, its_unit = _MEANINGS[name]
        role = "outcome" if name == "outcome" else "setting"
        yield f"`{name}`", its_unit.format(unit=unit), role, "", words
    headers = (_split(run.record.store.get(call.artefacts[RUNS]))[0] for call in Findings(run.record).measuring)
    read = {name for header in headers for name in header}
    left = read - set(FIXED)
    for layer in run.record.all_layers.values():
        found = {name: column for name in sorted(left) if (column := layer.column(name))}
        left -= found.keys()
        for name, column in found.items():
            words = f"{column.description} ({column.source})" if column.source else column.description
            yield f"`{name}`", column.unit, column.role, layer.key, words
