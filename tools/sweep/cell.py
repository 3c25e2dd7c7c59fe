"""Cells of a sweep, combinations of levels, and which are run: all or a Latin hypercube, none twice, each drop told."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...knowledge.errors import VgoError
from ...knowledge.shape import Frozen
from ..execution.resolve import resolve
from ..subject import Subject
from .space import Level, Parameter, Space, shown

SubjectOf = Callable[[Mapping[str, str]], Subject]
"""Gives the program of a cell by its levels; raises VgoError where there is none."""


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


MOST_CELLS = 100_000
Values = Mapping[str, Level]


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
