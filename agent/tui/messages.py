"""What widgets tell the screen that holds them."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message


@dataclass
class LineSubmitted(Message):
    """The user has said a line: a command, or words."""

    line: str


@dataclass
class SourceAsked(Message):
    """A reference was chosen."""

    tag: str
    """Of the reference, in the last replies."""


@dataclass
class StepAsked(Message):
    """A step was chosen, to be seen in full."""

    call_id: str
