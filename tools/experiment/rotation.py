"""Which layers are on in which run: light ones in every profiled run, heavy ones in turn, and bare runs between."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass

from ..row import Row
from .condition import OUTSIDE, Block
from .experiment import Done

LayerSet = tuple[str, ...]
"""Specs in the order given; the first is outermost. Empty: a bare run."""
BARE: LayerSet = ()
TOGETHER = 2
"""Heavy layers that may be on at once."""
LEAST_BARE = 20
"""Fewer bare runs give no interval for what the layers shift."""
BARE_SHARE = 1 / 3
"""Bare runs for each profiled one."""


def layer_sets(layers: Sequence[str], heavy: Container[str], wrapping: Container[str] = ()) -> tuple[LayerSet, ...]:
    """Split layers into the sets that are on together: the light ones alone, and the light ones with heavy ones.

    Up to two heavy layers have a set each, so that the cost of either is seen; more of them share sets by two, but one
    that wraps the program is never beside another, which would measure the wrapper.
    """
    dear = [layer for layer in layers if layer in heavy]
    mixing = [layer for layer in dear if layer not in wrapping]
    at_once = 1 if len(dear) <= TOGETHER else TOGETHER
    groups = [mixing[place : place + at_once] for place in range(0, len(mixing), at_once)]
    groups += [[layer] for layer in dear if layer in wrapping]
    light = tuple(layer for layer in layers if layer not in heavy)
    with_heavy = [tuple(layer for layer in layers if layer not in heavy or layer in group) for group in groups]
    return (*([light] if light else []), *with_heavy)


def rotated(sets: Sequence[LayerSet], runs: int, seed: int) -> tuple[LayerSet, ...]:
    """Order `runs` runs of each set and the bare ones between them, at random.

    Every stretch holds about its share of each, so that neither drift nor an early end favours one.
    """
    chance = random.Random(f"rotation:{seed}")
    profiled = [layers for _ in range(runs) for layers in chance.sample(sets, len(sets))]
    stretches = _stretches(profiled, bare_runs(len(profiled), runs))
    return tuple(layers for stretch in stretches for layers in chance.sample(stretch, len(stretch)))


def bare_runs(profiled: int, runs: int) -> int:
    """One for every three profiled ones, twenty at least, and never more than one set has."""
    return min(max(LEAST_BARE, math.ceil(profiled * BARE_SHARE)), runs)


def _stretches(profiled: Sequence[LayerSet], bare: int) -> Iterator[list[LayerSet]]:
    """Cut the profiled runs into as many stretches as there are bare ones, and put one into each."""
    cuts = [round(place * len(profiled) / bare) for place in range(bare + 1)]
    for begin, end in zip(cuts[:-1], cuts[1:], strict=True):
        yield [*profiled[begin:end], BARE]


@dataclass(frozen=True)
class Rotation:
    """ExperimentConditions in an order that was drawn, less those that turned out to be no use."""

    order: tuple[str, ...]
    left_out: Callable[[Sequence[Row]], Container[str]]
    numbers: int = 0

    def blocks(self, done: Done) -> Iterator[Block]:
        """Give one run after the other; a condition that was left out once stays out."""
        for key in self.order:
            if key not in self.left_out(done()):
                yield Block(OUTSIDE, (key,))
