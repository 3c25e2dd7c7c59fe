"""The process that computes for the interface: one question in, one answer out, until its input ends."""

from __future__ import annotations

import os
import pickle
import signal
import sys
from pathlib import Path
from typing import BinaryIO

from ...knowledge.errors import VgoError
from .messages import LENGTH, Failed, FindShape, LookAnswer, LookQuestion, OpenFile, ReadColumn, ReadPage, Refit, framed
from .open_table import OpenTable, open_file

NOT_OPEN = "No table is open: open a run or a file first."


def main() -> None:
    """Answer until the parent has gone; what libraries print goes nowhere."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the interface to understand
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    table: OpenTable | None = None
    while (question := _read(sys.stdin.buffer)) is not None:
        try:
            table, answer = answered(question, table)
        except VgoError as error:
            answer = Failed(str(error))
        answers.write(framed(answer))
        answers.flush()


def answered(question: LookQuestion, table: OpenTable | None) -> tuple[OpenTable | None, LookAnswer]:
    """Answer one question; the table that is open afterwards comes first."""
    if isinstance(question, OpenFile):
        table = open_file(Path(question.path), question.outcome)
        return table, table.opened()
    if table is None:
        raise VgoError(NOT_OPEN)
    return table, _of_table(question, table)


def _of_table(question: FindShape | Refit | ReadColumn | ReadPage, table: OpenTable) -> LookAnswer:
    match question:
        case ReadPage():
            return table.page(question)
        case FindShape():
            return table.fits.shaped()
        case Refit():
            return table.fits.refit(question)
        case ReadColumn(name):
            return table.fits.column(name)


def _read(source: BinaryIO) -> LookQuestion | None:
    head = source.read(LENGTH)
    if len(head) < LENGTH:
        return None
    content = source.read(int.from_bytes(head, "big"))
    question: LookQuestion = pickle.loads(content)
    return question


if __name__ == "__main__":
    main()
