"""The shape of a metric layer: how to measure and what its columns mean."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Role = Literal["outcome", "factor", "consequence", "setting"]
"""consequence: grows because a run is slow (CPU time, timer ticks), so it explains nothing."""


class Column(BaseModel):
    """What one column of a run table means."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_.]*$")]
    description: str
    unit: str
    """`count`, `s`, `ms`, `us`, `bytes`, `pages`, `%`."""
    role: Role
    scope: Literal["run", "machine"]
    """run: counts this run alone; machine: whole machine, over the time of the run."""
    lower_is_better: bool = True
    innate: bool = False
    """What the program itself asks for: being slow does not multiply it, so its rate over the run is no test of it.
    Where time is mostly made of it, as of page faults, the rate is flat and would hide the cause."""
    most_us: Annotated[float, Field(gt=0)] | None = None
    """One unit of it delays a run by at most so many microseconds, generously; None where it can be any time.
    A handful of interrupts cannot explain milliseconds, however well they go with slow runs."""
    source: str = ""
    """The kernel file or call that it is read from, and the key within it."""


class Layer(BaseModel):
    """One YAML file of layers/."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    description: str
    probe: str
    """The built-in probe that reads it."""
    columns: tuple[Column, ...]
