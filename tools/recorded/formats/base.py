"""What a format of run tables is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..recorded import RecordedRuns
from ..source import TableSource


@dataclass(frozen=True)
class Format:
    """How to tell a format by its content, and how to read it."""

    name: str
    recognises: Callable[[TableSource], bool]
    read: Callable[[TableSource], RecordedRuns]
