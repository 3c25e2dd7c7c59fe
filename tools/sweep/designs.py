"""Which cells are run: every combination, or a Latin hypercube; what stands twice or may not be is dropped and told."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from ...knowledge.errors import VgoError
from .cell import identity
from .level import Level, shown
from .space import Space

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
