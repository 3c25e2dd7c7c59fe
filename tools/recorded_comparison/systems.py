"""What is equal and what differs in the systems under test."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..statistics.values import FiniteResult
from .arms import RecordedArm


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
