"""The parent's side of the processes that compute: it never blocks, and of each kind of question the newest wins."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ...knowledge.errors import VgoError
from ..desk.desk import Desk
from .messages import Failed, LookAnswer, LookQuestion, OpenFile, Refit, packed, unpacked


@dataclass
class _Lane:
    """One warm process, and the questions that wait for it: an older one of the same kind gives way to a newer."""

    desk: Desk = field(default_factory=Desk)
    waiting: dict[type, LookQuestion] = field(default_factory=dict)
    work: asyncio.Task[None] | None = None


class Computer:
    """Ask about the table that is open, and the answer comes back in the same loop.

    Exact answers have a process of their own, started when it is first needed, so that quick ones do not wait for them.
    """

    def __init__(self, answered: Callable[[LookQuestion, LookAnswer], None]) -> None:
        self._answered = answered
        self._lanes = {exact: _Lane() for exact in (False, True)}
        self._table: OpenFile | None = None
        self._opened = 0

    @property
    def opened(self) -> bool:
        """Whether a table was asked for."""
        return self._table is not None

    @property
    def busy(self) -> bool:
        """Whether an answer is still to come."""
        return any(lane.work is not None and not lane.work.done() for lane in self._lanes.values())

    def open(self, table: OpenFile) -> None:
        """Open a table instead of the one before; what was asked of that one is dropped."""
        self._opened += 1
        self._table = replace(table, number=self._opened)
        for lane in self._lanes.values():
            lane.waiting.clear()
        self.ask(self._table)

    def forget(self) -> None:
        """Nothing is open any more."""
        self._table = None

    def ask(self, question: LookQuestion) -> None:
        """Ask about the table that is open; returns at once."""
        lane = self._lanes[isinstance(question, Refit) and question.exact]
        lane.waiting[type(question)] = question
        if lane.work is None or lane.work.done():
            lane.work = asyncio.create_task(self._answer_all(lane))

    async def close(self) -> None:
        """End the processes."""
        for lane in self._lanes.values():
            if lane.work is not None:
                lane.work.cancel()
            await asyncio.to_thread(lane.desk.close)

    async def _answer_all(self, lane: _Lane) -> None:
        while lane.waiting:
            question, table = lane.waiting.pop(next(iter(lane.waiting))), self._table
            if table is None:
                continue
            answer: LookAnswer
            try:
                answer = unpacked(await asyncio.to_thread(lane.desk.ask, "look", asked=packed((table, question))))
            except VgoError as error:
                answer = Failed(str(error))
            if table is self._table:  # else nobody looks at that table any more
                self._answered(question, answer)
