"""ranks: which rank of an MPI program do the others wait for, and is it why some runs are slow?"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ..terminal import answer
from .options import add_chances, add_manners, add_mapping, check_chances, mapping_of

if TYPE_CHECKING:
    from ...tools.recorded.recorded import RecordedRuns
    from ...tools.statistics.values import FloatArray

EPILOG = """\
examples:
  vgo-agent profile --launcher mpirun:ranks=4 --layer mpi --save runs.csv ./solver
  vgo-agent ranks runs.csv
  vgo-agent ranks vgo-runs/20250314-092653-solver --save ranks.csv
  vgo-agent analyze ranks.csv --outcome own_s --settings rank,host,cpus

FILE is a run folder, or any table of runs, with the columns mpi.RANK.own_s and mpi.RANK.time_s of the layer mpi (from
our PMPI library, or from mpiP). --save writes one line a run and rank, as CSV or Parquet, by the name of the file.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("file", metavar="FILE", help="the runs, measured with the layer mpi")
    add_mapping(parser)
    parser.add_argument("--outcome", metavar="COL", help="what a run is judged by (needed unless the format says)")
    parser.add_argument("--higher-is-better", action="store_true", help="a larger outcome is a better one")
    add_chances(parser)
    parser.add_argument("--save", type=Path, metavar="FILE", help="write one line a run and rank (.csv or .parquet)")
    add_manners(parser)


def run(arguments: argparse.Namespace) -> int:
    """Analyse, write the table of ranks, and answer."""
    from ...tools.recorded.read import read

    check_chances(arguments)
    recorded = usual(read(Path(arguments.file), (), mapping_of(arguments)))
    name = _outcome(arguments.outcome, recorded)

    from ...tools.mpi.analyse import of_ranks
    from ...tools.mpi.rows import rank_rows
    from ..report.ranks import save, summary, text

    rows = rank_rows(recorded.frame.columns, lambda column: recorded.frame[column].to_list())
    if arguments.save:
        save(rows, arguments.save)
    lower = not arguments.higher_is_better and recorded.lower_is_better.get(name, True)
    found = of_ranks(
        rows,
        _floats(recorded, name)[rows.runs],
        name,
        recorded.units.get(name, ""),
        lower_is_better=lower,
        alpha=arguments.alpha,
        seed=arguments.seed,
    )
    answer(summary(found, recorded.source), text(found), arguments.json)
    return 0


def usual(recorded: RecordedRuns) -> RecordedRuns:
    """Keep the runs that one looks at unless told otherwise: of a diagnosis, those of the baseline."""
    from dataclasses import replace

    import polars as pl

    frame = recorded.frame
    for column, value in recorded.usual.items():
        frame = frame.filter(pl.col(column) == value)
    return replace(recorded, frame=frame)


def _outcome(named: str | None, recorded: RecordedRuns) -> str:
    from ...knowledge.errors import VgoError

    name = named or recorded.outcome
    if name is None:
        raise VgoError(f"{recorded.source} does not say what its runs are judged by; name the column with --outcome.")
    if name not in recorded.frame.columns or not recorded.frame[name].dtype.is_numeric():
        raise VgoError(f"--outcome {name}: {recorded.source} has no such column of numbers.")
    return name


def _floats(recorded: RecordedRuns, name: str) -> FloatArray:
    import polars as pl

    return recorded.frame[name].cast(pl.Float64).fill_null(float("nan")).to_numpy()
