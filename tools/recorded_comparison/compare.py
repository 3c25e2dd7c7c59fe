"""Recorded conditions against a baseline: the arms, their pairs, the statistics, and what else differs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import polars as pl

from ...knowledge.errors import VgoError
from ..claim import Arms, Claim, TooFew
from ..comparison import Comparison, Stratified, compared, stratified
from ..recorded.columns import listed
from ..recorded.kinds import kinds, numbered
from ..recorded.recorded import RecordedRuns
from ..statistics.ratio_test import FEWEST
from ..statistics.strata import MOST_CELLS, Strata, strata
from ..statistics.values import FiniteResult, FloatArray
from .arms import Contrast, RecordedArm, arms, column_of
from .pairing import ArmSamples, pairs, whole_runs


class SystemDifference(FiniteResult):
    """A fact of the system under test, or a column that each arm holds constant."""

    name: str
    values: tuple[str | None, ...]
    """In the order of the arms, the baseline first; None where it is not told."""


class Systems(FiniteResult):
    """All that is known about what was measured, apart from the numbers."""

    differs: tuple[SystemDifference, ...]
    equal: dict[str, str]


def systems(arms: Sequence[RecordedArm], ignored: Collection[str]) -> Systems:
    """Compare the facts of the arms, by name."""
    told = [_facts(arm, ignored) for arm in arms]
    names = dict.fromkeys(name for facts in told for name in facts)
    rows = {name: tuple(facts.get(name) for facts in told) for name in names}
    return Systems(
        differs=tuple(SystemDifference(name=name, values=row) for name, row in rows.items() if len(set(row)) > 1),
        equal={name: row[0] for name, row in rows.items() if len(set(row)) == 1 and row[0] is not None},
    )


def _facts(arm: RecordedArm, ignored: Collection[str]) -> dict[str, str]:
    """Facts of the format, and columns of one value; a column that varies within an arm says nothing about it."""
    frame = arm.recorded.frame
    constant = [name for name in frame.columns if name not in ignored and frame[name].n_unique() == 1]
    columns = {name: str(frame[name][0]) for name in constant if frame[name][0] is not None}
    return {**arm.recorded.system, **columns}


class ContrastedArm(Comparison):
    """A recorded condition against the baseline."""

    name: str


class ComparedOutcome(FiniteResult):
    """What is compared, and with what."""

    metric: str
    unit: str
    lower_is_better: bool
    baseline: str
    notes: tuple[str, ...]
    strata: Strata | None
    """Columns that explain most of the spread within the arms, and within the cells where there are such."""


class Contrasted(ComparedOutcome):
    """What recorded runs say about two or more conditions."""

    arms: tuple[ContrastedArm, ...]
    """Every other arm against the baseline."""
    alone: dict[str, int]
    """By arm: rows left out because their partner is missing."""
    samples: dict[str, int]
    """By arm, where rows are samples of runs: how many of each run were compared; `*_runs` then count samples."""
    blocks: dict[str, int]
    """By arm, where conditions took turns by block: pairs in each, which were exchanged and drawn together."""
    systems: Systems
    within: dict[str, Claim | TooFew]
    """By arm, where there are `strata`: the spread within their cells, all cells together; alpha is split."""


@dataclass(frozen=True)
class ComparedValues:
    """The runs that were compared, for pictures."""

    baseline: FloatArray
    others: Mapping[str, FloatArray]


def contrast(tables: Sequence[RecordedRuns], question: Contrast) -> tuple[Contrasted, ComparedValues]:
    """Compare every arm with the baseline; raises VgoError for whatever cannot be compared."""
    first, *others = arms(tables, question)
    paired = question.in_pairs
    lined_up = dict[str, Arms]()
    alone, samples, blocks, cut = {}, dict[str, int](), dict[str, int](), list[str]()
    for other in others:
        two, alone[other.name] = against(first, other, question)
        (blocks if first.blocks and other.blocks else samples)[other.name] = two.each
        cut += two.notes
        lined_up[other.name] = arms_of(two, paired, "block" if other.name in blocks else "run")
    found = compared(lined_up, lower_is_better=first.lower_is_better, alpha=question.alpha, seed=question.seed)
    apart = _strata([first, *others], question)
    cells, _ = _stratified(first, others, replace(question, by=apart.columns)) if apart else ({}, {})
    told = Contrasted(
        metric=first.metric,
        unit=first.unit,
        lower_is_better=first.lower_is_better,
        baseline=first.name,
        arms=tuple(ContrastedArm(name=name, described=one.described, claims=one.claims) for name, one in found.items()),
        alone={name: left for name, left in alone.items() if left},
        samples={name: each for name, each in samples.items() if each > 1},
        blocks={name: each for name, each in blocks.items() if each > 1},
        systems=systems([first, *others], {first.metric, question.condition or ""}),
        notes=tuple(dict.fromkeys((*what_to_know(tables, first, others, paired), *cut))),
        strata=apart,
        within={name: one.together for name, one in cells.items()},
    )
    return told, ComparedValues(first.values, {other.name: other.values for other in others})


def arms_of(two: ArmSamples, paired: bool, unit: Literal["run", "block"] = "run") -> Arms:
    """Hand two recorded arms to the claim."""
    return Arms(two.baseline, two.other, paired, two.each, design="recorded", unit=unit)


def against(first: RecordedArm, other: RecordedArm, question: Contrast) -> tuple[ArmSamples, int]:
    """Line up two arms by whole runs; with the rows that have no partner."""
    if not question.in_pairs:
        return whole_runs((first.values, other.values), (first.runs, other.runs), False), 0
    x, y, alone, runs = pairs(first, other, question.pair)
    return whole_runs((x, y), (runs, runs), True), alone


def what_to_know(
    tables: Sequence[RecordedRuns], first: RecordedArm, others: Sequence[RecordedArm], paired: bool
) -> Iterator[str]:
    """Tell what was read and assumed, and what weakens any claim."""
    for table in tables:
        yield from table.notes
    if first.assumed:
        yield first.assumed
    for other in others:
        same_file = len(tables) > 1 and other.recorded.source == first.recorded.source
        if same_file or np.array_equal(first.values, other.values, equal_nan=True):
            what = "the same file" if same_file else "the same values"
            yield f"{other.name} holds {what} as {first.name}: this compares them with themselves (A/A)."
    if not paired:
        yield "No pairs: whatever else changed between the arms, time included, is part of the difference."


def _strata(arms: Sequence[RecordedArm], question: Contrast) -> Strata | None:
    """Say which kinds of runs each arm mixes, where these make most of its spread.

    They are told and not used: a column that was set makes kinds of runs, one that happened is what the arms may differ
    by, and to look within its values would take the difference away.
    """
    asked = {question.condition or "", *question.pair, *question.by}
    names = kinds([arm.recorded for arm in arms], arms[0].metric, asked, numbers=True)
    values = np.concatenate([arm.values for arm in arms])
    there = np.isfinite(values)
    arm_of = np.repeat(np.arange(len(arms)), [arm.values.size for arm in arms])
    codes = numbered([arm.recorded.frame for arm in arms], (*names, *question.by))
    columns = {name: codes[name][there] for name in names}
    return strata(values[there], columns, arm_of[there], [codes[name][there] for name in question.by], FEWEST)


class ContrastedCells(ComparedOutcome):
    """What recorded runs say about two or more conditions, cell by cell and together."""

    columns: tuple[str, ...]
    """Whose values make a cell."""
    arms: dict[str, Stratified]
    """Every other arm against the baseline; alpha is split between them."""
    left_out: dict[str, dict[str, str]]
    """By arm and cell: why it cannot be compared there."""


def contrast_cells(tables: Sequence[RecordedRuns], question: Contrast) -> ContrastedCells:
    """Compare within every combination of the values of `question.by`; VgoError where no cell can be compared."""
    first, *others = arms(tables, question)
    found, left_out = _stratified(first, others, question)
    if not found:
        raise VgoError(f"No cell of {listed(question.by)} has two runs of both arms: give other columns with --by.")
    return ContrastedCells(
        metric=first.metric,
        unit=first.unit,
        lower_is_better=first.lower_is_better,
        baseline=first.name,
        notes=tuple(dict.fromkeys(what_to_know(tables, first, others, question.in_pairs))),
        strata=_strata([first, *others], question),
        columns=question.by,
        arms=found,
        left_out=left_out,
    )


def _stratified(
    first: RecordedArm, others: Sequence[RecordedArm], question: Contrast
) -> tuple[dict[str, Stratified], dict[str, dict[str, str]]]:
    """Compare each arm within the cells of `question.by`; with the cells that are left out, and why."""
    baseline = _by_cell(first, question.by)
    found, left_out = dict[str, Stratified](), dict[str, dict[str, str]]()
    for other in others:
        compared, left_out[other.name] = _compared(baseline, _by_cell(other, question.by), question)
        if compared:
            found[other.name] = stratified(compared, alpha=question.alpha / len(others), seed=question.seed)
    return found, left_out


def _compared(
    baseline: Mapping[str, RecordedArm], other: Mapping[str, RecordedArm], question: Contrast
) -> tuple[dict[str, Arms], dict[str, str]]:
    """Line up both arms in each cell; with the reason where that cannot be done."""
    found, left_out = dict[str, Arms](), dict[str, str]()
    for cell in dict.fromkeys((*baseline, *other)):
        first, second = baseline.get(cell), other.get(cell)
        if not (first and second) or min(np.isfinite(arm.values).sum() for arm in (first, second)) < 2:
            left_out[cell] = "fewer than two runs of an arm"
            continue
        try:
            two, _ = against(first, second, question)
        except VgoError as unpaired:
            left_out[cell] = str(unpaired).rstrip(".")
            continue
        found[cell] = arms_of(two, question.in_pairs)
    return found, left_out


def _by_cell(arm: RecordedArm, by: Sequence[str]) -> dict[str, RecordedArm]:
    """Split an arm by the values of columns, cells in the order of their first run; a run that lacks one is in none."""
    frame = arm.recorded.frame
    for name in by:
        column_of(arm.recorded, name, "--by")
    keyed = frame.select(pl.col(list(by)).cast(pl.String)).with_row_index("row ").drop_nulls()
    rows = keyed.group_by(list(by), maintain_order=True).agg("row ")
    if rows.height > MOST_CELLS:
        raise VgoError(
            f"--by {','.join(by)} makes {rows.height:,} cells, more than {MOST_CELLS:,}: leave a column out."
        )
    places = [np.array(part) for part in rows["row "].to_list()]
    names = [", ".join(map("=".join, zip(by, values, strict=True))) for values in rows.select(by).iter_rows()]
    return {
        name: replace(
            arm,
            recorded=replace(arm.recorded, frame=frame[place]),
            values=arm.values[place],
            runs=arm.runs[place],
        )
        for name, place in zip(names, places, strict=True)
    }
