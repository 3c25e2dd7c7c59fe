"""Two warm processes: one that is always quick, and one for exact answers, so that they keep nobody waiting."""

from __future__ import annotations

from collections.abc import Callable

from .computer import Computer
from .messages import LookAnswer, LookQuestion, OpenFile, Refit


class Computers:
    """Ask, and the answer comes back in the same loop; the exact process is started when it is first needed."""

    def __init__(self, answered: Callable[[LookQuestion, LookAnswer], None]) -> None:
        self._answered = answered
        self._quick = Computer(self._answered_quickly)
        self._exact = Computer(self._answered_exactly)
        self._open: OpenFile | None = None
        self._open_exactly: OpenFile | None = None

    @property
    def opened(self) -> bool:
        """Whether a table was asked for."""
        return self._open is not None

    def open(self, table: OpenFile) -> None:
        """Open a table instead of the one before."""
        self._open = table
        self._quick.ask(table)

    def forget(self) -> None:
        """Nothing is open any more."""
        self._open = None

    def ask(self, question: LookQuestion) -> None:
        """Ask about the table that is open; returns at once."""
        if not (isinstance(question, Refit) and question.exact):
            self._quick.ask(question)
            return
        if self._open is not None and self._open_exactly is not self._open:
            self._open_exactly = self._open
            self._exact.ask(self._open)
        self._exact.ask(question)

    async def close(self) -> None:
        """End both."""
        await self._quick.close()
        await self._exact.close()

    def _answered_quickly(self, question: LookQuestion, answer: LookAnswer) -> None:
        if self._open is not None:  # else it is of a table that nobody looks at any more
            self._answered(question, answer)

    def _answered_exactly(self, question: LookQuestion, answer: LookAnswer) -> None:
        if self._open is not None and isinstance(question, Refit):  # of the table the quick process tells
            self._answered(question, answer)
