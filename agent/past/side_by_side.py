"""Recorded runs side by side: run folders and files, the first one the baseline, each with its distribution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...knowledge.errors import VgoError
from ...tools.claim import in_a_word, interval
from ...tools.recorded.read import read
from ...tools.recorded_comparison.arms import Contrast
from ...tools.recorded_comparison.compare import Contrasted, contrast
from ...tools.statistics.values import FloatArray
from ..report.comparison import text
from ..report.numbers import quantity
from ..terminal import table

FEWEST = 2


@dataclass(frozen=True)
class SideBySide:
    """What a comparison shows."""

    found: Contrasted
    values: Mapping[str, FloatArray]
    """By arm, the baseline first: its outcomes in run order."""
    words: str
    """The whole comparison, for a terminal."""

    @property
    def headline(self) -> str:
        """The answer in one line."""
        return self.words.partition("\n")[0]

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """One row an arm: name, runs, median, SD, spread ratio with its interval, verdict."""
        first = self.found.arms[0].described
        unit, baseline = self.found.unit, self.found.baseline
        rows: list[tuple[str, ...]] = [
            (
                baseline,
                str(len(self.values[baseline])),
                quantity(first.ratio("median").baseline, unit),
                quantity(first.ratio("sd").baseline, unit),
                "1",
                "baseline",
            )
        ]
        for arm in self.found.arms:
            sd, median = arm.described.ratio("sd"), arm.described.ratio("median")
            runs, shown = str(len(self.values[arm.name])), interval(arm.spread)
            row = quantity(median.other, unit), quantity(sd.other, unit), shown, in_a_word(arm.spread)
            rows.append((arm.name, runs, *row))
        return rows


HEADER = ("RUNS OF", "RUNS", "MEDIAN", "SD", "SPREAD RATIO", "VERDICT")


def side_by_side(paths: Sequence[Path], metric: str | None = None) -> SideBySide:
    """Compare recorded runs with the first of them; raise VgoError for whatever cannot be compared."""
    if len(paths) < FEWEST:
        raise VgoError("A comparison takes two runs or files; name a second one.")
    found, values = contrast([read(path, (), None) for path in paths], Contrast(metric=metric))
    return SideBySide(found, {found.baseline: values.baseline, **values.others}, text(found))


def listed(compared: SideBySide) -> str:
    """Lay the arms out as a table for a terminal."""
    return table(HEADER, compared.rows)
