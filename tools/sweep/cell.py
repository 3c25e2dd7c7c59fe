"""Cells of a sweep: which combinations are run, each drop told, and where each stands by its runs so far."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...knowledge.errors import VgoError
from ...knowledge.shape import Frozen
from ..execution.launch import resolve
from ..row import Row
from ..statistics.spread import ArmSummary, log_sd_interval, summarise
from ..statistics.stopping.decisions import equal
from ..statistics.values import IntervalEstimate
from ..subject import Subject
from .space import Level, Parameter, Repetitions, Space, shown

SubjectOf = Callable[[Mapping[str, str]], Subject]
"""Gives the program of a cell by its levels; raises VgoError where there is none."""
MOST_CELLS = 100_000
Values = Mapping[str, Level]
FAILED_IN_A_ROW = 3
"""Runs that fail one after another at the beginning: the cell cannot be run."""
MOST_FAILED, AFTER = 0.5, 5


@dataclass(frozen=True)
class Cell:
    """A combination of levels, numbered as it was drawn."""

    id: str
    values: Mapping[str, Level]
    batch: int = 0
    """Cells of a batch are run in rounds of one another; only an adaptive design has more than one."""
    why: str = ""
    """Why it was chosen, where there was a choice."""

    @property
    def texts(self) -> dict[str, str]:
        """Levels as the program gets them."""
        return texts_of(self.values)

    @property
    def name(self) -> str:
        """As a person reads it."""
        return " ".join(f"{name}={text}" for name, text in self.texts.items())

    def row(self) -> dict[str, Any]:
        """As it is kept, so that a sweep that was killed goes on with the same cells."""
        return {"id": self.id, "values": dict(self.values), "why": self.why}


def identity(values: Mapping[str, Level]) -> tuple[str, ...]:
    """What two cells share that are the same."""
    return tuple(map(shown, values.values()))


def texts_of(levels: Mapping[str, Level]) -> dict[str, str]:
    """Write levels as the program gets them."""
    return {name: shown(level) for name, level in levels.items()}


class CellSettings(Frozen):
    """What a cell asks for, here or on a host: what its parameters set, and its program."""

    parameters: dict[str, Parameter]
    """Those that set something beside the command, each with its level alone: an order to a host stays small."""
    subject: Subject | None = None
    """Its program; None where there is none."""
    why: str = ""
    """Why there is none."""

    @classmethod
    def of(cls, space: Space, levels: Mapping[str, Level], subject_of: SubjectOf) -> CellSettings:
        """Find the program of a cell."""
        parameters = {
            name: one.model_copy(update={"levels": (levels[name],), "range": None})
            for name, one in space.parameters.items()
            if one.sets
        }
        try:
            return cls(parameters=parameters, subject=subject_of(texts_of(levels)))
        except VgoError as error:
            return cls(parameters=parameters, why=str(error))

    @property
    def texts(self) -> dict[str, str]:
        """The level of each parameter that sets something, as it is written."""
        return {name: shown(one.levels[0]) for name, one in self.parameters.items()}

    def program(self) -> Subject:
        """Find the program on this machine; raises VgoError where there is none."""
        if self.subject is None:
            raise VgoError(self.why)
        argv = self.subject.argv if self.subject.shell else resolve(self.subject.argv)
        return self.subject.model_copy(update={"argv": argv})


class Drawn(NamedTuple):
    """Cells, each once, and in words what was dropped."""

    cells: tuple[Values, ...]
    told: tuple[str, ...] = ()


def first_cells(space: Space, seed: int) -> Drawn:
    """Give the cells that a design begins with; all of them, but for an adaptive one."""
    design = space.design
    if design.kind == "grid":
        return grid(space)
    count = design.cells if design.kind == "lhs" else min(design.start, design.cells)
    return latin_hypercube(space, count, seed)


def grid(space: Space) -> Drawn:
    """Give every combination of levels that the space allows, the last parameter changing fastest."""
    levels = {name: _once(parameter.grid()) for name, parameter in space.parameters.items()}
    twice = tuple(
        f"{name} has levels twice, {len(parameter.grid()) - len(levels[name])} too many: dropped"
        for name, parameter in space.parameters.items()
        if len(parameter.grid()) > len(levels[name])
    )
    count = math.prod(map(len, levels.values()))
    if count > MOST_CELLS:
        raise VgoError(
            f"The full grid has {count:,} cells, more than {MOST_CELLS:,}: name fewer levels, or draw some of them "
            "with --design lhs."
        )
    drawn = sifted(space, (dict(zip(levels, one, strict=True)) for one in itertools.product(*levels.values())))
    return Drawn(drawn.cells, (*twice, *drawn.told))


def latin_hypercube(space: Space, cells: int, seed: int) -> Drawn:
    """Draw cells so that each parameter has one in every one of `cells` equal parts of it (McKay et al. 1979)."""
    return sifted(space, hypercube(space, cells, np.random.default_rng(seed)))


def hypercube(space: Space, cells: int, rng: np.random.Generator) -> list[Values]:
    """Draw cells, impossible and equal ones among them."""
    from scipy.stats import qmc  # dear to load, and a grid does without

    shares = qmc.LatinHypercube(d=len(space.parameters), rng=rng).random(cells)
    return [
        {
            name: parameter.at(float(share))
            for (name, parameter), share in zip(space.parameters.items(), row, strict=True)
        }
        for row in shares
    ]


def sifted(space: Space, cells: Iterable[Values]) -> Drawn:
    """Keep each cell once that the space allows; none left is refused."""
    kept: dict[tuple[str, ...], Values] = {}
    twice = outside = 0
    for values in cells:
        if not space.allows(values):
            outside += 1
        elif (key := identity(values)) in kept:
            twice += 1
        else:
            kept[key] = values
    if not kept:
        raise VgoError("No cell is left of the space: `where` forbids every combination, so loosen a condition.")
    told = [f"{twice} cells are the same as another: dropped"] if twice else []
    told += [f"{outside} cells are left out, since `where` does not hold of them"] if outside else []
    return Drawn(tuple(kept.values()), tuple(told))


def _once(levels: Iterable[Level]) -> tuple[Level, ...]:
    first: dict[str, Level] = {}
    for level in levels:
        first.setdefault(shown(level), level)
    return tuple(first.values())


class Standing(NamedTuple):
    """One cell in numbers, in the unit of the outcome."""

    runs: int
    """That count."""
    failed: int
    reason: str = ""
    """Why it is given up; empty where it is not."""
    steady: bool = False
    """All runs are equal, so that there is no spread to know."""
    summary: ArmSummary | None = None
    interval: IntervalEstimate | None = None
    """95 %, of the SD."""

    @property
    def known(self) -> float | None:
        """Factor within which the SD is known; None where it is not."""
        return math.sqrt(self.interval.high / self.interval.low) if self.interval else None

    def enough(self, asked: Repetitions) -> bool:
        """Tell whether the spread is known as well as was asked for."""
        well = self.steady or (self.known is not None and self.known <= asked.within)
        return self.runs >= asked.least and well


def given_up(rows: Sequence[Row]) -> str:
    """Say why a cell is not run any more: it could not be begun, or its runs fail; empty while it goes on."""
    if not rows:
        return ""
    failed = [row for row in rows if not row["ok"]]
    if failed and not failed[-1]["begun"]:
        return str(failed[-1]["reason"])
    beginning = len(failed) == len(rows) >= FAILED_IN_A_ROW
    if beginning or (len(rows) >= AFTER and len(failed) > MOST_FAILED * len(rows)):
        return f"{len(failed)} of {len(rows)} runs failed, the last because {failed[-1]['reason']}"
    return ""


def standing(rows: Sequence[Row]) -> Standing:
    """Sum a cell up."""
    outcomes, reason = outcomes_of(rows), given_up(rows)
    failed = sum(not row["ok"] for row in rows)
    if not outcomes.size:
        return Standing(0, failed, reason)
    return Standing(
        runs=outcomes.size,
        failed=failed,
        reason=reason,
        steady=equal(outcomes),
        summary=summarise(outcomes),
        interval=log_sd_interval(outcomes),
    )


def outcomes_of(rows: Sequence[Row]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Outcomes of the runs that count, in run order, shape (runs,)."""
    return np.asarray([row["outcome"] for row in rows if row["ok"]], dtype=np.float64)


def look_due(runs: int, asked: Repetitions) -> bool:
    """Tell whether it is asked after so many runs of each cell whether its spread is known: seldom, so that luck stops
    little.

    At the least number of runs, then after 10 % more each time; at the end of the block in which that falls.
    """
    at = asked.least
    while (later := at + max(1, -(-at // 10))) <= runs:
        at = later
    return runs - (asked.block or 1) < at <= runs


def response_of(statistics: Mapping[str, float | None], response: str, lower_is_better: bool) -> float | None:
    """Give a response that is better the less it is; a spread is, whatever the outcome."""
    value = statistics.get(response)
    if value is None or response in ("sd", "cv") or lower_is_better:
        return value
    return -value
