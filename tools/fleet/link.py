"""The line to a Dask scheduler: send a task to a worker, hear what landed, see who is there; nothing waits for ever."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from distributed import Client, Future
from distributed.comm.core import CommClosedError

from ...knowledge.errors import VgoError
from .where import GO_ON, Where, one_line

FETCH_S = 10.0
"""For the answers of tasks that have ended."""
BENCH = "bench"
"""The resource of a worker that a run takes: workers are started with `--resources bench=1`."""
ANSWER_S = 5.0
"""For one question to the scheduler."""
POLL_S = 1.0
POLLING = 9.0
"""Asking who is there takes at most one part in ten of the time."""


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


class Worker(NamedTuple):
    """A worker as its scheduler knows it."""

    address: str
    name: str
    bench: bool
    """It has the resource that a run takes."""
    threads: int


class Landed(NamedTuple):
    """What became of a task."""

    worker: str
    value: Any
    lost: str
    """Why there is no value; empty where there is one."""
    sent_s: float = 0.0
    landed_s: float = 0.0
    """By our clock."""


class Sent(NamedTuple):
    """A task on its way."""

    future: Future[Any]
    at_s: float


@dataclass
class Link:
    """One client."""

    client: Client
    where: Where
    _fetcher: Fetcher = field(init=False)
    _sent: dict[str, Sent] = field(default_factory=dict)
    _whose: dict[str, str] = field(default_factory=dict)
    """Key of a task to its worker."""
    _seen: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Worker to its last sign of life by the scheduler's clock, and when we heard of it by ours."""
    _answered_s: float = field(default_factory=time.monotonic)
    _polled_s: float = 0.0
    _poll_s: float = POLL_S
    """Seconds between two polls: a long answer, as of a thousand workers, is asked for less often."""
    _workers: dict[str, Worker] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._fetcher = Fetcher(self.client)

    def send(self, worker: str, function: Callable[..., Any], *given: Any) -> None:
        """Have a worker call a function; one at a time for each worker."""
        future = self.client.submit(
            function, *given, workers=[worker], allow_other_workers=False, pure=False, retries=0, **self._taking(worker)
        )
        self._sent[worker] = Sent(future, time.time())
        self._whose[str(future.key)] = worker
        self._fetcher.await_(future)

    def _taking(self, worker: str) -> dict[str, Any]:
        known = self._workers.get(worker)
        return {"resources": {BENCH: 1}} if known and known.bench else {}

    def landed(self, timeout_s: float) -> Landed | None:
        """Wait for the next task to end; None where none does in that time."""
        try:
            key, value, lost = self._fetcher.landed.get(timeout=max(0.0, timeout_s))
        except queue.Empty:
            return None
        worker = self._whose.pop(key, "")
        if worker not in self._sent or str(self._sent[worker].future.key) != key:  # given up before
            return None
        return Landed(worker, value, lost, self._sent.pop(worker).at_s, time.time())

    def forget(self, worker: str) -> None:
        """Give up on what a worker was sent: an answer that comes later is of no use."""
        sent = self._sent.pop(worker, None)
        if sent is not None:
            with contextlib.suppress(TimeoutError, OSError, CommClosedError):
                self._asked(lambda: self.client._cancel([sent.future]))

    def workers(self, now: bool = False) -> dict[str, Worker]:
        """Those that are there and have given a sign of life lately, by address; asked every second at most.

        Raises VgoError where the scheduler has been silent for too long.
        """
        at_s = time.monotonic()
        if now or at_s - self._polled_s >= self._poll_s:
            self._poll(at_s)
            self._polled_s = time.monotonic()
            self._poll_s = max(POLL_S, POLLING * (self._polled_s - at_s))
        return self._workers

    def _poll(self, at_s: float) -> None:
        try:
            scheduler: Any = self.client.scheduler
            known = self._asked(lambda: scheduler.identity())["workers"]
        except (TimeoutError, OSError, CommClosedError) as error:
            if at_s - self._answered_s > self.where.silent_s:
                raise VgoError(
                    f"The scheduler at {self.where.name} has given no answer for {self.where.silent_s:g} s: start it "
                    f"again, {GO_ON}."
                ) from error
            if not self.there:
                self._workers = {}
            return
        self._answered_s = time.monotonic()
        self._workers = dict(self._living(known))

    def _living(self, known: dict[str, dict[str, Any]]) -> Iterator[tuple[str, Worker]]:
        for address, its in known.items():
            last = float(its["last_seen"])
            if address not in self._seen or self._seen[address][0] != last:
                self._seen[address] = last, self._answered_s
            if self._answered_s - self._seen[address][1] < self.where.silent_s:
                bench = its["resources"].get(BENCH, 0) >= 1
                yield address, Worker(address, str(its["name"]), bench, int(its["nthreads"]))

    def everywhere(self, workers: list[str], function: Callable[[], Awaitable[None]]) -> None:
        """Have workers call a function beside what they do, without waiting for it."""
        if workers:
            with contextlib.suppress(TimeoutError, OSError, CommClosedError):
                self._asked(lambda: self.client._run(function, workers=workers, wait=False, on_error="ignore"))

    def _asked(self, question: Callable[[], Awaitable[Any]]) -> Any:
        """Ask the scheduler; raises where there is no line to it, or no answer in time."""
        if not self.there:
            raise CommClosedError("the line to the scheduler is broken")

        async def ask() -> Any:
            return await question()

        return self.client.sync(ask, callback_timeout=ANSWER_S)

    @property
    def there(self) -> bool:
        """Whether there is a line to the scheduler."""
        return self.client.status == "running" and self.client.scheduler is not None
