"""analyze: look for causes in runs that were recorded elsewhere."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ..terminal import answer
from .options import add_chances, add_manners, add_mapping, check_chances, mapping_of

if TYPE_CHECKING:
    from ...tools.analysis.analysis import AnalysisOptions
    from ...tools.recorded.design import ColumnOptions
    from ...tools.recorded.recorded import RecordedRuns

EPILOG = """\
examples:
  vgo-agent analyze runs.csv --outcome time_s
  vgo-agent analyze runs.parquet --outcome ops --higher-is-better --settings threads,host --json
  vgo-agent analyze fleet-runs/ --outcome time_s --json
  vgo-agent analyze trials.csv --outcome time_s --group kernel,compiler --exclude 'Reps,Bytes*' --save analysis

FILE is anything that `vgo-agent import` reads, or a folder of Parquet files of any size; its rows are runs in the
order they were made. COLS are names or patterns, separated by commas. What is found is association: only settings that
were varied in mixed order, and mitigations tried on and off, say more.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("file", metavar="FILE", help="the recorded runs")
    add_mapping(parser)
    columns = parser.add_argument_group("the columns")
    columns.add_argument("--outcome", metavar="COL", help="what a run is judged by (needed unless the format says)")
    direction = columns.add_mutually_exclusive_group()
    direction.add_argument("--lower-is-better", action="store_true", help="a smaller outcome is a better one")
    direction.add_argument("--higher-is-better", action="store_true", help="a larger outcome is a better one")

    def several(flag: str, words: str) -> None:
        columns.add_argument(flag, metavar="COLS", action="append", default=[], help=words)

    several("--group", "analyse the runs of each combination of these on their own")
    several("--settings", "varied on purpose: factors of their own kind")
    several("--exclude", "leave these out")
    several("--levels", "temperatures, shares, speeds: do not grow with the length of a run")
    columns.add_argument("--order", metavar="COL", help="sort the runs by this; `none`: their order means nothing")
    method = parser.add_argument_group("the method")
    method.add_argument(
        "--cut",
        default="auto",
        metavar="CUT",
        help="what is slow: auto (default), a value, pNN, mean, median, between-modes, before-tail, "
        "tertiles, quartiles, search",
    )
    add_chances(method)
    method.add_argument(
        "--steady-cv", type=float, default=0.01, metavar="CV", help="spread over mean that is little (default 0.01)"
    )
    parser.add_argument(
        "--save", type=Path, metavar="DIR", help="write pictures, tree, table and page into this folder"
    )
    add_manners(parser)


def run(arguments: argparse.Namespace) -> int:
    """Analyse."""
    from ...tools.recorded.read import read

    question = _question(arguments)
    recorded = read(Path(arguments.file), tuple(arguments.exclude), mapping_of(arguments))

    # What is wrong with the file is told before the heavy libraries load.
    from ...tools.analysis.analyse import analyse_groups
    from ...tools.recorded.design import designs
    from ..report.analysis import summary, text

    parts = designs(recorded, _wanted(arguments, recorded))
    recorded = streamed(recorded, parts[0][1].outcome_name)
    found = analyse_groups(parts, question)
    if arguments.save:
        from ..report.analysis_files import save

        save(found, parts, recorded, shlex.join(["vgo-agent", *sys.argv[1:]]), arguments.save)
    answer(summary(found, recorded), text(found, recorded), arguments.json)
    return 0 if found.answered else 1


def streamed(recorded: RecordedRuns, outcome: str) -> RecordedRuns:
    """Where only a sample is analysed, add what is known of the outcome of all rows."""
    if recorded.whole is None:
        return recorded
    from dataclasses import replace

    from ...tools.recorded.formats.parquet import all_rows
    from ..report.numbers import number

    one = all_rows(recorded.whole, outcome)
    words = (
        f"All {one.rows:,} rows: {outcome} has mean {number(one.mean)}, SD {number(one.sd)}, from {number(one.low)} "
        f"to {number(one.high)} (exact); median {number(one.p50)}, p95 {number(one.p95)}, p99 {number(one.p99)} "
        "(t-digest)."
    )
    return replace(recorded, notes=(*recorded.notes, words))


def _question(arguments: argparse.Namespace) -> AnalysisOptions:
    from ...knowledge.errors import VgoError
    from ...tools.analysis.analysis import AnalysisOptions
    from ...tools.statistics.labels.cut_search import parse

    check_chances(arguments)
    if not arguments.steady_cv >= 0:
        raise VgoError(f"--steady-cv {arguments.steady_cv:g} is below 0; a spread is not.")
    return AnalysisOptions(
        cut=parse(arguments.cut), alpha=arguments.alpha, steady_cv=arguments.steady_cv, seed=arguments.seed
    )


def _wanted(arguments: argparse.Namespace, recorded: RecordedRuns) -> ColumnOptions:
    from ...tools.recorded.design import ColumnOptions

    names = [*recorded.frame.columns, *recorded.left_out]

    def columns(option: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for text in getattr(arguments, option) for name in meant(text, names, option)))

    lower = True if arguments.lower_is_better else False if arguments.higher_is_better else None
    settings, exclude = columns("settings"), columns("exclude")
    usual = (name for name in recorded.group if name not in (*settings, *exclude, arguments.outcome))
    return ColumnOptions(
        outcome=arguments.outcome,
        lower_is_better=lower,
        group=columns("group") or tuple(usual),
        settings=settings,
        exclude=exclude,
        levels=columns("levels"),
        order=arguments.order,
    )


def meant(text: str, names: list[str], option: str) -> list[str]:
    """Expand names and patterns separated by commas; a name may itself hold a comma when it stands alone."""
    from fnmatch import fnmatchcase

    from ...knowledge.errors import VgoError

    if text in names:
        return [text]
    found = []
    for word in filter(None, (word.strip() for word in text.split(","))):
        matching = [word] if word in names else [name for name in names if fnmatchcase(name, word)]
        if not matching:
            raise VgoError(f"--{option} {word}: the table has no such column; it has {', '.join(names[:12])}.")
        found += matching
    return found
