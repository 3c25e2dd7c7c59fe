"""Let contestants answer cases side by side; one that crashes, dies or never stops is a row, and the rest goes on.

The processes are kept here and not by a `ProcessPoolExecutor`: a pool in which one process dies is broken as a whole,
nobody knows which task broke it, and a task that never stops cannot be ended.
"""

from __future__ import annotations

import os
import signal
import time
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import NamedTuple

from ..knowledge.errors import VgoError
from .contest.answer import Answer, Contestant
from .contest.contestants import Factory
from .recorded.recorded_case import RecordedCase, read_case
from .recorded.truth import read_truth
from .scores.results import Row
from .scores.score import Score, scored

CONTESTANTS = "vgo_agent.evals.contest.contestants:CONTESTANTS"
"""Where the contestants stand, by name: each process imports them for itself."""
LIMIT_S = 600.0
"""Wall time in which one case has to be answered."""


class Task(NamedTuple):
    """One answer that is wanted."""

    contestant: str
    case: Path
    seed: int
    twice: bool


@dataclass(frozen=True)
class Pace:
    """How many at a time, for how long, how often."""

    jobs: int
    limit_s: float = LIMIT_S
    twice: bool = False
    """Answer each case again with its first seed, and compare."""


class Contest(NamedTuple):
    """What every process knows."""

    cases: tuple[Path, ...]
    """All that there are, whether they are asked or not: a contestant may learn from those of the train split."""
    contestants: str = CONTESTANTS


def registry(where: str) -> Mapping[str, Factory]:
    """Import the contestants by name, from `module:attribute`."""
    module, _, attribute = where.partition(":")
    found: Mapping[str, Factory] = getattr(import_module(module), attribute)
    return found


@dataclass
class _Worker:
    process: SpawnProcess
    pipe: Connection
    task: Task | None = None
    case: Path | None = None
    """Of the last task: its tables are read and its mitigations compared."""
    ready: bool = False
    deadline: float = 0.0

    def give(self, task: Task, limit_s: float) -> None:
        """Start a task."""
        self.task, self.case = task, task.case
        self.deadline = time.monotonic() + limit_s * (2 if task.twice else 1)
        with suppress(BrokenPipeError):  # it died meanwhile, which is heard next
            self.pipe.send(task)

    def end(self) -> None:
        """End the process, whatever it does."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


def rows(contest: Contest, tasks: Iterable[Task], pace: Pace) -> Iterator[Row]:
    """Give each answer, scored, as soon as it is there."""
    waiting = list(tasks)
    crew = [_start(contest) for _ in range(min(pace.jobs, len(waiting)))]
    try:
        while waiting or any(worker.task for worker in crew):
            for worker in crew:
                if worker.ready and worker.task is None and waiting:
                    worker.give(waiting.pop(_next(waiting, crew, worker)), pace.limit_s)
            heard = wait([worker.pipe for worker in crew], _patience(crew))
            for place, worker in enumerate(crew):
                row, alive = _outcome(worker, worker.pipe in heard, pace)
                if not alive:
                    worker.end()
                    crew[place] = _start(contest)
                if row is not None:
                    yield row
    finally:
        for worker in crew:
            worker.end()


def _outcome(worker: _Worker, heard: bool, pace: Pace) -> tuple[Row | None, bool]:
    """Give the row that a worker has sent, or that its silence makes, and whether the worker can go on."""
    if heard:
        return _heard(worker)
    if worker.task and time.monotonic() > worker.deadline:
        return _unanswered(worker.task, f"stopped: no answer within {pace.limit_s:g} s"), False
    return None, True


def _next(waiting: Sequence[Task], crew: Sequence[_Worker], worker: _Worker) -> int:
    """Choose a task of the case that the worker knows already, else of one that no other works on, else the first."""
    elsewhere = {other.case for other in crew if other is not worker}
    same = (place for place, task in enumerate(waiting) if task.case == worker.case)
    new = (place for place, task in enumerate(waiting) if task.case not in elsewhere)
    return next(same, next(new, 0))


def _patience(crew: Sequence[_Worker]) -> float | None:
    deadlines = [worker.deadline for worker in crew if worker.task]
    return max(0.0, min(deadlines) - time.monotonic()) + 0.01 if deadlines else None


def _heard(worker: _Worker) -> tuple[Row | None, bool]:
    """Read what a worker says: that it is ready, a row, or nothing any more; tell whether it is alive."""
    try:
        row: Row | None = worker.pipe.recv()
    except (EOFError, ConnectionResetError):
        worker.process.join()
        how = _how(worker.process.exitcode)
        if not worker.ready:
            raise VgoError(f"The evaluation could not start: {how}; what it wrote stands above.") from None
        return (_unanswered(worker.task, f"died: {how}") if worker.task else None), False
    worker.ready, worker.task = True, None
    return row, True


def _how(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        return f"its process was ended by {signal.Signals(-exit_code).name}"
    return f"its process ended with exit code {exit_code}"


def _start(contest: Contest) -> _Worker:
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, contest), daemon=True)
    with _one_thread(), _no_interrupts():
        process.start()
    theirs.close()
    return _Worker(process, ours)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Children that start here do linear algebra in one thread: the cases are what runs side by side."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
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
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _unanswered(task: Task, why: str) -> Row:
    """Make the row of a task whose process is gone."""
    return _row(task, read_case(task.case), Answer(verdict="", ended=why), 0.0)


def _work(pipe: Connection, contest: Contest) -> None:
    """Answer tasks until nobody asks any more; this is another process."""
    cases = {folder: read_case(folder) for folder in contest.cases}
    made: dict[str, Contestant] = {}
    contestants = registry(contest.contestants)
    pipe.send(None)
    while True:
        try:
            task: Task = pipe.recv()
        except EOFError:
            return
        began = time.monotonic()
        factory = contestants[task.contestant]
        answers = [_answered(task, made, factory, cases) for _ in range(2 if task.twice else 1)]
        row = _row(task, cases[task.case], answers[0], (time.monotonic() - began) / len(answers))
        pipe.send(_with_replay(row, answers) if task.twice else row)


def _answered(task: Task, made: dict[str, Contestant], factory: Factory, cases: Mapping[Path, RecordedCase]) -> Answer:
    try:
        if task.contestant not in made:
            made[task.contestant] = factory(list(cases.values()))
        return made[task.contestant].answer(cases[task.case].shown, task.seed)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - anyone's planner: what it raises is its answer
        where = traceback.extract_tb(error.__traceback__)[-1]
        said = f"{type(error).__name__}: {error}".rstrip(": ")
        return Answer(verdict="", ended=f"crashed: {said} ({Path(where.filename).name}, line {where.lineno})")


def _row(task: Task, case: RecordedCase, answer: Answer, seconds: float) -> Row:
    scores = scored(answer, read_truth(task.case), case)
    return Row(
        contestant=task.contestant,
        case=case.file.key,
        seed=task.seed,
        answer=answer,
        scores=scores,
        seconds=seconds,
    )


def _with_replay(row: Row, answers: Sequence[Answer]) -> Row:
    first, again = answers
    others = [name for name in Answer.model_fields if getattr(first, name) != getattr(again, name)]
    reason = f"Answered again with the same seed: {', '.join(others) or 'nothing'} was another."
    return row.model_copy(update={"scores": {**row.scores, "replay": Score(value=float(not others), reason=reason)}})
