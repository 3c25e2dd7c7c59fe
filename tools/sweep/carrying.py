"""The two executors of a sweep, both through the series of a bench."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..execution.series import Measuring, Series
from ..experiment.condition import Block
from ..experiment.executor import Conditions
from ..row import Row
from ..subject import Subject
from .executor import Runs, Walk
from .space import Space
from .treatments import Asked, Cells, CellsHere, CellsThere


@dataclass
class Log:
    """Hands each run on."""

    walk: Walk
    rows: list[Row] = field(default_factory=list)

    def append(self, *rows: Row) -> None:
        """Take the rows of one run."""
        self.rows += rows
        for row in rows:
            self.walk.keep(row)


def carried_out(
    bench: Measuring, layers: Sequence[str], walk: Walk, blocks: Iterable[Block], conditions: Conditions
) -> None:
    """Have cells run in a series whose rows are those of a sweep."""
    series = Series(bench, f"sweep-{walk.seed}", tuple(layers), Log(walk), 0)
    bench.executor.carry_out(series, blocks, conditions, lambda: walk.enough() or series.over)


@dataclass(frozen=True)
class Here:
    """Cells on this machine, one run after the other."""

    bench: Measuring
    runs: Runs
    whole: bool = False

    def carry_out(self, blocks: Iterable[Block], walk: Walk) -> None:
        """Run them, and put back what the last one set."""
        with contextlib.closing(self.runs):
            carried_out(self.bench, (), walk, blocks, CellsHere(self.runs, walk.cell))


@dataclass(frozen=True)
class There:
    """Cells on the hosts of a cluster: each round is made on one of them."""

    bench: Measuring
    space: Space
    subject_of: Callable[[Mapping[str, str]], Subject]
    """Gives the program of a cell by its levels; raises VgoError where there is none."""
    layers: tuple[str, ...] = ()
    whole: bool = True

    def carry_out(self, blocks: Iterable[Block], walk: Walk) -> None:
        """Deal the rounds; each message says what its cells are."""

        def cells(names: Iterable[str]) -> Cells:
            asked = tuple(Asked.of(walk.cell(name), self.subject_of) for name in names)
            return Cells(space=self.space, cells=asked, layers=self.layers)

        carried_out(self.bench, self.layers, walk, blocks, CellsThere(cells))
