"""Let contestants answer cases side by side; one that crashes, dies or never stops is a row, and the rest goes on.

The processes are kept here and not by a `ProcessPoolExecutor`: a pool in which one process dies is broken as a whole,
nobody knows which task broke it, and a task that never stops cannot be ended.
"""

from __future__ import annotations

import math
import os
import signal
import time
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from pkgutil import resolve_name
from typing import NamedTuple

from polars.exceptions import PolarsError

from ..knowledge.errors import VgoError
from .contest.answer import ContestAnswer, Contestant
from .contest.contestants import Factory, factory_of
from .recorded.recorded_case import USUAL, Given, RecordedCase, read_case
from .recorded.truth import read_truth
from .scores.effects import Score
from .scores.results import ScoredAnswer
from .scores.score import scored

CONTESTANTS = "vgo_agent.evals.contest.contestants:CONTESTANTS"
"""Where the contestants stand, by name: each process imports them for itself."""
LIMIT_S = 600.0
"""Wall time in which one case has to be answered."""
START_S = 120.0
"""Wall time in which a process has to be ready, some fifty times what it takes on a machine at rest."""
STARTS = 3
"""Processes in a row that may fail to start before no further one is started."""


class EvaluationTask(NamedTuple):
    """One answer that is wanted."""

    contestant: str
    case: Path
    seed: int


@dataclass(frozen=True)
class EvaluationPace:
    """How many at a time, for how long, how often."""

    jobs: int
    limit_s: float = LIMIT_S
    twice: bool = False
    """Answer each case again with its first seed, and compare."""
    start_s: float = START_S


class Contest(NamedTuple):
    """What every process knows."""

    cases: tuple[Path, ...]
    """All that there are, whether they are asked or not: a contestant may learn from those of the train split."""
    contestants: str = CONTESTANTS
    given: Given = USUAL
    hash_seed: str = "1"
    """PYTHONHASHSEED of the processes: the order of their sets."""


def registry(where: str = CONTESTANTS) -> Mapping[str, Factory]:
    """Import the contestants by name, from `module:attribute`."""
    found: Mapping[str, Factory] = resolve_name(where)
    return found


