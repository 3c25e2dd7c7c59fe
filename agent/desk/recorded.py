"""Recorded runs for a screen: one table described and looked at, several side by side; and a table as a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from ...knowledge.errors import VgoError

if TYPE_CHECKING:
    from ...tools.recorded_comparison.compare import Contrasted

HEADER = ("RUNS OF", "RUNS", "MEDIAN", "SD", "SPREAD RATIO", "VERDICT")
MOST_ARMS = 12
MOST_DRAWN = 20_000
"""Outcomes of an arm that are handed on; of more, as many, evenly spread over the sorted ones."""


def recorded(paths: list[str], metric: str = "") -> dict[str, Any]:
    """Give the answer in words, a table of the arms, and the outcomes of each for a picture."""
    if len(paths) == 1:
        return _alone(Path(paths[0]), metric)
    from ...tools.claim import in_a_word
    from ...tools.recorded.read import read
    from ...tools.recorded_comparison.arms import Contrast
    from ...tools.recorded_comparison.compare import contrast
    from ..report.comparison import text

    found, compared = contrast([read(Path(path), (), None) for path in paths], Contrast(metric=metric or None))
    words, values = text(found), {found.baseline: compared.baseline, **compared.others}
    return {
        "headline": words.partition("\n")[0],
        "words": words,
        "header": HEADER,
        "rows": _rows(found, {name: str(len(runs)) for name, runs in values.items()}),
        "unit": found.unit,
        "metric": found.metric,
        "arms": {name: _thinned(runs) for name, runs in values.items()},
        "ratios": {arm.name: [*_spread(arm.spread), in_a_word(arm.spread)] for arm in found.arms},
        "lower_is_better": found.lower_is_better,
    }


def _rows(found: Contrasted, runs: Mapping[str, str]) -> list[list[str]]:
    """One row an arm, the baseline first."""
    from ...tools.claim import in_a_word, interval
    from ..report.numbers import quantity

    median, sd = (found.arms[0].described.ratio(name).baseline for name in ("median", "sd"))
    first = [quantity(median, found.unit), quantity(sd, found.unit), "1", "baseline"]
    rows = [[found.baseline, runs[found.baseline], *first]]
    for arm in found.arms:
        median, sd = (arm.described.ratio(name).other for name in ("median", "sd"))
        told = [quantity(median, found.unit), quantity(sd, found.unit), interval(arm.spread), in_a_word(arm.spread)]
        rows.append([arm.name, runs[arm.name], *told])
    return rows


def export(run: str, path: str) -> dict[str, Any]:
    """Write the table of a run as CSV or Parquet, with what its columns mean."""
    from ...tools.recorded.read import read
    from ...tools.recorded.write import write

    table = read(Path(run), (), None)
    return {"files": [str(one) for one in write(table, Path(path))], "rows": table.frame.height}


def _alone(path: Path, metric: str) -> dict[str, Any]:
    from ...tools.recorded.design import ColumnOptions, designs
    from ...tools.recorded.outline import outline
    from ...tools.recorded.read import read
    from ..report.outline import text as described

    table = read(path, (), None)
    found = outline(table)
    outcome = metric or found.outcome
    if outcome is None:
        following = f"name the outcome: /open {quote(str(path))} --outcome COL"
        return {**_NOTHING, "headline": f"{path.name}: no outcome", "words": described(found, (), following)}
    parts = designs(table, ColumnOptions(outcome=outcome, group=table.group))
    return {
        **_NOTHING,
        "headline": f"{path.name}: {found.rows} runs, {outcome}",
        "words": _analysed(parts, table) or described(found, (), f"vgo-agent analyze {path} --outcome {outcome}"),
        "unit": found.unit or "",
        "metric": outcome,
        "arms": {_named(path, values): _thinned(part.outcome) for values, part in parts[:MOST_ARMS]},
    }


def _named(path: Path, values: Mapping[str, object]) -> str:
    return ", ".join(f"{column}={value}" for column, value in values.items()) or path.name


_NOTHING: dict[str, Any] = {
    "headline": "",
    "words": "",
    "header": [],
    "rows": [],
    "unit": "",
    "metric": "",
    "arms": {},
    "ratios": {},
    "lower_is_better": True,
}


def _spread(claim: Any) -> list[float | None]:
    """Ratio and interval; nothing where there is no claim."""
    return [getattr(claim, name, None) for name in ("ratio", "low", "high")]


def _analysed(parts: Any, table: Any) -> str:
    from ...tools.analysis.analyse import analyse_groups
    from ...tools.analysis.analysis import AnalysisOptions
    from ..report.analysis import text

    try:
        return text(analyse_groups(parts, AnalysisOptions()), table)
    except VgoError as refused:  # it is described all the same
        return str(refused)


def _thinned(values: Any) -> list[float]:
    import numpy as np

    finite = np.asarray(values, float)
    finite = np.sort(finite[np.isfinite(finite)])
    if finite.size > MOST_DRAWN:
        finite = finite[np.linspace(0, finite.size - 1, MOST_DRAWN).round().astype(int)]
    return [float(value) for value in finite]
