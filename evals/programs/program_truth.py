"""The truth about a made program, in a file of its own: the maker writes it, and only the scorer opens it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from ...knowledge.files import read_model
from ...knowledge.shape import Frozen
from ...knowledge.time_states import TimeState
from ...tools.subject import Limits
from .parts import Trigger

TRUTH = "truth.json"
FAINT = 0.3
"""A mechanism that makes less than this share of the variance need not be found."""


class InsertedMechanism(Frozen):
    """A mechanism in a program, with what it costs."""

    key: str
    what: str
    states: tuple[TimeState, ...]
    """Those of the mechanism, and those in which the timed thread waits for who has it."""
    factors: tuple[str, ...]
    remedies: tuple[str, ...]
    unseen: bool
    trigger: Trigger
    share: float
    """Of the runs, roughly, in which it is on."""
    planned_ms: float
    phases: int = 1
    """Of a run, that draw each for itself."""
    effect_ms: float = 0.0
    """Measured: the median of runs in which it was forced on, less that of runs with nothing on."""

    @property
    def variance(self) -> float:
        """What it adds to the variance of the runs, ms²: of an even draw, or of the sum of those between two values."""
        spread = 1 / 12 if self.trigger in ("graded", "own") else self.share * (1 - self.share) / self.phases
        return max(0.0, self.effect_ms) ** 2 * spread


class ProgramTruth(Frozen):
    """What is right about one program."""

    number: int
    kind: Literal["null", "one", "two"]
    told: str
    """How it was composed, in words."""
    inserted: tuple[InsertedMechanism, ...] = ()
    allowed: tuple[str, ...] = ()
    """Factors that are no false alarm of a null."""
    base_ms: float = 0.0
    """Median with nothing on."""
    noise_ms: float = 0.0
    """1.4826 times the median absolute deviation of the same runs."""
    runs: int = 0
    """Of each kind, behind these numbers."""

    def faint(self, one: InsertedMechanism) -> bool:
        """Tell whether it makes so little of the variance, or all of them together so little of the time, that saying
        nothing of it is right too.
        """
        whole = self.noise_ms**2 + sum(each.variance for each in self.inserted)
        return one.variance < FAINT * whole or whole < (Limits().steady_cv * self.base_ms) ** 2


def write_truth(truth: ProgramTruth, path: Path) -> None:
    """Write it so that nobody else may read it."""
    with open(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(truth.model_dump_json(indent=1) + "\n")


def read_program_truth(path: Path) -> ProgramTruth:
    """Read it; JSON is YAML."""
    return read_model(path, ProgramTruth)
