"""Public models that are worth trying, as a list that people keep."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, RootModel

from ...knowledge.files import read_model
from ...knowledge.shape import Frozen

FILE = Path(__file__).with_name("recommended.yaml")
BESIDE_GB = 1.5
"""What such models take beside their weights at the usual context, roughly: no less than memory.py works out."""


class Recommended(Frozen):
    """One model."""

    name: str
    pull: str = Field(pattern=r"^[^:\s]+/[^:\s]+:[^:\s]+\.gguf$")
    """What `vgo-agent model pull` takes."""
    gigabytes: float = Field(gt=0)
    """Of the file."""
    licence: str

    @property
    def memory_gb(self) -> float:
        """About what it needs."""
        return self.gigabytes + BESIDE_GB


class _All(RootModel[tuple[Recommended, ...]]):
    """The list."""


def recommended() -> tuple[Recommended, ...]:
    """Read the list, the smallest first."""
    return read_model(FILE, _All).root
