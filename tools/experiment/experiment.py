"""An experiment and how it is carried out: the schedule from its start, less what the journal has of it already.

A schedule is asked again from its start after a kill, and the runs that the journal has are skipped. So that it decides
then as it did before, it sees only the rows of the blocks that it has given, and gives a barrier before it decides
where blocks may end in another order than they began.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal, Protocol

from pydantic import Field

from ...knowledge.shape import Frozen
from ..amount import LONGEST, MOST
from ..execution.outcomes import runs_of
from ..execution.series import OUTSIDE, Block, ExperimentConditions, Series
from ..row import Row

Done = Callable[[], Sequence[Row]]
"""Rows of the blocks that were given so far and have ended."""
Stop = Callable[[Series], str]
"""Says in a few words why it is enough; empty: it goes on. Asked before the first run and after each."""
Known = tuple[int, str, str]
"""What a run in the journal is known by: its pair, its condition, and where it is in no pair its layers."""


FEWEST_S = 3
"""Times the seconds of a limit that the fewest runs may take which say anything."""


class Limit(Frozen):
    """Caps beside the deadline of the bench, looked at after each run; a sweep counts its own by cell."""

    runs: Annotated[int, Field(ge=1, le=MOST)] | None = None
    seconds: Annotated[float, Field(gt=0, le=LONGEST)] | None = None
    """By the clock; one run that counts is made for it."""
    least: int = 1
    """Outcomes without which the rest is worth nothing: for them there is more time, `FEWEST_S`."""

    def reached(self, series: Series) -> Literal["", "run cap", "time cap"]:
        """Name the cap that is reached."""
        if self.runs is not None and series.processes >= self.runs:
            return "run cap"
        if self.seconds is None:
            return ""
        seconds = self.seconds if len(series.outcomes) >= self.least else FEWEST_S * self.seconds
        over = series.over or (series.outcomes and series.elapsed_s >= seconds)
        return "time cap" if over else ""


UNLIMITED = Limit()


class Schedule(Protocol):
    """Which runs are made in which order; pure: with the same seed and rows it gives the same blocks."""

    @property
    def numbers(self) -> int:
        """All pairs that it plans have a number below this."""

    def blocks(self, done: Done) -> Iterator[Block]:
        """Give blocks, and a BARRIER before a decision."""


def never(series: Series) -> str:
    """Go on to the end of the schedule."""
    return ""


@dataclass(frozen=True)
class Experiment:
    """What is run, in which order, and when that is enough."""

    conditions: ExperimentConditions
    schedule: Schedule
    stop: Stop = never
    limit: Limit = UNLIMITED


def carry_out(experiment: Experiment, series: Series) -> str:
    """Run what the rows of a series lack; give the words of limit or stop; none where all is done or the budget is."""
    resumed = ResumedSchedule(experiment, series)
    series.bench.executor.carry_out(series, resumed.blocks(), experiment.conditions, resumed.enough)
    resumed.enough()  # the schedule ended with the last run, and nobody has asked since
    return resumed.stopped


@dataclass
class ResumedSchedule:
    """What is left of an experiment, and the rows that its schedule may see."""

    experiment: Experiment
    series: Series
    stopped: str = ""
    """The words of limit or stop."""
    _made: dict[Known, deque[list[Row]]] = field(default_factory=lambda: defaultdict(deque))
    """Runs of the journal that no block has claimed yet."""
    _again: list[int] = field(default_factory=list)
    """Numbers under which torn blocks were made again, and the next one."""
    _seen: list[Row] = field(default_factory=list)
    """Rows of the journal that blocks have claimed."""
    _before: int = 0
    """Rows of the journal."""
    _given: int = 0
    """Runs in blocks that were given to the executor or stood in the journal."""

    def __post_init__(self) -> None:
        """Sort the journal by what a run is known by."""
        planned, self._before = self.experiment.schedule.numbers, len(self.series.rows)
        for run in runs_of(self.series.rows):
            row = run[0]
            self._made[row["pair"], row["condition"], "" if row["pair"] != OUTSIDE else row["layers"]].append(run)
            self._given += 1
        self._again = sorted({number for number, _, _ in self._made if number >= planned})
        self._again.append(1 + max(planned - 1, *self._again, -1))

    def enough(self) -> bool:
        """Ask limit and stop, unless one has spoken; tell whether no further run is to begin."""
        asked, series = self.experiment, self.series
        self.stopped = self.stopped or asked.limit.reached(series) or asked.stop(series)
        return bool(self.stopped) or self.series.over

    def blocks(self) -> Iterator[Block]:
        """Give what is left of the schedule; a block that is not likely to fit in the budget is not begun."""
        for block in self.experiment.schedule.blocks(lambda: [*self._seen, *self.series.rows[self._before :]]):
            torn = self._claim(block) if self._made else []
            if torn and len(torn) == len(block.order):
                continue
            if torn and self.series.bench.subject.on:
                if self._was_made_again(block):
                    continue
                block = self._renumbered(block)
            if len(block.order) > 1 and (torn and self.series.over or not self._fits(len(block.order))):
                return
            if torn and not self.series.bench.subject.on:
                self._drop(torn)
            self._given += len(block.order)
            yield block

    def _fits(self, runs: int) -> bool:
        on_their_way = self._given - self.series.processes
        return self.series.fits(runs + on_their_way)

    def _claim(self, block: Block) -> list[list[Row]]:
        """Take the runs of a block from the journal."""
        made = [self._made[key].popleft() for key in self._keys(block) if self._made.get(key)]
        self._seen += [row for run in made for row in run]
        return made

    def _was_made_again(self, block: Block) -> bool:
        """Claim a block that was made for a torn one on hosts, where others ended meanwhile."""
        for number in self._again[:-1]:
            again = block._replace(number=number)
            if all(self._made.get(key) for key in self._keys(again)):
                self._claim(again)
                return True
        return False

    def _renumbered(self, block: Block) -> Block:
        number = self._again[-1]
        self._again[-1] += block.pairs
        return block._replace(number=number)

    def _drop(self, torn: Sequence[Sequence[Row]]) -> None:
        """Forget the runs of a torn block, which is made again, whole: not the last ones where the keys are others."""
        rows = [row for run in torn for row in run]
        self.series.drop(rows)
        del self._seen[-len(rows) :]
        self._before -= len(rows)
        self._given -= len(torn)

    def _keys(self, block: Block) -> Iterator[Known]:
        for place, key in enumerate(block.order):
            condition, layers = self.experiment.conditions.shown(self.series, key)
            yield block.pair(place), condition, "" if block.number != OUTSIDE else layers
