"""compare: hold recorded conditions against a baseline, or plan how many runs would show a difference."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...knowledge.errors import VgoError
from .options import OfRecordedRuns, chance_option, option, place, words

if TYPE_CHECKING:
    from ...tools.document import Block
    from ...tools.recorded_comparison.arms import Contrast
    from ...tools.recorded_power import Planned

WHICH, PLAN = "which runs", "how many runs"
RATIO = "say how many runs show this SD with the cure over SD without: above 0 and below 100, not 1"
HEADER = ("runs", "power", "95 %", "experiments")


@dataclass(frozen=True, kw_only=True)
class CompareCommand(OfRecordedRuns):
    """Hold recorded conditions against a baseline."""

    EPILOG = """\
examples:
  vgo-agent compare before.csv after.csv --metric time_s
  vgo-agent compare runs.csv --condition smt --where queue=AtomicQueue --metric value --higher-is-better
  vgo-agent compare runs.csv --condition flags=O2,O3 --where host=a,b --where cores=4 --metric time_s
  vgo-agent compare runs.csv --condition flags=O2,O3 --pair trial --metric time_s --picture shift.svg
  vgo-agent compare runs.csv --condition flags=O2,O3 --by host,kernel --metric time_s
  vgo-agent compare vgo-runs/DIR --condition condition --paired
  vgo-agent compare runs.parquet --plan 0.66 --metric time_s --kind tail --paired --json

Each FILE is an arm, the first one the baseline; or the values of one column of one FILE are. The verdict is about the
mean absolute deviation from the median: it is less, or more, or differs by nothing that matters (the whole interval
lies between 0.66 and 1.52), or that is undecided. SD, CV and mean stand beside it, each with an interval of its own.
Several arms are one family (Holm), and every interval has the level that is left to its arm. With --by, the cells of an
arm are the family (arms share alpha alike), and the ratio of all cells together is the geometric mean of theirs, with
an interval for cells that are not in the table. Where columns of few values explain most of the spread within the arms,
as where many programs or sizes stand in one table, they are named with what is found within their cells.

