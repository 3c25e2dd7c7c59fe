"""What is told while runs go on: one type of event, for whoever listens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..row import Row


@dataclass(frozen=True)
class RunEnded:
    """One more run of a series has ended."""

    rows: Sequence[Row]
    """Of the series so far."""
    planned: int
    """Runs at most; 0: nobody knows."""


@dataclass(frozen=True)
class SettingRestored:
    """A setting that a dead process had left was put back."""

    words: str


@dataclass(frozen=True)
class Remark:
    """Anything else: a host was lost, a condition was left out, a step of an experiment begins."""

    words: str


ProgressEvent = RunEnded | SettingRestored | Remark
Listener = Callable[[ProgressEvent], None]


def ignore(event: ProgressEvent) -> None:
    """Show nothing."""
