"""nodes: which machine of many is slow or unsteady, and what goes with it."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ..terminal import answer
from .analyze import streamed
from .options import add_chances, add_manners, add_mapping, check_chances, mapping_of, words

if TYPE_CHECKING:
    from ...tools.recorded.recorded import Observations, RecordedRuns

USUAL = ("host", "node", "hostname", "machine")
"""Columns that are taken for the node where none is named."""
EPILOG = """\
examples:
  vgo-agent nodes runs.csv --outcome time_s
  vgo-agent nodes runs.parquet --node hostname --outcome time_s --margin 0.05 --save fleet
  vgo-agent nodes runs.csv --outcome time_s --condition pinned=no,yes

FILE is anything that `vgo-agent import` reads, with a column that says on which machine each run was made; the
folder of a run with --on is such. Run every node about equally often, in mixed order. With --condition two values are
compared within each node, and then pooled.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("file", metavar="FILE", help="the recorded runs of several machines")
    add_mapping(parser)
    parser.add_argument("--node", metavar="COL", help=f"the column of machines (default: {', '.join(USUAL)})")
    parser.add_argument("--outcome", metavar="COL", help="what a run is judged by (needed unless the format says)")
    parser.add_argument("--higher-is-better", action="store_true", help="a larger outcome is a better one")
    parser.add_argument("--exclude", metavar="COLS", default="", help="columns to leave out, separated by commas")
    parser.add_argument(
        "--condition", metavar="COL=A,B", help="compare two values of a column within each node, and pool"
    )
    parser.add_argument(
        "--margin", type=float, default=0.02, metavar="X", help="least difference that matters (default 0.02: 2 %%)"
    )
    add_chances(parser)
    parser.add_argument("--save", type=Path, metavar="DIR", help="write page, pictures and table into this folder")
    add_manners(parser)


def run(arguments: argparse.Namespace) -> int:
    """Analyse, and answer."""
    from ...knowledge.errors import VgoError
    from ...tools.recorded.read import read

    check_chances(arguments)
    if not 0 <= arguments.margin < 10:
        raise VgoError(f"--margin {arguments.margin:g} is no share; 0.05 says 5 %.")
    recorded = read(Path(arguments.file), words(arguments.exclude), mapping_of(arguments))
    column = _node(arguments.node, recorded)

    from ...tools.analysis.analysis import AnalysisOptions
    from ...tools.nodes.analyse import fleet, nodes_of
    from ...tools.nodes.of_record import effect
    from ..render.terminal import terminal_text
    from ..report.nodes import document, save, summary

    condition = _condition(arguments.condition, recorded)
    design = _design(arguments, recorded, (column, *(condition or ())[:1]))
    nodes = nodes_of(recorded, column, design)
    recorded = streamed(recorded, design.outcome_name)
    found = fleet(design, nodes, AnalysisOptions(alpha=arguments.alpha, seed=arguments.seed), arguments.margin)
    pooled = effect(recorded, design, nodes, condition[0], condition[1:]) if condition else None
    if arguments.save:
        save(found, pooled, design, nodes, shlex.join(["vgo-agent", *sys.argv[1:]]), arguments.save)
    answer(summary(found, pooled, recorded), terminal_text(document(found, pooled, recorded.notes)), arguments.json)
    return 0


def _node(named: str | None, recorded: RecordedRuns) -> str:
    """The column of machines."""
    from ...knowledge.errors import VgoError

    columns = recorded.frame.columns
    for name in (named,) if named else USUAL:
        if name in columns:
            return name
    if named:
        raise VgoError(f"--node {named}: the table has no such column; it has {', '.join(columns[:12])}.")
    raise VgoError(f"No column says on which machine a run was made; name it with --node: {', '.join(columns[:12])}.")


def _condition(said: str | None, recorded: RecordedRuns) -> tuple[str, str, str] | None:
    """Read COL=A,B."""
    from ...knowledge.errors import VgoError

    if said is None:
        return None
    name, _, values = said.partition("=")
    first, _, second = values.partition(",")
    if not (name and first and second):
        raise VgoError(f"--condition {said}: write COL=A,B, as in pinned=no,yes.")
    if name not in recorded.frame.columns:
        raise VgoError(f"--condition {name}: the table has no such column.")
    return name, first, second


def _design(arguments: argparse.Namespace, recorded: RecordedRuns, aside: tuple[str, ...]) -> Observations:
    from ...tools.recorded.design import ColumnOptions, designs

    lower = False if arguments.higher_is_better else None
    return designs(recorded, ColumnOptions(outcome=arguments.outcome, lower_is_better=lower, exclude=aside))[0][1]
