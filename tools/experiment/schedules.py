"""Schedules that decide little: repetitions, randomised complete blocks, pairs that cross over."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from ..execution.series import BARRIER, OUTSIDE, Block
from ..row import BASELINE, Row
from ..statistics.ratio_test import FEWEST
from .experiment import Done

BLOCKS = 2 * FEWEST
"""Of each condition at least, since blocks are what is judged: with the fewest an interval is wide."""
LayerSet = tuple[str, ...]
"""Specs in the order given; the first is outermost. Empty: a bare run."""
BARE: LayerSet = ()
TOGETHER = 2
"""Heavy layers that may be on at once."""
LEAST_BARE = 20
"""Fewer bare runs give no interval for what the layers shift."""
BARE_SHARE = 1 / 3
"""Bare runs for each profiled one."""


@dataclass(frozen=True)
class Repeat:
    """One condition, again and again."""

    runs: int
    key: str = BASELINE
    numbers: int = 0

    def blocks(self, done: Done) -> Iterator[Block]:
        """Give one run after the other."""
        for _ in range(self.runs):
            yield Block(OUTSIDE, (self.key,))


@dataclass(frozen=True)
class Complete:
    """Randomised complete blocks: each round has every condition once, in an order of its own."""

    keys: tuple[str, ...]
    numbers: int
    """Rounds."""
    seed: str

    def blocks(self, done: Done) -> Iterator[Block]:
        """Shuffle the conditions of each round."""
        for number in range(self.numbers):
            coin = random.Random(f"{self.seed}:{number}")
            yield Block(number, tuple(coin.sample(self.keys, len(self.keys))))


class InterimLooks(Protocol):
    """A look at the first pairs."""

    @property
    def after(self) -> int | None:
        """Pairs; None: there is no look."""

    def stops(self, rows: Sequence[Row]) -> bool:
        """Look, and tell whether the other pairs are not needed."""


@dataclass(frozen=True)
class Crossover:
    """Two conditions in turns: each pair in random order, or each two blocks of pairs as ABBA or BAAB.

    The second block of two begins as the first ended, so that a linear drift cancels and the machine is switched half
    as often. Neither drift nor order can look like an effect.
    """

    arms: tuple[str, str]
    numbers: int
    """Pairs; in blocks, as many of them as make an even number of blocks."""
    seed: str | int
    block: int = 1
    """Pairs in a block."""
    looks: InterimLooks | None = None
    """Where the conditions take turns pair by pair: half of the blocks are too few to tell by."""

    def blocks(self, done: Done) -> Iterator[Block]:
        """Give the pairs in order, up to a look that ends them."""
        coin = random.Random(self.seed)
        if self.block == 1:
            yield from self._pairs(coin, done)
            return
        for start in range(0, pairs_in(self.numbers, self.block), 2 * self.block):
            first = coin.sample(self.arms, 2)
            for begin, order in ((start, first), (start + self.block, first[::-1])):
                yield Block(begin, tuple(arm for arm in order for _ in range(self.block)), self.block)

    def _pairs(self, coin: random.Random, done: Done) -> Iterator[Block]:
        for number in range(self.numbers):
            if self.looks and number == self.looks.after:
                yield BARRIER
                if self.looks.stops(done()):
                    return
            yield Block(number, tuple(coin.sample(self.arms, 2)))


def block_of(pairs: int, interleavable: bool) -> int:
    """Say how many pairs make a block; 1 where the conditions take turns run by run."""
    return 1 if interleavable else max(1, pairs // BLOCKS)


def pairs_in(pairs: int, block: int) -> int:
    """Lessen the pairs to an even number of whole blocks, so that both orders come equally often."""
    return pairs if block == 1 else pairs // (2 * block) * 2 * block


def layer_sets(
    layers: Sequence[str],
    heavy: Container[str],
    wrapping: Container[str] = (),
    included: Mapping[str, Container[str]] = MappingProxyType({}),
) -> tuple[LayerSet, ...]:
    """Split layers into the sets that are on together: the light ones alone, and the light ones with heavy ones.

    Without light ones that are `included` in a heavy one, which tells the same.

    Up to two heavy layers have a set each, so that the cost of either is seen; more of them share sets by two, but one
    that wraps the program is never beside another, which would measure the wrapper.
    """
    dear = [layer for layer in layers if layer in heavy]
    mixing = [layer for layer in dear if layer not in wrapping]
    at_once = 1 if len(dear) <= TOGETHER else TOGETHER
    groups = [mixing[place : place + at_once] for place in range(0, len(mixing), at_once)]
    groups += [[layer] for layer in dear if layer in wrapping]
    light = tuple(layer for layer in layers if layer not in heavy)

    def beside(group: Sequence[str]) -> LayerSet:
        told = [one for one in light if not any(one in included.get(each, ()) for each in group)]
        return tuple(layer for layer in layers if layer in told or layer in group)

    return (*([light] if light else []), *map(beside, groups))


def without_included(
    sets: Sequence[LayerSet], included: Mapping[str, Container[str]], fit: float
) -> tuple[LayerSet, ...]:
    """Leave out a set of layers that those of another one include, where `fit` runs are fewer than two times `BLOCKS`.

    So few would be cut in two parts, neither of which says anything. What layers cost is seen against bare runs, too.
    """
    if fit >= 2 * BLOCKS:
        return tuple(sets)
    return tuple(one for one in sets if not any(_includes(other, one, included) for other in sets))


def _includes(one: LayerSet, other: LayerSet, included: Mapping[str, Container[str]]) -> bool:
    """Tell whether the layers of one set tell all that another does, by including what they do not share."""
    beside = [layer for layer in other if layer not in one]
    return bool(beside) and all(any(layer in included.get(each, ()) for each in one) for layer in beside)


def rotated(
    sets: Sequence[LayerSet],
    runs: int,
    seed: int,
    most: Mapping[LayerSet, int] = MappingProxyType({}),
    fit: float = math.inf,
) -> tuple[LayerSet, ...]:
    """Order `runs` runs of each set, of some `most` so many, and the bare ones between them, at random.

    Every stretch of the first `fit`, which the time is enough for, holds about its share of each, so that neither drift
    nor an early end favours one.
    """
    chance = random.Random(f"rotation:{seed}")
    profiled = list[LayerSet]()
    caps = {one: min(runs, most.get(one, runs)) for one in sets}
    last = max((number for number in range(1, runs + 1) if _rows(number, caps) <= fit), default=1)
    for number in range(runs):
        shares = {one: (_share(number, cap, last), _share(number + 1, cap, last)) for one, cap in caps.items()}
        now = [one for one, (before, after) in shares.items() if after > before]
        profiled += chance.sample(now, len(now))
    stretches = _stretches(profiled, bare_runs(len(profiled), runs))
    return tuple(layers for stretch in stretches for layers in chance.sample(stretch, len(stretch)))


def _share(number: int, cap: int, last: int) -> int:
    """Runs of a set of which `cap` are to be made among the first `number` rounds, if `last` is the last round."""
    return min(cap, number * min(cap, last) // last)


def _rows(rounds: int, caps: Mapping[LayerSet, int]) -> int:
    """Runs in all, bare ones too, if there are so many rounds."""
    profiled = sum(min(cap, rounds) for cap in caps.values())
    return profiled + bare_runs(profiled, rounds)


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
    """Conditions in an order that was drawn, less those that turned out to be no use."""

    order: tuple[str, ...]
    left_out: Callable[[Sequence[Row]], Container[str]]
    numbers: int = 0

    def blocks(self, done: Done) -> Iterator[Block]:
        """Give one run after the other; a condition that was left out once stays out."""
        for key in self.order:
            if key not in self.left_out(done()):
                yield Block(OUTSIDE, (key,))
