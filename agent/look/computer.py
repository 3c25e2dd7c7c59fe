"""The parent's side of the process that computes: it never blocks, and of each kind of question the newest wins."""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable

from .messages import LENGTH, Failed, LookAnswer, LookQuestion, OpenFile, Refit, framed

ENDED = "The process that computes has ended ({why}); the next request starts it again."
CHILD = "vgo_agent.agent.look.child"


class Computer:
    """One warm process. Questions wait while it works; an older one of the same kind gives way to a newer."""

    def __init__(self, answered: Callable[[LookQuestion, LookAnswer], None]) -> None:
        self._answered = answered
        self._waiting: dict[type, LookQuestion] = {}
        self._opened: OpenFile | None = None
        self._process: Process | None = None
        self._pump: asyncio.Task[None] | None = None

    @property
    def busy(self) -> bool:
        """Whether an answer is still to come."""
        return self._pump is not None and not self._pump.done()

    @property
    def pid(self) -> int:
        """Of the process; 0 where none runs."""
        return self._process.pid if self._process is not None else 0

    def ask(self, question: LookQuestion) -> None:
        """Ask; returns at once. Opening another table drops what was asked of the one before."""
        if isinstance(question, OpenFile):
            self._opened = question
            self._waiting.clear()
        self._waiting[type(question)] = question
        if not self.busy:
            self._pump = asyncio.create_task(self._answer_all())

    async def close(self) -> None:
        """End the process."""
        if self._pump is not None:
            self._pump.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._pump
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
            self._process = None

    async def _answer_all(self) -> None:
        while self._waiting:
            question = self._waiting.pop(next(iter(self._waiting)))
            answer = await self._answer(question)
            if OpenFile not in self._waiting:  # else it was asked of a table that gives way to another
                self._answered(question, answer)

    async def _answer(self, question: LookQuestion) -> LookAnswer:
        fresh = self._process is None
        process = await self._started()
        try:
            if fresh and self._opened is not None and question is not self._opened:
                await _exchange(process, self._opened)
            return await _exchange(process, question)
        except (asyncio.IncompleteReadError, BrokenPipeError, ConnectionResetError):
            self._process = None
            code = await process.wait()
            return Failed(ENDED.format(why=f"signal {-code}" if code < 0 else f"exit {code}"))

    async def _started(self) -> Process:
        if self._process is None:
            # A session of its own: Ctrl-C and the hang-up of the terminal are not for it; it ends with its input.
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", CHILD, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, start_new_session=True
            )
        return self._process


async def _exchange(process: Process, question: LookQuestion) -> LookAnswer:
    assert process.stdin is not None and process.stdout is not None  # both are pipes
    process.stdin.write(framed(question))
    await process.stdin.drain()
    length = int.from_bytes(await process.stdout.readexactly(LENGTH), "big")
    answer: LookAnswer = pickle.loads(await process.stdout.readexactly(length))
    return answer


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
