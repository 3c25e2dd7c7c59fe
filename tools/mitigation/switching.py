"""What is the same for every knob that is switched between runs, of the kernel or of a GPU."""

from __future__ import annotations

from ...knowledge.errors import VgoError
from .checks import Check
from .journal import SavedKnob
from .knobs import rounded, same
from .put_back import KnobBackend, put_group_back


def changed_meanwhile(group: SavedKnob, seen: str, culprits: str) -> VgoError:
    """The runs from here on would be labelled with a condition that does not hold."""
    return VgoError(
        f"Someone else set {group.path} to {seen} during the measurement (it was {group.saved[group.path]}, and "
        f"{group.wanted} for the mitigation): find out who ({culprits}) and measure again."
    )


def checked(values: KnobBackend, group: SavedKnob, asked: str, culprits: str) -> Check:
    """Read a knob that is on back (level 1); raise VgoError where someone else changed it."""
    seen = values.read(group.path)
    if seen != group.wanted:
        raise changed_meanwhile(group, seen, culprits)
    passed = same(asked, seen) or rounded(asked, seen)
    return Check(level=1, what=group.path, expected=asked, seen=seen, passed=passed)


def unset(values: KnobBackend, group: SavedKnob, applied: bool, touched: bool, culprits: str) -> Check:
    """Put the old value back and check it (level 1); raise VgoError where someone else changed the knob."""
    returned = put_group_back(values, group, applied) if touched else None
    seen, old = values.read(group.path), group.saved[group.path]
    if returned and returned.foreign:
        raise changed_meanwhile(group, seen, culprits)
    return Check(level=1, what=group.path, expected=old, seen=seen, passed=seen == old)
