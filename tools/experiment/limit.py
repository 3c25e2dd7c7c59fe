"""How much of an experiment is made at most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from ...knowledge.shape import Frozen
from ..amount import LONGEST, MOST

if TYPE_CHECKING:
    from ..execution.series import Series


class Limit(Frozen):
    """Caps beside the deadline of the bench, looked at after each run; a sweep counts its own by cell."""

    runs: Annotated[int, Field(ge=1, le=MOST)] | None = None
    seconds: Annotated[float, Field(gt=0, le=LONGEST)] | None = None
    """By the clock; one run that counts is made for it."""

    def reached(self, series: Series) -> Literal["", "run cap", "time cap"]:
        """Name the cap that is reached."""
        if self.runs is not None and series.processes >= self.runs:
            return "run cap"
        if self.seconds is not None and (series.over or (series.outcomes and series.elapsed_s >= self.seconds)):
            return "time cap"
        return ""


UNLIMITED = Limit()