@dataclass
class _Worker:
    process: SpawnProcess
    pipe: Connection
    deadline: float
    """On the monotonic clock: to be ready, then to answer."""
    task: EvaluationTask | None = None
    case: Path | None = None
    """Of the last task: its tables are read and its mitigations compared."""
    ready: bool = False

    def give(self, task: EvaluationTask, limit_s: float) -> None:
        """Start a task."""
        self.task, self.case = task, task.case
        self.deadline = time.monotonic() + limit_s
        with suppress(BrokenPipeError):  # it died meanwhile, which is heard next
            self.pipe.send(task)

    def hear(self) -> ScoredAnswer | None:
        """Read what it says: that it is ready, or a row; raises OSError or EOFError where it says nothing any more."""
        row: ScoredAnswer | None = self.pipe.recv()
        self.ready, self.task, self.deadline = True, None, math.inf
        return row

    def end(self) -> None:
        """End the process, whatever it does."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


def rows(contest: Contest, tasks: Iterable[EvaluationTask], pace: EvaluationPace) -> Iterator[ScoredAnswer]:
    """Give each answer, scored, as soon as it is there."""
    waiting = list(tasks)
    crew = _Crew(contest, pace)
    try:
        while waiting or crew.busy:
            crew.hire(min(pace.jobs, crew.busy + len(waiting)) - len(crew.workers))
            if not crew.workers:
                yield from (_unanswered(task, f"not asked: {crew.lost}") for task in waiting)
                return
            crew.give(waiting)
            yield from crew.hear()
    finally:
        for worker in crew.workers:
            worker.end()


@dataclass
class _Crew:
    """The processes that answer; until several in a row could not even start, as many as have something to do."""

    contest: Contest
    pace: EvaluationPace
    workers: list[_Worker] = field(default_factory=list)
    failed: int = 0
    """Processes that did not start, since the last one that did."""
    lost: str = ""
    """What became of the last one of them."""

    @property
    def busy(self) -> int:
        """How many answer."""
        return sum(worker.task is not None for worker in self.workers)

    def hire(self, many: int) -> None:
        """Start processes."""
        while many > 0 and self.failed < STARTS:
            try:
                self.workers.append(_start(self.contest, self.pace.start_s))
                many -= 1
            except OSError as error:
                self._not_started(f"failed: {error}")

    def give(self, waiting: list[EvaluationTask]) -> None:
        """Give tasks to those that have none."""
        for worker in self.workers:
            if worker.ready and worker.task is None and waiting:
                worker.give(waiting.pop(_next(waiting, self.workers, worker)), self.pace.limit_s)

    def hear(self) -> Iterator[ScoredAnswer]:
        """Wait until somebody says something or should have; give the rows that come of it."""
        nearest = min(worker.deadline for worker in self.workers) - time.monotonic()
        patience = None if nearest == math.inf else max(0.0, nearest) + 0.01
        heard = wait([worker.pipe for worker in self.workers], patience)
        for worker in tuple(self.workers):
            row = None
            if worker.pipe in heard:
                row = self._said(worker)
            elif time.monotonic() > worker.deadline:
                what, limit = ("no answer", self.pace.limit_s) if worker.ready else ("not ready", self.pace.start_s)
                row = self._without(worker, f"stopped: {what} within {limit:g} s")
            if row is not None:
                yield row

    def _said(self, worker: _Worker) -> ScoredAnswer | None:
        try:
            row = worker.hear()
        except (EOFError, OSError):
            return self._without(worker, f"died: {_how(worker.process)}")
        if row is None:
            self.failed = 0
        return row

    def _without(self, worker: _Worker, why: str) -> ScoredAnswer | None:
        """End one; give the row that its task becomes."""
        worker.end()
        self.workers.remove(worker)
        if not worker.ready:
            self._not_started(why)
        return _unanswered(worker.task, why) if worker.task else None

    def _not_started(self, why: str) -> None:
        self.failed += 1
        self.lost = f"no process could be started; the last one {why}"


def _next(waiting: Sequence[EvaluationTask], crew: Sequence[_Worker], worker: _Worker) -> int:
    """Choose a task of the case that the worker knows already, else of one that no other works on, else the first."""
    elsewhere = {other.case for other in crew if other is not worker}
    same = (place for place, task in enumerate(waiting) if task.case == worker.case)
    new = (place for place, task in enumerate(waiting) if task.case not in elsewhere)
    return next(same, next(new, 0))


def _how(process: SpawnProcess) -> str:
    process.join(10.0)
    code = process.exitcode
    if code is None:
        return "its process hung up"
    if code < 0:
        return f"its process was ended by {signal.Signals(-code).name}"
    return f"its process ended with exit code {code}"


def _start(contest: Contest, start_s: float) -> _Worker:
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, contest), daemon=True)
    with _surroundings(contest), _no_interrupts():
        process.start()
    theirs.close()
    return _Worker(process, ours, time.monotonic() + start_s)


@contextmanager
def _surroundings(contest: Contest) -> Iterator[None]:
    """Children that start here do linear algebra in one thread: the cases are what runs side by side."""
    values = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": contest.hash_seed}
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _no_interrupts() -> Iterator[None]:
    """Children that start here do not hear Ctrl-C: it is for the one who asks, who then ends them."""
    resource_tracker.ensure_running()  # which lets its starter hear Ctrl-C again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _unanswered(task: EvaluationTask, why: str) -> ScoredAnswer:
    return _row(task, ContestAnswer(verdict="", ended=why), 0.0)


def _work(pipe: Connection, contest: Contest) -> None:
    """Answer tasks until nobody asks any more; this is another process."""
    cases = {folder: contest.given.to(read_case(folder)) for folder in contest.cases}
    made: dict[str, Contestant] = {}
    contestants = registry(contest.contestants)
    pipe.send(None)
    while True:
        try:
            task: EvaluationTask = pipe.recv()
        except EOFError:
            return
        began = time.monotonic()
        answer = _answered(task, made, contestants, cases)
        pipe.send(_row(task, answer, time.monotonic() - began, cases[task.case]))


def _answered(
    task: EvaluationTask,
    made: dict[str, Contestant],
    contestants: Mapping[str, Factory],
    cases: Mapping[Path, RecordedCase],
) -> ContestAnswer:
    try:
        if task.contestant not in made:
            made[task.contestant] = factory_of(task.contestant, contestants)(list(cases.values()))
        return made[task.contestant].answer(cases[task.case].shown, task.seed)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - anyone's planner: what it raises is its answer
        where = traceback.extract_tb(error.__traceback__)[-1]
        said = f"{type(error).__name__}: {error}".rstrip(": ")
        return ContestAnswer(verdict="", ended=f"crashed: {said} ({Path(where.filename).name}, line {where.lineno})")


def _row(task: EvaluationTask, answer: ContestAnswer, seconds: float, case: RecordedCase | None = None) -> ScoredAnswer:
    """Score an answer; where the case was changed or taken away meanwhile, the row says that."""
    try:
        scores = scored(answer, read_truth(task.case), case or read_case(task.case))
    except (VgoError, OSError, PolarsError) as error:
        scores = {"verdict": Score(value=None, reason=f"Not judged: {error}")}
    return ScoredAnswer(
        contestant=task.contestant, case=task.case.name, seed=task.seed, answer=answer, scores=scores, seconds=seconds
    )
