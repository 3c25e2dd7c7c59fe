"""Recorded runs: what `analyze` is asked of them, and how they are shown, converted, and compared by node or rank."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ...knowledge.errors import VgoError
from .options import OfRecordedRuns, chance_option, option, place

if TYPE_CHECKING:
    from ...tools.recorded.recorded import RecordedRuns

USUAL = ("host", "node", "hostname", "machine")
"""Columns that are taken for the node where none is named."""
COLUMNS, METHOD, BY = "the columns", "the method", "by node or rank"


@dataclass(frozen=True, kw_only=True)
class OfAnalysis(OfRecordedRuns):
    """What `analyze` is asked about recorded runs."""

    file: str = place("FILE", "the recorded runs")
    by: str | None = option("compare machines, or ranks of an MPI program", choices=("node", "rank"), group=BY)
    node: str | None = option(
        "the column of machines (default: host, node, hostname or machine)", metavar="COL", group=BY
    )
    condition: str | None = option(
        "compare two values of a column within each node, and pool", metavar="COL=A,B", group=BY
    )
    margin: float = option(
        "least difference that matters (default 0.02: 2 %%)",
        0.02,
        metavar="X",
        allowed=lambda margin: 0 <= margin < 10,
        refused="is no share; 0.05 says 5 %",
        group=BY,
    )
    outcome: str | None = option(
        "what a run is judged by (needed unless the format says)", metavar="COL", group=COLUMNS
    )
    group: tuple[str, ...] = option(
        "analyse the runs of each combination of these on their own", (), metavar="COLS", group=COLUMNS
    )
    settings: tuple[str, ...] = option(
        "varied on purpose: factors of their own kind", (), metavar="COLS", group=COLUMNS
    )
    exclude: tuple[str, ...] = option("leave these out", (), metavar="COLS", group=COLUMNS)
    levels: tuple[str, ...] = option(
        "temperatures, shares, speeds: do not grow with the length of a run", (), metavar="COLS", group=COLUMNS
    )
    order: str | None = option("sort the runs by this; `none`: their order means nothing", metavar="COL", group=COLUMNS)
    cut: str = option(
        "what is slow: auto (default), a value, pNN, mean, median, between-modes, before-tail, "
        "tertiles, quartiles, search",
        "auto",
        metavar="CUT",
        group=METHOD,
    )
    alpha: float = chance_option()
    steady_cv: float = option(
        "spread over mean that is little (default 0.01)",
        0.01,
        metavar="CV",
        allowed=lambda cv: cv >= 0,
        refused="is below 0; a spread is not",
        group=METHOD,
    )
    read_only: bool = option("analyse nothing: show what is understood of FILE, and convert it with --save", False)
    save: str | None = option("write pictures, tree, table and page into this folder; see below", metavar="OUT")

    def columns(self, option: str, recorded: RecordedRuns) -> tuple[str, ...]:
        """Expand the names and patterns of an option."""
        names = [*recorded.frame.columns, *recorded.left_out]
        return tuple(dict.fromkeys(name for text in getattr(self, option) for name in meant(text, names, option)))


def streamed(recorded: RecordedRuns, outcome: str) -> RecordedRuns:
    """Where only a sample is analysed, add what is known of the outcome of all rows."""
    if recorded.whole is None:
        return recorded
    from ...tools.recorded.formats.parquet import all_rows
    from ..report.numbers import number

    one = all_rows(recorded.whole, outcome)
    words = (
        f"All {one.rows:,} rows: {outcome} has mean {number(one.mean)}, SD {number(one.sd)}, from {number(one.low)} "
        f"to {number(one.high)}; median {number(one.p50)}, p95 {number(one.p95)}, p99 {number(one.p99)}."
    )
    return replace(recorded, notes=(*recorded.notes, words))


def meant(text: str, names: list[str], option: str) -> list[str]:
    """Expand names and patterns separated by commas; a name may itself hold a comma when it stands alone."""
    from fnmatch import fnmatchcase

    if text in names:
        return [text]
    found = []
    for word in filter(None, (word.strip() for word in text.split(","))):
        matching = [word] if word in names else [name for name in names if fnmatchcase(name, word)]
        if not matching:
            raise VgoError(f"--{option} {word}: the table has no such column; it has {', '.join(names[:12])}.")
        found += matching
    return found


def show(command: OfAnalysis) -> int:
    """Read, show, save."""
    from ...tools.recorded.read import read
    from .measure import place_of

    place = place_of(command.save) if command.save else None
    recorded = read(Path(command.file), (), command.meanings())

    from ...tools.recorded.read import outline
    from ...tools.recorded.write import write
    from ..report.ledger_figures import WRITERS, save_ledger
    from ..report.outline import text

    found = outline(recorded)
    as_table = place is None or place.suffix not in WRITERS
    saved = [str(path) for path in (write if as_table else save_ledger)(recorded, place)] if place else []
    following = ["vgo-agent", "analyze", saved[0] if saved and as_table else command.file]
    following += ["--mapping", str(command.mapping)] if command.mapping and following[2] == command.file else []
    if found.outcome is None:
        following += ["--outcome", found.candidates[0] if found.candidates else "COL"]
    line = shlex.join(following)
    words = text(found, saved, line) if as_table else f"Saved: {saved[0]}"
    return command.answer({**found.model_dump(), "saved": saved, "next": line}, words)


def refuse_file(place: Path) -> None:
    """Refuse the name of a file for an analysis, which is saved into a folder."""
    from ...tools.recorded.write import WRITERS as TABLES
    from ..report.ledger_figures import WRITERS

    if place.suffix in {*TABLES, *WRITERS}:
        raise VgoError(f"--save {place} is a file, which --read-only writes; without it give a folder.")


def by_node(command: OfAnalysis) -> int:
    """Say which machine of many is slow or unsteady, and what goes with it."""
    from ...tools.recorded.read import read

    recorded = read(Path(command.file), command.exclude, command.meanings())
    column = _node(command.node, recorded)

    from ...tools.analysis.analysis import AnalysisOptions
    from ...tools.nodes.analyse import fleet, nodes_of
    from ...tools.nodes.of_record import effect
    from ...tools.recorded.design import ColumnOptions, designs
    from ..render.text import terminal_text
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
        save(found, pooled, design, nodes, command.again(), Path(command.save))
    return command.answer(summary(found, pooled, recorded), terminal_text(document(found, pooled, recorded.notes)))


def _node(named: str | None, recorded: RecordedRuns) -> str:
    columns = recorded.frame.columns
    for name in (named,) if named else USUAL:
        if name in columns:
            return name
    if named:
        raise VgoError(f"--node {named}: the table has no such column; it has {', '.join(columns[:12])}.")
    raise VgoError(f"No column says on which machine a run was made; name it with --node: {', '.join(columns[:12])}.")


def _condition(said: str | None, recorded: RecordedRuns) -> tuple[str, str, str] | None:
    if said is None:
        return None
    name, _, values = said.partition("=")
    first, _, second = values.partition(",")
    if not (name and first and second):
        raise VgoError(f"--condition {said}: write COL=A,B, as in pinned=no,yes.")
    if name not in recorded.frame.columns:
        raise VgoError(f"--condition {name}: the table has no such column.")
    return name, first, second


def by_rank(command: OfAnalysis) -> int:
    """Say which rank of an MPI program the others wait for, and whether it makes runs slow."""
    import polars as pl

    from ...tools.recorded.read import read

    recorded = read(Path(command.file), (), command.meanings())
    frame = recorded.frame
    for column, value in recorded.usual.items():  # of a diagnosis, the runs of the baseline
        frame = frame.filter(pl.col(column) == value)
    name = _outcome(command.outcome, recorded)

    from ...tools.mpi.analyse import of_ranks
    from ...tools.mpi.rank_summary import rank_rows
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