--plan R asks of one FILE how many runs show an SD of R times the recorded one: experiments are simulated on the
recorded runs' own shape and judged by the same test; the interval is that of the simulation.
"""

    REQUIRES = {"plan": "kind power"}
    CONFLICTS = {"by": "picture", "plan": "condition baseline where pair by picture lower_is_better higher_is_better"}

    words: tuple[str, ...] = place("FILE", "recorded runs: CSV, Parquet, SHARP, pyperf, ...")
    metric: str | None = option("what to compare (needed with several columns of numbers)", metavar="COL")
    condition: str | None = option(
        "the values of this column are the arms: all of them, or these", metavar="COL[=A,B]", group=WHICH
    )
    baseline: str | None = option(
        "the arm that the others are held against (default the first)", metavar="NAME", group=WHICH
    )
    where: tuple[str, ...] = option(
        "only these runs; several must all hold, and of one column any of the values: host=a,b cores=4",
        (),
        metavar="COL=VALUE",
        group=WHICH,
    )
    paired: bool = option("row i of one arm was made next to row i of the other", False, group=WHICH)
    pair: str | None = option("runs that share these columns are pairs (implies --paired)", metavar="COLS", group=WHICH)
    by: str | None = option(
        "compare within each combination of their values, and all of these together", metavar="COLS", group=WHICH
    )
    alpha: float = chance_option()
    picture: Path | None = option("draw the distributions and their shift", metavar="FILE.svg")
    plan: float | None = option(RATIO, metavar="RATIO", group=PLAN)
    kind: str | None = option(
        "what the cure does: every run scatters less, or the rarer group of runs gets rarer (default scale)",
        choices=("scale", "tail"),
        group=PLAN,
    )
    power: float | None = option("chance of showing it (default 0.8)", metavar="P", group=PLAN)

    def run(self) -> int:
        """Compare, or plan."""
        from ...tools.recorded.read import read

        if self.plan is not None:
            return self._planned(self.plan)
        from ...tools.recorded_comparison.compare import contrast, contrast_cells
        from ..report.comparison import by_cell, text

        files, where = self._sorted_words()
        question = self._question(files, where)
        mapping = self.meanings()
        tables = [read(Path(file), (), mapping) for file in files]
        if question.by:
            cells = contrast_cells(tables, question)
            return self.answer(cells.model_dump(), by_cell(cells, self.again))
        found, values = contrast(tables, question)
        if self.picture:
            from ..report.strips import comparison_figure
            from ..report.svg import save_picture

            save_picture(comparison_figure(found, values), self.picture)
        return self.answer(found.model_dump(), text(found, self.again))

    def _planned(self, ratio: float) -> int:
        from ...tools.recorded.read import read
        from ...tools.recorded_power import plan
        from ...tools.statistics.stopping.power import PowerRequest

        if len(self.words) > 1:
            raise VgoError("--plan asks one FILE, all of whose runs count: leave out the others.")
        request = PowerRequest(
            ratio=ratio,
            power=0.8 if self.power is None else self.power,
            alpha=self.alpha,
            kind="tail" if self.kind == "tail" else "scale",
            paired=self.paired,
            seed=self.seed,
        )
        planned = plan(read(Path(self.words[0]), (), self.meanings()), self.metric, request)
        return self.answer(planned.model_dump(mode="json"), _planned_words(planned))

    def _sorted_words(self) -> tuple[list[str], tuple[str, ...]]:
        """Part files from COL=VALUE among them, where --where was given."""
        equations = [word for word in self.words if self.where and "=" in word and not os.path.exists(word)]
        files = [word for word in self.words if word not in equations]
        if not files:
            raise VgoError("No FILE was given: name the recorded runs first, as in `vgo-agent compare runs.csv ...`.")
        return files, (*self.where, *equations)

    def _question(self, files: list[str], where: tuple[str, ...]) -> Contrast:
        from ...tools.recorded_comparison.arms import Contrast

        if self.condition and len(files) > 1:
            raise VgoError("--condition splits one table into arms: give one FILE, or leave it out.")
        if self.picture and self.picture.suffix != ".svg":
            raise VgoError(f"--picture {self.picture} is drawn as SVG: name it *.svg.")
        condition, _, among = (self.condition or "").partition("=")
        return Contrast(
            metric=self.metric,
            condition=condition or None,
            among=words(among),
            baseline=self.baseline,
            where=tuple(_equation(text) for text in where),
            paired=self.paired,
            pair=words(self.pair),
            by=words(self.by),
            lower_is_better=self.lower,
            alpha=self.alpha,
            seed=self.seed,
        )


def _equation(text: str) -> tuple[str, str]:
    column, sign, value = text.partition("=")
    if not sign or not column:
        raise VgoError(f"--where {text} is not COL=VALUE: write, for example, --where threads=4.")
    return column, value


def _planned_words(planned: Planned) -> list[Block]:
    from ...tools.document import Note, Table

    power = planned.power
    arms = "pairs" if power.paired else "runs of each arm"
    change = "a change of scale" if power.kind == "scale" else "rare runs made rarer"
    what = f"an SD of {power.ratio:g} times the recorded one ({change}) in {100 * power.power:g} % of experiments"
    at_most = f"to {power.high}" if power.high else "and more"
    number = f"{power.runs} {arms} ({power.low} {at_most})" if power.runs else f"More {arms} than simulated would"
    rows = [(str(p.runs), f"{p.power:.2f}", f"{p.low:.2f} to {p.high:.2f}", str(p.experiments)) for p in power.curve]
    return [
        f"{planned.metric}: {number} show {what}, at alpha {power.alpha:g}.",
        Table(HEADER, rows),
        *map(Note, planned.notes),
    ]
