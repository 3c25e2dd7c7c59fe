"""analyze: look for causes in runs that were recorded elsewhere, in all of them, or by machine or rank."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from .options import OfRecordedRuns, chance_option, option, place

if TYPE_CHECKING:
    from ...tools.analysis.analysis import AnalysisOptions
    from ...tools.recorded.design import ColumnOptions
    from ...tools.recorded.recorded import RecordedRuns

COLUMNS, METHOD, BY = "the columns", "the method", "by node or rank"


@dataclass(frozen=True, kw_only=True)
class AnalyzeCommand(OfRecordedRuns):
    """Look for causes in runs that were recorded elsewhere."""

    EPILOG = """\
examples:
  vgo-agent analyze runs.csv --outcome time_s
  vgo-agent analyze runs.parquet --outcome ops --higher-is-better --settings threads,host --json
  vgo-agent analyze fleet-runs/ --outcome time_s --json
  vgo-agent analyze trials.csv --outcome time_s --group kernel,compiler --exclude 'Reps,Bytes*' --save analysis
  vgo-agent analyze runs.csv --read-only
  vgo-agent analyze trials.csv --mapping trials.yaml --read-only --save trials.parquet
  vgo-agent analyze runs.csv --by node --outcome time_s --margin 0.05 --save fleet
  vgo-agent analyze runs.csv --by node --outcome time_s --condition pinned=no,yes
  vgo-agent measure --launcher mpirun:ranks=4 --layer mpi --save runs.csv ./solver
  vgo-agent analyze runs.csv --by rank --save ranks.csv

FILE is CSV (or with other separators, or packed by gzip), Parquet, a SHARP run log, JSON of pyperf, hyperfine or Google
Benchmark, what perf stat -x or -j wrote with -o, a run folder of vgo-agent, or a folder of Parquet files of any size.
Its rows are runs in the order they were made. COLS are names or patterns, separated by commas. What is found is
association: only settings that were varied in mixed order, and mitigations tried on and off, say more.

--read-only shows what is understood of FILE; with --save it writes *.parquet, *.csv with its meaning in *.columns.yaml
beside it, or into a folder as SHARP does (CSV and Markdown): all are read back as they were. A mapping is a YAML file;
a column says what differs from what is understood:
  columns:
    - name: time
      source: elapsed [ms]      # what the file calls it, where that differs
      unit: ms
      role: outcome             # outcome, factor, consequence, setting, order or id
      lower_is_better: true
    - {name: temperature, unit: C, level: true}     # does not add up over a run
    - {name: node, role: setting, type: text}

--by node says which machine of many is slow or unsteady, and what goes with it; a column says on which machine each run
was made, as in the folder of a run with --on. Run every node about equally often, in mixed order. With --condition two
values are compared within each node, and then pooled. --by rank says which rank of an MPI program the others wait for,
and whether it makes runs slow, by the columns mpi.RANK.own_s and mpi.RANK.time_s of the layer mpi (from our PMPI
library, or from mpiP); --save writes one line a run and rank.
"""

    REQUIRES = {"by=node": "node condition margin"}
    CONFLICTS = {
        "by": "group settings levels order cut steady_cv",
        "by=rank": "exclude",
        "read_only": "by outcome group settings exclude levels order cut alpha steady_cv seed lower_is_better"
        " higher_is_better",
    }

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

    def run(self) -> int:
        """Analyse."""
        if self.read_only:
            from .recorded_runs import show

            return show(self)
        if self.by:
            from . import recorded_runs

            return recorded_runs.by_node(self) if self.by == "node" else recorded_runs.by_rank(self)
        from ...tools.recorded.read import read

        question = self._question()
        recorded = read(Path(self.file), self.exclude, self.meanings())

        # What is wrong with the file is told before the heavy libraries load.
        from ...tools.analysis.analyse import analyse_groups
        from ...tools.recorded.design import designs
        from ..report.analysis import summary, text

        parts = designs(recorded, self._wanted(recorded))
        recorded = streamed(recorded, parts[0][1].outcome_name)
        found = analyse_groups(parts, question)
        if self.save:
            from ..report.analysis_files import save

            save(found, parts, recorded, shlex.join(["vgo-agent", *sys.argv[1:]]), Path(self.save))
        self.answer(summary(found, recorded), text(found, recorded))
        return 0 if found.answered else 1

    def _question(self) -> AnalysisOptions:
        from ...tools.analysis.analysis import AnalysisOptions
        from ...tools.statistics.labels.cut_search import parse

        return AnalysisOptions(cut=parse(self.cut), alpha=self.alpha, steady_cv=self.steady_cv, seed=self.seed)

    def columns(self, option: str, recorded: RecordedRuns) -> tuple[str, ...]:
        """Expand the names and patterns of an option."""
        names = [*recorded.frame.columns, *recorded.left_out]
        return tuple(dict.fromkeys(name for text in getattr(self, option) for name in meant(text, names, option)))

    def _wanted(self, recorded: RecordedRuns) -> ColumnOptions:
        from ...tools.recorded.design import ColumnOptions

        settings, exclude = self.columns("settings", recorded), self.columns("exclude", recorded)
        usual = (name for name in recorded.group if name not in (*settings, *exclude, self.outcome))
        return ColumnOptions(
            outcome=self.outcome,
            lower_is_better=self.lower,
            group=self.columns("group", recorded) or tuple(usual),
            settings=settings,
            exclude=exclude,
            levels=self.columns("levels", recorded),
            order=self.order,
        )


def streamed(recorded: RecordedRuns, outcome: str) -> RecordedRuns:
    """Where only a sample is analysed, add what is known of the outcome of all rows."""
    if recorded.whole is None:
        return recorded
    from ...tools.recorded.formats.parquet import all_rows
    from ..report.numbers import number

    one = all_rows(recorded.whole, outcome)
    words = (
        f"All {one.rows:,} rows: {outcome} has mean {number(one.mean)}, SD {number(one.sd)}, from {number(one.low)} "
        f"to {number(one.high)} (exact); median {number(one.p50)}, p95 {number(one.p95)}, p99 {number(one.p99)} "
        "(t-digest)."
    )
    return replace(recorded, notes=(*recorded.notes, words))


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
