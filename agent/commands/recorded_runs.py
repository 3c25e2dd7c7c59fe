"""What `analyze` does with recorded runs beside the analysis of all: show and convert them, compare nodes, or ranks."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ...knowledge.errors import VgoError
from .analyze import AnalyzeCommand, streamed

if TYPE_CHECKING:
    from ...tools.recorded.recorded import RecordedRuns

USUAL = ("host", "node", "hostname", "machine")
"""Columns that are taken for the node where none is named."""


def show(command: AnalyzeCommand) -> int:
    """Read, show, save."""
    from ...tools.recorded.read import read
    from .measure import place_of

    place = place_of(command.save) if command.save else None
    recorded = read(Path(command.file), (), command.meanings())

    from ...tools.recorded.outline import outline
    from ...tools.recorded.write import write
    from ..report.outline import text

    found = outline(recorded)
    saved = [str(path) for path in write(recorded, place)] if place else []
    following = ["vgo-agent", "analyze", saved[0] if saved else command.file]
    following += ["--mapping", str(command.mapping)] if command.mapping and not saved else []
    if found.outcome is None:
        following += ["--outcome", found.candidates[0] if found.candidates else "COL"]
    line = shlex.join(following)
    return command.answer({**found.model_dump(), "saved": saved, "next": line}, text(found, saved, line))


def by_node(command: AnalyzeCommand) -> int:
    """Say which machine of many is slow or unsteady, and what goes with it."""
    from ...tools.recorded.read import read

    recorded = read(Path(command.file), command.exclude, command.meanings())
    column = _node(command.node, recorded)

    from ...tools.analysis.analysis import AnalysisOptions
    from ...tools.nodes.analyse import fleet, nodes_of
    from ...tools.nodes.of_record import effect
    from ...tools.recorded.design import ColumnOptions, designs
    from ..render.terminal import terminal_text
    from ..report.nodes import document, save, summary

    condition = _condition(command.condition, recorded)
    aside = (column, *(condition or ())[:1], *command.columns("exclude", recorded))
    asked = ColumnOptions(outcome=command.outcome, lower_is_better=command.lower, exclude=aside)
    design = designs(recorded, asked)[0][1]
    nodes = nodes_of(recorded, column, design)
    recorded = streamed(recorded, design.outcome_name)
    found = fleet(design, nodes, AnalysisOptions(alpha=command.alpha, seed=command.seed), command.margin)
    pooled = effect(recorded, design, nodes, condition[0], condition[1:]) if condition else None
    if command.save:
        save(found, pooled, design, nodes, shlex.join(["vgo-agent", *sys.argv[1:]]), Path(command.save))
    return command.answer(summary(found, pooled, recorded), terminal_text(document(found, pooled, recorded.notes)))


def _node(named: str | None, recorded: RecordedRuns) -> str:
    """The column of machines."""
    columns = recorded.frame.columns
    for name in (named,) if named else USUAL:
        if name in columns:
            return name
    if named:
        raise VgoError(f"--node {named}: the table has no such column; it has {', '.join(columns[:12])}.")
    raise VgoError(f"No column says on which machine a run was made; name it with --node: {', '.join(columns[:12])}.")


def _condition(said: str | None, recorded: RecordedRuns) -> tuple[str, str, str] | None:
    """Read COL=A,B."""
    if said is None:
        return None
    name, _, values = said.partition("=")
    first, _, second = values.partition(",")
    if not (name and first and second):
        raise VgoError(f"--condition {said}: write COL=A,B, as in pinned=no,yes.")
    if name not in recorded.frame.columns:
        raise VgoError(f"--condition {name}: the table has no such column.")
    return name, first, second


def by_rank(command: AnalyzeCommand) -> int:
    """Say which rank of an MPI program the others wait for, and whether it makes runs slow."""
    import polars as pl

    from ...tools.recorded.read import read

    recorded = read(Path(command.file), (), command.meanings())
    frame = recorded.frame
    for column, value in recorded.usual.items():  # of a diagnosis, the runs of the baseline
        frame = frame.filter(pl.col(column) == value)
    name = _outcome(command.outcome, recorded)

    from ...tools.mpi.analyse import of_ranks
    from ...tools.mpi.rows import rank_rows
    from ..report.ranks import save, summary, text

    rows = rank_rows(frame.columns, lambda column: frame[column].to_list())
    if command.save:
        save(rows, Path(command.save))
    lower = recorded.lower_is_better.get(name, True) if command.lower is None else command.lower
    found = of_ranks(
        rows,
        frame[name].cast(pl.Float64).fill_null(float("nan")).to_numpy()[rows.runs],
        name,
        recorded.units.get(name, ""),
        lower_is_better=lower,
        alpha=command.alpha,
        seed=command.seed,
    )
    return command.answer(summary(found, recorded.source), text(found))


def _outcome(named: str | None, recorded: RecordedRuns) -> str:
    name = named or recorded.outcome
    if name is None:
        raise VgoError(f"{recorded.source} does not say what its runs are judged by; name the column with --outcome.")
    if name not in recorded.frame.columns or not recorded.frame[name].dtype.is_numeric():
        raise VgoError(f"--outcome {name}: {recorded.source} has no such column of numbers.")
    return name
