"""Schedules that decide little: repetitions, randomised complete blocks, pairs that cross over."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..row import BASELINE, Row
from .condition import BARRIER, OUTSIDE, Block
from .experiment import Done

BLOCKS = 20
"""Of each condition at least, since blocks are what is judged: a claim takes ten of each, and with
no more its interval is wide."""


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
