"""The answer of one step alone: words for a terminal, and one object for programs."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ...knowledge.loader import load
from ...tools.analysis.analysis import LEAST_RUNS
from ...tools.document import Block, Command, Facts, Figure, Note, Section, Table
from ...tools.ledger.ledger import Ledger, ledger_of
from ...tools.ledger.split import LEDGER, STACKS, split_runs
from ...tools.record import Result
from ...tools.results import MeasureResult, ProfileResult
from ...tools.row import Row
from ...tools.run_table import LAYERS, RUNS, RunTable, read_layers, read_runs
from ...tools.statistics.ratio_test import FEWEST
from ...tools.statistics.shape.describe import describe
from ...tools.statistics.spread import log_sd_interval
from ..record import FinishedRun
from ..render.text import blocks_text
from ..session import ShownAnswer
from ..terminal import speaks_unicode
from . import factors, ledger
from .ledger import ledger_text
from .numbers import histogram, number, statistics
from .remarks import findings, of_form

MOST_HIDDEN = 12
CTRL_C = "Ctrl-C"
NO_LEDGER = f"No ledger can be made: it needs {FEWEST} runs that vary, each with one outcome; raise --runs."


@dataclass(frozen=True)
class StepResult:
    """What it gave."""

    run: FinishedRun
    """As a diagnosis of one call has it, for what describes those."""
    result: Result
    rows: Sequence[Row]
    files: Mapping[str, bytes]
    """The table, and what its columns mean, as a run folder has them."""
    stopped: BaseException | None
    """Ctrl-C, or the exit that a signal asked for; what was measured until then counts."""
    folder: Path

    @cached_property
    def ledger(self) -> Ledger | None:
        """Where the milliseconds went, if the runs tell."""
        if not isinstance(self.result, ProfileResult):
            return None
        limits = self.run.limits
        return ledger_of(_runs(self), self.run.subject, limits.seed, load().factors, limits.steady_cv)

    @property
    def distorted(self) -> str:
        """Say that the runs of the ledger are not as others are; empty where they are."""
        if not isinstance(self.result, ProfileResult) or self.ledger is None:
            return ""
        sets = (one for one in self.result.distortions if self.ledger.layer in one.layers)
        why = next((one.set_aside for one in sets if one.set_aside), "")
        return f"Looking changed the program ({why.rstrip('.')}): this is the time of changed runs." if why else ""

    @property
    def answer(self) -> Mapping[str, Any]:
        """Its numbers without the rows."""
        told = {name: value for name, value in summary(self, ()).items() if name not in ("rows", "saved")}
        notes = [self.distorted, *(ledger.sentences(self.ledger) if self.ledger else ())]
        return told | {"headline": self.result.summary, "command": list(self.run.subject.command), "notes": notes}

    def shown(self, saved: Sequence[Path] = ()) -> ShownAnswer:
        """Its numbers with every row, and its words."""
        return ShownAnswer(summary(self, saved), text(self, saved, speaks_unicode(sys.stdout)))


def summary(stepped: StepResult, saved: Sequence[Path]) -> dict[str, Any]:
    """Give the object that `--json` prints: the result, every run, and what the runs were made on."""
    subject = stepped.run.subject
    return {
        "command": subject.typed,
        "outcome": subject.outcome,
        "unit": subject.unit,
        **stepped.result.model_dump(mode="json"),
        **({"ledger": stepped.ledger.model_dump(mode="json")} if stepped.ledger else {}),
        **({"ledger_set_aside": stepped.distorted} if stepped.distorted else {}),
        "interrupted": stepped.stopped is not None,
        "rows": [dict(row) for row in stepped.rows],
        "machine": stepped.run.machine.model_dump(mode="json"),
        "saved": [str(path) for path in saved],
        "run_dir": str(stepped.folder),
    }


def text(stepped: StepResult, saved: Sequence[Path], fancy: bool) -> str:
    """Give the words of a terminal; `fancy` where it can show block characters."""
    match stepped.result:
        case MeasureResult() as measured:
            blocks = _measured(stepped, measured, fancy)
        case ProfileResult() as profiled:
            blocks = _profiled(stepped, profiled, fancy)
        case other:
            raise TypeError(f"no words for {other}")
    files = (f"Kept in {stepped.folder}", *(f"Saved: {path}" for path in saved))
    after = Note(_after(stepped.result, saved), "Next")
    return blocks_text((*blocks, *files, after))


def _measured(stepped: StepResult, measured: MeasureResult, fancy: bool) -> Iterator[Block]:
    subject = stepped.run.subject
    counted = [row["outcome"] for row in stepped.rows if row["ok"] == 1]
    reason = f" ({measured.stop_reason})" if measured.stop_reason and not stepped.stopped else ""
    failed = f", {number(measured.failed)} failed" if measured.failed else ""
    ended = f"stopped by {_ended(stepped) or measured.stopped_by}{reason}"
    yield f"{subject.typed}: {number(measured.runs)} {subject.counted} count{failed}; {ended}."
    yield Facts(statistics(measured.outcome, measured.sd_interval, subject.unit))
    yield _histogram(counted[measured.warm_up :], subject.unit, fancy)
    yield from findings(measured, subject.unit)
    yield Note(measured.unusable)
    yield Note(measured.launcher.words if measured.launcher else "")


def _profiled(stepped: StepResult, profiled: ProfileResult, fancy: bool) -> Iterator[Block]:
    subject, counted = stepped.run.subject, profiled_outcomes(stepped)
    bare = f", {number(profiled.bare.n)} bare ones between" if profiled.bare else ""
    ended = f"; stopped by {_ended(stepped)}" if stepped.stopped else ""
    failed = f", {number(profiled.failed)} failed" if profiled.failed else ""
    with_columns = f"{subject.counted} with {number(profiled.columns)} columns"
    watched = len(counted) if any(one.runs for one in profiled.distortions) else 0
    yield f"{subject.typed}: {number(watched)} {with_columns}{bare}{failed}{ended}."
    yield Facts(statistics(profiled.outcome, log_sd_interval(counted), subject.unit))
    yield _histogram(counted, subject.unit, fancy)
    yield from (*(profiled.hosts.sentences if profiled.hosts else ()), *of_form(describe(counted), subject.unit))
    found = stepped.ledger
    yield Note(stepped.distorted)
    yield from ledger.section(found, _bars(stepped, found), subject)
    yield Note(NO_LEDGER if found is None and {STACKS, LEDGER} & set(profiled.layers) else "")
    if found is not None and any(f"{STACKS}.lanes" in row for row in stepped.rows):
        line = f"vgo-agent analyze {shlex.quote(str(stepped.folder))} --read-only --save trace.json"
        yield Command(line, "A slow and a fast run of these, for ui.perfetto.dev or speedscope.app")
    yield Table(factors.SHIFTS, factors.shift_rows(profiled))
    hidden = tuple(profiled.hidden.items())
    more = len(hidden) - MOST_HIDDEN
    rest = ((f"... and {more} more", "(--json)"),) if more > 0 else ()
    yield Section("Not shown here", (Facts((*hidden[:MOST_HIDDEN], *rest)),))
    yield from map(Note, (*factors.of_profile(profiled), *factors.missing_cells(stepped.rows)))


def _runs(stepped: StepResult) -> RunTable:
    return read_runs(stepped.files[RUNS], RUNS, read_layers(stepped.files[LAYERS]).values())


def _bars(stepped: StepResult, found: Ledger | None) -> str:
    split = split_runs(_runs(stepped), found.layer, stepped.run.subject) if found else None
    return ledger_text(split, found.shares) if found and split else ""


def _histogram(outcomes: Sequence[float], unit: str, fancy: bool) -> Figure:
    return Figure("histogram", text="\n".join(histogram(outcomes, unit, fancy)))


def profiled_outcomes(stepped: StepResult) -> list[float]:
    """Outcomes of the runs that the statistics are of: with layers that stand, or any, or bare where those are none."""
    assert isinstance(stepped.result, ProfileResult)
    found = stepped.run.record
    names = {
        "+".join(layer.key for layer in (found.all_layers[spec] for spec in one.layers)): one.set_aside
        for one in stepped.result.distortions
    }
    standing = {name for name, why in names.items() if not why} or set(names)
    ended_well = [row for row in stepped.rows if row["ok"] == 1]
    return [row["outcome"] for row in ended_well if row["layers"] in standing] or [row["outcome"] for row in ended_well]


def _ended(stepped: StepResult) -> str:
    if stepped.stopped is None:
        return ""
    return CTRL_C if isinstance(stepped.stopped, KeyboardInterrupt) else "a signal"


def _after(result: Result, saved: Sequence[Path]) -> str:
    """Where layers took turns, no run has all columns, so each set is looked at by itself."""
    if not saved:
        return ""
    if isinstance(result, ProfileResult) and result.runs < LEAST_RUNS:
        return ""
    turns = isinstance(result, ProfileResult) and len(result.distortions) > 1
    return f"vgo-agent analyze {shlex.quote(str(_table(saved)))}{' --group layers' if turns else ''}"


def _table(saved: Sequence[Path]) -> Path:
    first = saved[0]
    return first.parent if first.name == "runs.csv" and first.with_name("layers.json") in saved else first
