"""The two executors of a sweep, both through the series of a bench."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..execution.executor import Piece
from ..execution.series import Measuring, Series
from ..execution.treated import Treated
from ..row import Row
from ..subject import Subject
from .executor import Runs, Walk
from .space import Space
from .treatments import Asked, Cells, keep


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


def series_of(bench: Measuring, layers: Sequence[str], walk: Walk) -> Series:
    """A series whose rows are those of a sweep."""
    return Series(bench, f"sweep-{walk.seed}", tuple(layers), Log(walk), 0)


@dataclass(frozen=True)
class Here:
    """Cells on this machine, one run after the other."""

    bench: Measuring
    runs: Runs
    whole: bool = False

    def carry_out(self, pieces: Iterable[Piece], walk: Walk) -> None:
        """Run them, and put back what the last one set."""
        treated = Treated(lambda series, turn: keep(series, turn, self.runs.run(walk.cell(turn.condition))))
        with contextlib.closing(self.runs):
            series_of(self.bench, (), walk).carry_out(pieces, walk.enough, treated)


@dataclass(frozen=True)
class There:
    """Cells on the hosts of a cluster: each round is made on one of them."""

    bench: Measuring
    space: Space
    subject_of: Callable[[Mapping[str, str]], Subject]
    """Gives the program of a cell by its levels; raises VgoError where there is none."""
    layers: tuple[str, ...] = ()
    whole: bool = True

    def carry_out(self, pieces: Iterable[Piece], walk: Walk) -> None:
        """Deal the rounds; each message says what its cells are."""

        def told(piece: Piece) -> Cells:
            names = dict.fromkeys(turn.condition for turn in piece)
            asked = tuple(Asked.of(walk.cell(name), self.subject_of) for name in names)
            return Cells(space=self.space, cells=asked, layers=self.layers)

        treated = Treated(told=told)
        series_of(self.bench, self.layers, walk).carry_out(pieces, walk.enough, treated)
