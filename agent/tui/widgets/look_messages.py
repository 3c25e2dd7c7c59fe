"""What the tabs tell the app."""

from __future__ import annotations

from textual.message import Message

from ...look.messages import OpenedTable, Refitted


class CutRefitted(Message):
    """The cut was moved and refitted; nothing is recorded."""

    def __init__(self, refitted: Refitted) -> None:
        super().__init__()
        self.refitted = refitted


class CutKept(Message):
    """The user wants the cut recorded, as a step by hand."""

    def __init__(self, cut: float) -> None:
        super().__init__()
        self.cut = cut


class TableOpened(Message):
    """A table that was asked for can be looked at."""

    def __init__(self, opened: OpenedTable) -> None:
        super().__init__()
        self.opened = opened


class RequestRefused(Message):
    """What was asked for cannot be done; one sentence says why."""

    def __init__(self, sentence: str) -> None:
        super().__init__()
        self.sentence = sentence
