"""What a check of a mitigation says."""

from __future__ import annotations

from typing import Literal

from ..subject import Frozen

ENDED = "the program ended before it could be read"
UNREADABLE = "the kernel does not let us read it"


class Check(Frozen):
    """One thing that shows whether a mitigation is in force."""

    level: Literal[1, 2, 3]
    """1: the knob reads back; 2: the process shows it; 3: the factor moved."""
    what: str
    expected: str
    seen: str
    passed: bool
