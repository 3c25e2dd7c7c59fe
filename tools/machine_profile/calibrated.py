"""What a calibration found: the quota, each step of the search, the range before and after, what stays apart."""

from __future__ import annotations

from ...knowledge.shape import Frozen
from .battery import Group
from .form import Calibration, Quota


class QuotaTrial(Frozen):
    """One quota that was tried."""

    quota: Quota
    stressors: int
    median: float
    """Speed-up over the base under it."""
    cpu_share: float
    """Of a CPU that a run without the quota had."""


class Range(Frozen):
    """Speed-ups of the CPU stressors over the base."""

    least: float
    median: float
    greatest: float

    @property
    def width(self) -> float:
        """Greatest less least, as the paper counts it."""
        return self.greatest - self.least


class Unmatched(Frozen):
    """A stressor that the quota does not bring near the base."""

    stressor: str
    group: Group
    speed_up: float


class Calibrated(Frozen):
    """The whole answer."""

    calibration: Calibration
    steps: tuple[QuotaTrial, ...]
    before: Range
    after: Range
    unmatched: tuple[Unmatched, ...]
    apart: int
    """Stressors of the other groups that were run too."""
    failed: dict[str, str]
    notes: tuple[str, ...] = ()
