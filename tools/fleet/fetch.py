"""Fetch what tasks gave, many in one question to the scheduler: at a thousand hosts each question counts."""

from __future__ import annotations

import asyncio
import contextlib
import queue
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from distributed import Client, Future
from distributed.comm.core import CommClosedError

from .where import one_line

FETCH_S = 10.0
"""For the answers of tasks that have ended."""


class Fetched(NamedTuple):
    """What a task gave."""

    key: str
    value: Any
    lost: str
    """Why there is no value; empty where there is one."""


@dataclass
class Fetcher:
    """Fetches in the loop of the client; whoever waits reads `landed`."""

    client: Client
    landed: queue.SimpleQueue[Fetched] = field(default_factory=queue.SimpleQueue)
    _due: list[str] = field(default_factory=list)
    """Tasks that have ended since the last question."""
    _asking: bool = False

    def await_(self, future: Future[Any]) -> None:
        """Fetch the answer of a task once it has ended."""
        loop: Any = self.client.loop
        loop.add_callback(self._ended, future)

    async def _ended(self, future: Future[Any]) -> None:
        state: Any = future._state
        while future.status == "pending":
            await state.wait()
        if future.status != "finished":
            error = await future._exception() if future.status == "error" else None
            why = f"{type(error).__name__}: {one_line(error)}" if error else f"its task was {future.status}"
            self.landed.put(Fetched(str(future.key), None, why))
            return
        self._due.append(str(future.key))
        if not self._asking:
            await self._fetch()

    async def _fetch(self) -> None:
        """One question at a time: what ends meanwhile goes into the next one."""
        self._asking = True
        try:
            while self._due:
                keys, self._due = self._due, []
                if not await self._asked(keys):  # one host that hangs must not take the others with it
                    await asyncio.gather(*map(self._alone, keys))
        finally:
            self._asking = False

    async def _alone(self, key: str) -> None:
        if not await self._asked([key]):
            self.landed.put(Fetched(key, None, "its answer could not be fetched"))

    async def _asked(self, keys: list[str]) -> bool:
        """Ask for the answers of some tasks; tell whether all came."""
        scheduler: Any = self.client.scheduler
        with contextlib.suppress(TimeoutError, OSError, CommClosedError, AttributeError):
            answer = await asyncio.wait_for(scheduler.gather(keys=keys), FETCH_S)
            if answer["status"] == "OK":
                for key, value in answer["data"].items():
                    self.landed.put(Fetched(key, value, ""))
                return True
        return False
