"""What widgets tell the screen that holds them."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message

from ..look.messages import LookQuestion
from ..look.plot import TextFigure


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


@dataclass
class FigureChosen(Message):
    """Another figure is shown; `asked`: the user wants what it leads to."""

    figure: TextFigure
    asked: bool = False


@dataclass
class CutMoved(Message):
    """The cut line is to stand elsewhere; nothing is recorded yet."""

    cut: float | None
    """In the unit of the outcome; None: as it is recorded."""


@dataclass
class CutKept(Message):
    """The user wants the cut recorded, as a step by hand."""

    cut: float
    """In the unit of the outcome."""


@dataclass
class QuestionPut(Message):
    """Something about the table that is open is to be read or computed."""

    question: LookQuestion


@dataclass
class QuestionRefused(Message):
    """What was asked for cannot be done; one sentence says why."""

    sentence: str
