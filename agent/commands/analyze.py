"""analyze: look for causes in runs that were recorded elsewhere, in all of them, or by machine or rank."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .recorded_runs import OfAnalysis, by_node, by_rank, refuse_file, show, streamed

if TYPE_CHECKING:
    from ...tools.analysis.analyse import Analyses
    from ...tools.analysis.analysis import AnalysisOptions
    from ...tools.recorded.design import ColumnOptions
    from ...tools.recorded.recorded import Observations, RecordedRuns

    Designs = list[tuple[dict[str, Any], Observations]]


@dataclass(frozen=True, kw_only=True)
class AnalyzeCommand(OfAnalysis):
    """Look for causes in runs that were recorded elsewhere."""

    EPILOG = """\
examples:
  vgo-agent analyze runs.csv --outcome time_s
  vgo-agent analyze runs.parquet --outcome ops --higher-is-better --settings threads,host --json
  vgo-agent analyze fleet-runs/ --outcome time_s --json
  vgo-agent analyze trials.csv --outcome time_s --group kernel,compiler --exclude 'Reps,Bytes*' --save analysis
  vgo-agent analyze runs.csv --read-only
  vgo-agent analyze trials.csv --mapping trials.yaml --read-only --save trials.parquet
  vgo-agent analyze vgo-runs/20261127-142505-profile-bench.sh --read-only --save trace.json
  vgo-agent analyze runs.csv --by node --outcome time_s --margin 0.05 --save fleet
  vgo-agent analyze runs.csv --by node --outcome time_s --condition pinned=no,yes
  vgo-agent measure --launcher mpirun:ranks=4 --layer mpi --save runs.csv ./solver
  vgo-agent analyze runs.csv --by rank --save ranks.csv

FILE is CSV (or with other separators, or packed by gzip), Parquet, a SHARP run log, JSON of pyperf, hyperfine or Google
Benchmark, what perf stat -x or -j wrote with -o, a run folder of vgo-agent, or a folder of Parquet files of any size.
Its rows are runs in the order they were made. COLS are names or patterns, separated by commas. What is found is
association: only settings that were varied in mixed order, and mitigations tried on and off, say more.

--read-only shows what is understood of FILE; with --save it writes *.parquet, *.csv with its meaning in *.columns.yaml
beside it, or into a folder as SHARP does (CSV and Markdown): all are read back as they were. Of runs with a ledger
(measure --ledger) *.html is a page with pictures; *.json a trace of a typical slow and a typical fast run, threads with
their states and who ended each wait, which ui.perfetto.dev and speedscope.app open; *.folded the mean fast and slow run
in ms as stacks, for flamegraph.pl --factor 1000 --countname us. A mapping is a YAML file; a column says what differs
from what is understood:
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

    def run(self) -> int:
        """Analyse."""
        if self.read_only:
            return show(self)
        if self.by:
            return by_node(self) if self.by == "node" else by_rank(self)
        from ...tools.recorded.read import read

        if self.save:
            refuse_file(Path(self.save))
        question = self._question()
        recorded = read(Path(self.file), self.exclude, self.meanings())

        # What is wrong with the file is told before the heavy libraries load.
        from ...tools.analysis.analyse import analyse_groups
        from ...tools.ledger.ledger import ledger_recorded
        from ...tools.recorded.design import designs
        from ..report.analysis import summary, text

        parts = designs(recorded, self._wanted(recorded))
        whole = len(parts) == 1 and parts[0][1].outcome_name == "outcome"
        ledger = ledger_recorded(recorded, self.seed, self.steady_cv) if whole else None
        recorded = streamed(recorded, parts[0][1].outcome_name)
        found = analyse_groups(parts, question, recorded)
        if self.save:
            from ..report.analysis_files import save

            save(found, parts, recorded, self.again(), Path(self.save))
        self.answer(summary(found, recorded, ledger), text(found, recorded, ledger, self._apart(found, parts)))
        return 0 if found.answered or (ledger and ledger.material) else 1

    def _question(self) -> AnalysisOptions:
        from ...tools.analysis.analysis import AnalysisOptions
        from ...tools.statistics.labels.cut_search import parse

        return AnalysisOptions(cut=parse(self.cut), alpha=self.alpha, steady_cv=self.steady_cv, seed=self.seed)

    def _apart(self, found: Analyses, parts: Designs) -> str:
        """Write the command that analyses kinds of runs apart; empty where they are not mixed."""
        if not found.strata:
            return ""
        return self.again("--group", ",".join((*parts[0][0], *found.strata.columns)))

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
