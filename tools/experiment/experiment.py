"""An experiment and how it is carried out: the schedule from its start, less what the journal has of it already.

A schedule is asked again from its start after a kill, and the runs that the journal has are skipped. So that it decides
then as it did before, it sees only the rows of the blocks that it has given, and gives a barrier before it decides
where blocks may end in another order than they began.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ..execution.samples import runs_of
from ..execution.series import Series
from ..row import Row
from .executor import BARRIER, OUTSIDE, Block, ExperimentConditions

Done = Callable[[], Sequence[Row]]
"""Rows of the blocks that were given so far and have ended."""
Stop = Callable[[Series], str]
"""Says in a few words why it is enough; empty: it goes on. Asked before the first run and after each."""
Known = tuple[int, str, str]
"""What a run in the journal is known by: its pair, its condition, and where it is in no pair its layers."""


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


def carry_out(experiment: Experiment, series: Series) -> str:
    """Run what the rows of a series lack; give the words of the stop, empty where the schedule or the budget ended."""
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
    """The words of the stop."""
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
        """Ask the stop, unless it has spoken; tell whether no further run is to begin."""
        self.stopped = self.stopped or self.experiment.stop(self.series)
        return bool(self.stopped) or self.series.over

    def blocks(self) -> Iterator[Block]:
        """Give what is left of the schedule; a block that is not likely to fit in the budget is not begun."""
        for block in self.experiment.schedule.blocks(self._done):
            left = list(self._left(block)) if self._made and block != BARRIER else [block]
            if left == [block] and len(block.order) > 1 and not self._fits(len(block.order)):
                return
            self._given += sum(len(one.order) for one in left)
            yield from left

    def _done(self) -> Sequence[Row]:
        return [*self._seen, *self.series.rows[self._before :]]

    def _fits(self, runs: int) -> bool:
        on_their_way = self._given - self.series.processes
        return self.series.fits(runs + on_their_way)

    def _left(self, block: Block) -> Iterator[Block]:
        """Give what the journal lacks of a block; on hosts a torn one is made again, whole, by another number."""
        lacking = self._claim(block)
        if len(lacking) == len(block.order):
            yield block
        elif lacking and self.series.bench.subject.on and block.number != OUTSIDE:
            yield from self._made_again(block)
        else:
            yield from (Block(block.pair(place), (block.order[place],)) for place in lacking)

    def _claim(self, block: Block) -> list[int]:
        """Take the runs of a block from the journal; give the places of those that it lacks."""
        return [place for place, key in enumerate(self._keys(block)) if not self._taken(key)]

    def _taken(self, key: Known) -> bool:
        if not (runs := self._made.get(key)):
            return False
        self._seen += runs.popleft()
        return True

    def _made_again(self, block: Block) -> Iterator[Block]:
        """Claim a block that was made for a torn one, or give another one to make."""
        for number in self._again[:-1]:
            again = block._replace(number=number)
            if all(self._made.get(key) for key in self._keys(again)):
                self._claim(again)
                return
        number = self._again[-1]
        self._again[-1] += block.pairs
        yield block._replace(number=number)

    def _keys(self, block: Block) -> Iterator[Known]:
        for place, key in enumerate(block.order):
            condition, layers = self.experiment.conditions.shown(self.series, key)
            yield block.pair(place), condition, "" if block.number != OUTSIDE else layers
