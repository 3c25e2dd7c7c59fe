"""What a measuring tool holds: a bench that runs the program or serves what was recorded, an executor, and a series."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol, Self

from ...knowledge.schema import Mitigation
from ...layers.schema import Layer
from ..machine import Machine
from ..mitigation.verification import Check
from ..row import Row
from ..subject import Subject
from .expected import Deadline, Expected, Proof
from .launch import Launch
from .outcomes import RUN, first_of_run
from .row_log import RowsInMemory

OUTSIDE = -1
"""Number of a block whose runs are in no pair."""


class Block(NamedTuple):
    """Runs that belong together: made on one host, in this order, nothing between."""

    number: int
    """Of its first pair; OUTSIDE where its runs are in none."""
    order: tuple[str, ...]
    """Keys of conditions."""
    pairs: int = 1
    """That it holds: all of one condition, then all of the other."""

    def pair(self, place: int) -> int:
        """Number of the pair that the run at this place is in."""
        return self.number + place % self.pairs


BARRIER = Block(OUTSIDE, ())
"""All blocks before it have ended before the next one is asked for."""


class Change(Protocol):
    """A mitigation made ready: `on` before a mitigated run, `off` before one of the baseline."""

    @property
    def mitigation(self) -> Mitigation:
        """With the values of its parameters."""

    @property
    def launch(self) -> Launch:
        """Of a mitigated run."""

    @property
    def notices(self) -> tuple[str, ...]:
        """What a user should hear; complete after the context has ended."""

    def on(self) -> tuple[Check, ...]:
        """Switch it on, if it is not."""

    def off(self) -> tuple[Check, ...]:
        """Switch it off, if it is not."""


class PlannedRun(NamedTuple):
    """One run to come, as a bench is asked for it."""

    condition: str
    launch: Launch
    pair: int
    layers: Sequence[str]
    times: float
    """How many times longer than the baseline it may rightly take."""
    turns: bool
    """Runs of the series have other layers on, or none, and what they print is held against each other."""


class ExperimentConditions(Protocol):
    """How the runs of an experiment are made."""

    def run(self, series: Series, key: str, pair: int) -> None:
        """Run once on this machine, under a condition."""

    def shown(self, series: Series, key: str) -> tuple[str, str]:
        """What the rows of a condition say of it: the columns `condition` and `layers`."""


class Executor(Protocol):
    """Carries blocks out where it is told to."""

    @property
    def beside(self) -> Mapping[str, bytes]:
        """Files that describe where the runs were made, by name; empty for this machine."""

    @property
    def lost(self) -> Sequence[str]:
        """Hosts that were lost so far, in words."""

    def carry_out(
        self, series: Series, blocks: Iterable[Block], conditions: ExperimentConditions, enough: Callable[[], bool]
    ) -> None:
        """Run the blocks until there are none or it is `enough`, which is asked before the first run and after each."""


class LocalExecutor:
    """On this machine, in the order given."""

    beside: Mapping[str, bytes] = {}
    lost: Sequence[str] = ()

    def carry_out(
        self, series: Series, blocks: Iterable[Block], conditions: ExperimentConditions, enough: Callable[[], bool]
    ) -> None:
        """Run one block after the other."""
        for block in blocks:
            for place, key in enumerate(block.order):
                if enough():
                    return
                conditions.run(series, key, block.pair(place))


LOCAL: Executor = LocalExecutor()


class Measuring(Protocol):
    """Runs the program, or stands in for it."""

    subject: Subject
    launch: Launch
    """How the program is started when nothing is changed."""
    deadline: Deadline
    """Until when it may go on."""

    @property
    def executor(self) -> Executor:
        """Where runs are made."""

    def series(self, call_id: str, layers: Sequence[str] = (), planned: int = 0) -> AbstractContextManager[Series]:
        """Open a series of runs with these layers on unless a run says otherwise."""

    def run_once(self, series: Series, planned: PlannedRun) -> None:
        """Add one run to a series."""

    def expect(self, expected: Expected) -> None:
        """Know what earlier calls have shown of the baseline."""

    def change(
        self, mitigation: Mitigation, machine: Machine, source: Path | None = None
    ) -> AbstractContextManager[Change]:
        """Make a mitigation ready, and put everything back at the end; raises VgoError where that is refused."""

    def prove(self, change: Change) -> Proof:
        """Check that it is in force and that the program bears it, with runs that are no part of the data."""

    def layer(self, spec: str) -> Layer:
        """Read a layer."""

    def absent(self, spec: str) -> dict[str, str]:
        """Columns of a layer that cannot be had, with the reason and the cure."""

    def described_by(self, layers: Sequence[str]) -> Mapping[str, Layer]:
        """The layers that describe the columns of such runs, by spec."""

    def choice_of(self, call_id: str) -> Path:
        """Where the choice of layers stands that a call began with."""


@dataclass
class Series:
    """Runs of one call, in order."""

    bench: Measuring
    call_id: str
    layers: tuple[str, ...]
    log: RowsInMemory
    planned: int
    cut: bool = False
    """The last run was ended since nothing was left of the budget; it is not among the rows."""
    _before_s: float = field(init=False)
    _began_s: float = field(init=False)
    _seen: int = 0
    """Rows that the next three have counted."""
    _processes: int = 0
    _spent_s: float = 0.0
    _outcomes: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Rows that a killed process left have cost their seconds."""
        clock = self.bench.deadline
        self._before_s = self.spent_s if clock.counts else 0.0
        self._began_s = clock.elapsed_s()

    @property
    def rows(self) -> Sequence[Row]:
        """Rows so far."""
        return self.log.rows

    @property
    def outcomes(self) -> Sequence[float]:
        """Outcomes of the runs that count."""
        return self._counted()._outcomes

    @property
    def processes(self) -> int:
        """Runs so far; each of them may have given several rows."""
        return self._counted()._processes

    @property
    def next_order(self) -> int:
        """Number of the next row; those of rows that were dropped are not given again."""
        return self.rows[-1]["order"] + 1 if self.rows else 0

    @property
    def next_run(self) -> int:
        """Number of the next run, where samples say which printed them; none is given twice."""
        return max(self.processes, 1 + next((row[RUN] for row in reversed(self.rows) if RUN in row), -1))

    @property
    def last_gave(self) -> int:
        """Rows that count of the last run."""
        gave = 0
        for row in reversed(self.rows):
            gave += row["ok"]
            if first_of_run(row):
                break
        return gave

    @property
    def spent_s(self) -> float:
        """Seconds of the user's program in this series."""
        return self._counted()._spent_s

    @property
    def elapsed_s(self) -> float:
        """Seconds by the clock, what lies between the runs included; of the program, where no clock runs."""
        clock = self.bench.deadline
        return self._before_s + clock.elapsed_s() - self._began_s if clock.counts else self.spent_s

    @property
    def over(self) -> bool:
        """Whether nothing is left of the budget for another run."""
        return self.cut or self.bench.deadline.over

    def fits(self, runs: int) -> bool:
        """Tell whether so many more runs are likely to end within the budget, at what those so far have taken."""
        clock, done = self.bench.deadline, self.processes
        return not (clock.counts and done) or self.elapsed_s / done * runs <= clock.left_s

    def run(
        self, condition: str, launch: Launch, pair: int = -1, layers: Sequence[str] | None = None, times: float = 1.0
    ) -> None:
        """Run once, with these of the layers on (None: all, empty: bare), and keep the row."""
        turns, layers = layers is not None, self.layers if layers is None else layers
        self.bench.run_once(self, PlannedRun(condition, launch, pair, layers, times, turns))

    def drop(self, rows: Sequence[Row]) -> None:
        """Forget rows of it, which are to be made again."""
        self.log.drop(rows)
        self._seen, self._processes, self._spent_s, self._outcomes = 0, 0, 0.0, []

    def _counted(self) -> Self:
        """Count what has come since the last look: all of it is asked for after each run."""
        rows = self.rows
        for row in rows[self._seen :] if self._seen < len(rows) else ():
            self._processes += first_of_run(row)
            self._spent_s += row["wall_s"]
            if row["ok"] == 1:
                self._outcomes.append(row["outcome"])
        self._seen = len(rows)
        return self
