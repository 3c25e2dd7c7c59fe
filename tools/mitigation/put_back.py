"""Put a journalled knob back, unless someone else has changed it since.

Of the standard library only: the watchdog uses it too, in an interpreter without installed packages.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from ...knowledge.errors import VgoError
from .kernel_file import Gone, KernelFiles

UNTOLD = "not told"
"""What is read of a knob that does not tell its value: taken for ours."""


class JournalledKnob(Protocol):
    """A journalled group."""

    @property
    def path(self) -> str:
        """The knob itself."""

    @property
    def wanted(self) -> str:
        """What it reads back as once it is set."""

    @property
    def saved(self) -> Mapping[str, str]:
        """It and its siblings before."""


class KnobReturn(NamedTuple):
    """What became of a knob that was not as before."""

    said: str
    foreign: bool
    """Someone else changed it in between, so it was left alone."""


def put_group_back(values: KernelFiles, group: JournalledKnob, known: bool) -> KnobReturn | None:
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


def as_before(values: KernelFiles, group: JournalledKnob) -> bool:
    """Tell whether a knob and its siblings have the values they had."""
    return all(values.read(path) == old for path, old in group.saved.items())
