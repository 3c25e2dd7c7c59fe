"""Put a journalled knob back, unless someone else has changed it since.

Of the standard library only: the watchdog uses it too, in an interpreter without installed packages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ...knowledge.errors import VgoError
from .kernel_file import Gone, KernelFiles

UNTOLD = "not told"
"""What is read of a knob that does not tell its value: taken for ours."""


@dataclass(frozen=True)
class SavedKnob:
    """One knob with the files that the kernel changes along with it, by path."""

    path: str
    wanted: str
    """What reads back once it is set; until its entry is `applied`, what was asked for."""
    saved: dict[str, str]
    """`path` and its siblings before."""
    coupled: bool = False
    """It shares files with another group of its entry, so that between two writes it may show other values."""


class KnobReturn(NamedTuple):
    """What became of a knob that was not as before."""

    said: str
    foreign: bool
    """Someone else changed it in between, so it was left alone."""


def put_group_back(values: KernelFiles, group: SavedKnob, known: bool) -> KnobReturn | None:
    """Put one group back and check all of it; None when it is as before.

    With `known` what is neither the old value nor `wanted` is someone else's. The old value beside a sibling that
    differs is ours: it was being put back when its agent was killed.
    """
    try:
        if as_before(values, group):
            return None
    except Gone:  # a device was taken out, or a control group was removed
        return KnobReturn(f"{group.path}: gone, so that there is nothing to put back", foreign=True)
    now, old = values.read(group.path), group.saved[group.path]
    if known and now not in (group.wanted, old, UNTOLD):
        said = f"{group.path}: left at {now}, because someone else changed it; it was {old} before vgo-agent"
        return KnobReturn(said, foreign=True)
    differing = values.put_back(group.saved)
    if differing:
        texts = ", ".join(f"{group.saved[path]} into {path}" for path in differing)
        raise VgoError(f"Cannot put back a setting: write {texts} as root, then run vgo-agent restore.")
    return KnobReturn(f"{group.path}: {now} -> {old}", foreign=False)


def as_before(values: KernelFiles, group: SavedKnob) -> bool:
    """Tell whether a knob and its siblings have the values they had."""
    return all(values.read(path) == old for path, old in group.saved.items())
