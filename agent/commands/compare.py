"""compare: hold recorded conditions against a baseline."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from ..terminal import answer
from .options import add_chances, add_manners, add_mapping, check_chances, mapping_of, words

if TYPE_CHECKING:
    from ...tools.recorded_comparison.arms import Contrast

EPILOG = """\
examples:
  vgo-agent compare before.csv after.csv --metric time_s
  vgo-agent compare runs.csv --condition smt --where queue=AtomicQueue --metric value --higher-is-better
  vgo-agent compare runs.csv --condition flags=O2,O3 --where host=a,b --where cores=4 --metric time_s
  vgo-agent compare runs.csv --condition flags=O2,O3 --pair trial --metric time_s --picture shift.svg
  vgo-agent compare runs.csv --condition flags=O2,O3 --by host,kernel --metric time_s
  vgo-agent compare vgo-runs/DIR --condition condition --paired

Each FILE is an arm, the first one the baseline; or the values of one column of one FILE are. The verdict is about the
mean absolute deviation from the median: it is less, or more, or differs by nothing that matters (the whole interval
lies between 0.66 and 1.52), or that is undecided. SD, CV and mean stand beside it, each with an interval of its own.
Several arms are one family (Holm), and every interval has the level that is left to its arm. With --by, the cells of an
arm are the family (arms share alpha alike), and the ratio of all cells together is the geometric mean of theirs, with
an interval for cells that are not in the table.
"""


MIXED = True
"""Several equations may follow one --where."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="recorded runs: CSV, Parquet, SHARP, pyperf, ...")
    parser.add_argument("--metric", metavar="COL", help="what to compare (needed with several columns of numbers)")
    add_mapping(parser)
    direction = parser.add_mutually_exclusive_group()
    direction.add_argument("--lower-is-better", action="store_true", help="a smaller value is a better one")
    direction.add_argument("--higher-is-better", action="store_true", help="a larger value is a better one")
    which = parser.add_argument_group("which runs")
    which.add_argument(
        "--condition", metavar="COL[=A,B]", help="the values of this column are the arms: all of them, or these"
    )
    which.add_argument(
        "--baseline", metavar="NAME", help="the arm that the others are held against (default the first)"
    )
    which.add_argument(
        "--where",
        metavar="COL=VALUE",
        action="append",
        default=[],
        help="only these runs; several must all hold, and of one column any of the values: host=a,b cores=4",
    )
    which.add_argument("--paired", action="store_true", help="row i of one arm was made next to row i of the other")
    which.add_argument("--pair", metavar="COLS", help="runs that share these columns are pairs (implies --paired)")
    which.add_argument(
        "--by", metavar="COLS", help="compare within each combination of their values, and all of these together"
    )
    method = parser.add_argument_group("the method")
    add_chances(method)
    parser.add_argument("--picture", type=Path, metavar="FILE.svg", help="draw the distributions and their shift")
    add_manners(parser)


def run(arguments: argparse.Namespace) -> int:
    """Compare."""
    from ...tools.recorded.read import read
    from ...tools.recorded_comparison.compare import contrast, contrast_cells
    from ..report.comparison import by_cell, text

    _sort_words(arguments)
    question = _question(arguments)
    mapping = mapping_of(arguments)
    tables = [read(Path(file), (), mapping) for file in arguments.files]
    if question.by:
        cells = contrast_cells(tables, question)
        answer(cells.model_dump(), by_cell(cells), arguments.json)
        return 0
    found, values = contrast(tables, question)
    if arguments.picture:
        from ..report.comparison_figure import picture
        from ..report.saving import save_picture

        save_picture(picture(found, values), arguments.picture)
    answer(found.model_dump(), text(found), arguments.json)
    return 0


def _sort_words(arguments: argparse.Namespace) -> None:
    """Take COL=VALUE among the files for what it is, where --where was given."""
    if arguments.where:
        equations = [word for word in arguments.files if "=" in word and not os.path.exists(word)]
        arguments.where += equations
        arguments.files = [word for word in arguments.files if word not in equations]
    if not arguments.files:
        from ...knowledge.errors import VgoError

        raise VgoError("No FILE was given: name the recorded runs first, as in `vgo-agent compare runs.csv ...`.")


def _question(arguments: argparse.Namespace) -> Contrast:
    from ...knowledge.errors import VgoError
    from ...tools.recorded_comparison.arms import Contrast

    check_chances(arguments)
    if arguments.condition and len(arguments.files) > 1:
        raise VgoError("--condition splits one table into arms: give one FILE, or leave it out.")
    if arguments.picture and arguments.picture.suffix != ".svg":
        raise VgoError(f"--picture {arguments.picture} is drawn as SVG: name it *.svg.")
    if arguments.picture and arguments.by:
        raise VgoError("--picture draws two whole arms: leave out --by, or choose one cell with --where.")
    condition, _, among = (arguments.condition or "").partition("=")
    return Contrast(
        metric=arguments.metric,
        condition=condition or None,
        among=words(among),
        baseline=arguments.baseline,
        where=tuple(_equation(text) for text in arguments.where),
        paired=arguments.paired,
        pair=words(arguments.pair),
        by=words(arguments.by),
        lower_is_better=True if arguments.lower_is_better else False if arguments.higher_is_better else None,
        alpha=arguments.alpha,
        seed=arguments.seed,
    )


def _equation(text: str) -> tuple[str, str]:
    from ...knowledge.errors import VgoError

    column, sign, value = text.partition("=")
    if not sign or not column:
        raise VgoError(f"--where {text} is not COL=VALUE: write, for example, --where threads=4.")
    return column, value
