"""What the tabs tell the app."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message

from ...look.messages import OpenedTable, Refitted


@dataclass
class CutRefitted(Message):
    """The cut was moved and refitted; nothing is recorded."""

    refitted: Refitted


@dataclass
class CutKept(Message):
    """The user wants the cut recorded, as a step by hand."""

    cut: float
    """In the unit of the outcome."""


@dataclass
class TableOpened(Message):
    """A table that was asked for can be looked at."""

    opened: OpenedTable


@dataclass
class RequestRefused(Message):
    """What was asked for cannot be done; one sentence says why."""

    sentence: str
