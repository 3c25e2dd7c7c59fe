"""From a recorded table to what the statistics see: outcome, order, groups, and the columns that may explain."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs

from ...knowledge.errors import VgoError
from ..statistics.values import BoolArray, FloatArray, IntArray
from .columns import check_names, is_level, listed
from .draft import MatrixBuilder, RunOrder, run_order, runs_of, sample_notes
from .outcome import OutcomeColumn, lower_is_better, outcome_column, unit_of_group
from .recorded import ColumnOptions, Observations, RecordedRuns
from .understand import MOMENT, MOST_MISSING, MOST_VALUES, ColumnClasses, understand

__all__ = ["ColumnOptions", "Observations", "designs"]

MOST_GROUPS = 10_000
_FEWEST_PROFILED = 20
_FEWEST_SPARSE = 3
_MOST_COPIES, _MOST_COMPARED = 0.05, 200_000
"""Columns missing together that speak of a profile switched off; one or two with gaps are no reason to lose runs."""


def designs(recorded: RecordedRuns, wanted: ColumnOptions) -> list[tuple[dict[str, Any], Observations]]:
    """Turn a table into one design a group, groups in the order of their first run; {} names the whole table.

    Beside the table itself there is one copy of the numbers, the matrices of the designs: 1,000,000 runs x 200 columns
    peak at 3.7 GB with reading from CSV, 3.4 GB from Parquet (10 s of CPU beyond reading). Raises VgoError for a column
    that does not exist, an outcome that holds no numbers or mixes units, and more than 10,000 groups.
    """
    check_names(recorded, wanted)
    outcome = outcome_column(recorded, wanted)
    rows, lost = _counted(recorded, wanted, outcome)
    order = run_order(recorded, wanted, rows)
    known = understand(recorded, wanted, outcome.name, order.column)
    shared = [
        *outcome.warnings,
        *lost,
        *order.warnings,
        *known.warnings,
        *_out_of_order(recorded, wanted, known, order),
        *_copies(recorded.frame, order.rows),
    ]
    parts = _split(recorded, wanted, order.rows)
    gaps = _gaps(known)
    sources = [_profiled(gaps, part, len(known.numbers)) for _, part in parts]
    runs = runs_of(recorded.frame)
    drafts = [MatrixBuilder(rows, outcome.values[rows], order.ordered, _room(known), runs[rows]) for rows, _ in sources]
    groups = _fill(drafts, known)
    guessed = _levels(recorded, wanted, known, outcome)
    return [
        (values, _design(recorded, wanted, outcome, known, draft, indicators, guessed, [*shared, *words]))
        for (values, _), draft, indicators, (_, words) in zip(parts, drafts, groups, sources, strict=True)
    ]


def _counted(recorded: RecordedRuns, wanted: ColumnOptions, outcome: OutcomeColumn) -> tuple[IntArray, list[str]]:
    """Return the rows that count, in file order: the usual ones, with an outcome."""
    frame, warnings = recorded.frame, []
    counted = np.ones(frame.height, dtype=bool)
    for name, value in recorded.usual.items():
        if name in frame.columns and name not in (*wanted.group, *wanted.settings):
            counted &= (frame[name] == value).fill_null(False).to_numpy()
            if not counted.all():
                other = int((~counted).sum())
                warnings.append(f"{other} runs whose {name} is not {value} were left out: give --group {name} for all.")
    if (bare := _bare(recorded, wanted) & counted).any() and not bare[counted].all():
        counted &= ~bare
        warnings.append(f"{int(bare.sum())} bare runs (no layer was on) have no counters: left out.")
    missing = int(np.isnan(outcome.values[counted]).sum())
    if missing:
        warnings.append(f"{missing} of {int(counted.sum())} runs have no finite {outcome.name}: left out.")
    rows = np.flatnonzero(counted & ~np.isnan(outcome.values))
    if not len(rows):
        raise VgoError(f"No run that counts has a finite {outcome.name}: name another outcome.")
    return rows, warnings


def _bare(recorded: RecordedRuns, wanted: ColumnOptions) -> BoolArray:
    """Runs of vgo-agent in which no layer was on; none where runs are grouped by layers."""
    if recorded.format != "vgo-agent" or "layers" not in recorded.frame or "layers" in wanted.group:
        return np.zeros(recorded.frame.height, dtype=np.bool_)
    bare: BoolArray = (recorded.frame["layers"].fill_null("") == "").to_numpy()
    return bare


def _out_of_order(recorded: RecordedRuns, wanted: ColumnOptions, known: ColumnClasses, order: RunOrder) -> list[str]:
    """Warn where a time in the table contradicts the order of the file."""
    if order.column or not order.ordered:
        return []
    times = [name for name in known.moments if name not in wanted.group]
    times += [name for name in known.numbers if MOMENT.search(name)]
    wrong = [name for name in times if not recorded.frame[name].gather(order.rows).drop_nulls().is_sorted()]
    return [f"The file is not in the order of {name}: give --order {name} if the runs were made so." for name in wrong]


def _copies(frame: pl.DataFrame, rows: IntArray) -> list[str]:
    """Warn where rows stand in the table more than once; few numbers, or very many rows, are not asked."""
    numbers = frame.select(cs.float())
    if numbers.width < _FEWEST_SPARSE or len(rows) > _MOST_COMPARED:
        return []
    copies = len(rows) - frame[rows].n_unique()
    if copies <= _MOST_COPIES * len(rows):
        return []
    return [
        f"{copies} of {len(rows)} rows are copies of another: remove them, or the runs count for more than they are."
    ]


def _split(recorded: RecordedRuns, wanted: ColumnOptions, rows: IntArray) -> list[tuple[dict[str, Any], IntArray]]:
    """Split the rows by every combination of the group columns, each part in run order."""
    if not wanted.group:
        return [({}, rows)]
    place = max(wanted.group, key=len) + "."
    keys = recorded.frame.select(pl.col(list(wanted.group)).gather(rows)).with_columns(pl.Series(place, rows))
    parts = keys.group_by(list(wanted.group), maintain_order=True).agg(place)
    if parts.height > MOST_GROUPS:
        raise VgoError(
            f"--group {','.join(wanted.group)} makes {parts.height:,} groups, more than {MOST_GROUPS:,}: "
            "group by fewer columns, or by columns with fewer values."
        )
    named = parts.select(wanted.group).iter_rows(named=True)
    return [(values, part.to_numpy()) for values, part in zip(named, parts[place], strict=True)]


def _gaps(known: ColumnClasses) -> list[BoolArray]:
    """Say for each column with gaps where they are, over the whole table."""
    gaps = [~np.isfinite(_floats(column)) for name, column in known.numbers.items() if name not in known.settings]
    return [gap for gap in gaps if gap.any()]


def _profiled(gaps: list[BoolArray], rows: IntArray, columns: int) -> tuple[IntArray, list[str]]:
    """Leave out the runs in which nothing was recorded of most columns, as where only some runs were profiled."""
    own = [gap[rows] for gap in gaps]
    sparse = [gap for gap in own if gap.mean() > MOST_MISSING and not gap.all()]
    empty = sum(bool(gap.all()) for gap in own)
    if len(sparse) < max(_FEWEST_SPARSE, (columns - empty) / 2):
        return rows, []
    bare = np.logical_and.reduce(sparse)
    left = int((~bare).sum())
    if not bare.any() or left < _FEWEST_PROFILED:
        return rows, []
    words = f"{int(bare.sum())} of {len(rows)} runs recorded none of {len(sparse)} columns: left out, {left} are left."
    return rows[~bare], [words]


def _room(known: ColumnClasses) -> int:
    return len(known.numbers) + sum(min(column.n_unique(), MOST_VALUES) for column in known.categories.values())


def _fill(drafts: list[MatrixBuilder], known: ColumnClasses) -> list[dict[str, tuple[str, ...]]]:
    """Offer each column to each group, columns outermost so that only one of them is unpacked at a time."""
    for name, column in known.numbers.items():
        whole = _floats(column)
        for draft in drafts:
            draft.offer(name, whole, name in known.settings)
    groups: list[dict[str, tuple[str, ...]]] = [{} for _ in drafts]
    for name, column in known.categories.items():
        labels = tuple(column.unique().sort().to_list())
        codes = column.cast(pl.Enum(labels)).to_physical().to_numpy().astype(np.int64)
        for draft, indicators in zip(drafts, groups, strict=True):
            indicators[name] = draft.indicate(name, codes, labels, MOST_VALUES)
    return groups


def _levels(recorded: RecordedRuns, wanted: ColumnOptions, known: ColumnClasses, outcome: OutcomeColumn) -> list[str]:
    """Name the columns that look like levels though nobody said so."""
    said = {*recorded.levels, *recorded.rates, *wanted.levels, *known.shares, *known.settings}
    finite = outcome.values[~np.isnan(outcome.values)]
    columns = ((name, _floats(column)) for name, column in known.numbers.items() if name not in said)
    return [
        name
        for name, values in columns
        if is_level(name, known.units.get(name, ""), values[np.isfinite(values)], finite)
    ]


def _floats(column: pl.Series) -> FloatArray:
    floats: FloatArray = column.cast(pl.Float64).to_numpy()
    return floats


def _design(
    recorded: RecordedRuns,
    wanted: ColumnOptions,
    outcome: OutcomeColumn,
    known: ColumnClasses,
    draft: MatrixBuilder,
    indicators: dict[str, tuple[str, ...]],
    guessed: list[str],
    warnings: list[str],
) -> Observations:
    unit = unit_of_group(outcome, recorded.frame, pl.Series(draft.rows), wanted.group)
    lower, assumed = lower_is_better(recorded, wanted, outcome.name, unit)
    values = draft.finish()
    names = set(draft.names)
    guessed = [name for name in guessed if name in names]
    samples = [] if draft.runs is None else sample_notes(outcome.values[draft.rows], draft.runs)
    return Observations(
        outcome_name=outcome.name,
        unit=unit,
        lower_is_better=lower,
        outcome=draft.outcome,
        names=tuple(draft.names),
        values=values,
        rows=draft.rows,
        runs=draft.runs,
        ordered=draft.ordered,
        assumed=wanted.order is None and "order" not in recorded.roles.values(),
        groups=_kept(indicators, names),
        settings=frozenset(draft.settings & names),
        levels=frozenset({*recorded.levels, *wanted.levels, *known.shares, *draft.settings, *guessed} & names),
        rates=(recorded.rates & names) - {*wanted.levels, *draft.settings},
        roles={name: role for name, role in recorded.roles.items() if name in names}
        | dict.fromkeys(draft.settings & names, "setting"),
        units={name: unit for name, unit in known.units.items() if name in names},
        most_us={name: most for name, most in recorded.most_us.items() if name in names},
        set_aside=known.aside | draft.aside,
        warnings=tuple([*filter(None, [assumed]), *warnings, *samples, *_words(draft, guessed)]),
    )


def _kept(indicators: dict[str, tuple[str, ...]], names: set[str]) -> dict[str, tuple[str, ...]]:
    kept = {setting: tuple(name for name in own if name in names) for setting, own in indicators.items()}
    return {setting: own for setting, own in kept.items() if own}


def _words(draft: MatrixBuilder, guessed: list[str]) -> list[str]:
    words = []
    if draft.filled:
        counts = listed([f"{name} ({count})" for name, count in draft.filled.items()])
        words.append(f"Missing values were filled with the median in {len(draft.filled)} columns: {counts}.")
    if guessed:
        words.append(f"Taken for levels, which are not divided by the outcome: {listed(guessed)}.")
    return words
