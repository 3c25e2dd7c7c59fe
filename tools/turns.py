"""In which order the two conditions of a batch run: pair by pair, or in blocks where switching is slow."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

BLOCKS = 20
"""Of each condition at least, since blocks are what is judged: a claim takes ten of each, and with
no more its interval is wide."""


class Turn(NamedTuple):
    """One run to come."""

    pair: int
    condition: str


def block_of(pairs: int, interleavable: bool) -> int:
    """Say how many pairs make a block; 1 where the conditions take turns run by run."""
    return 1 if interleavable else max(1, pairs // BLOCKS)


def pairs_in(pairs: int, block: int) -> int:
    """Lessen the pairs to an even number of whole blocks, so that both orders come equally often."""
    return pairs if block == 1 else pairs // (2 * block) * 2 * block


def turns(pairs: int, block: int, conditions: tuple[str, str], coin: random.Random) -> Iterator[Turn]:
    """Give the runs in order: each pair in random order, or each two blocks as ABBA or BAAB.

    A block is all its pairs of one condition and then all of the other. The second block of two begins as the first
    ended, so that a linear drift cancels and the machine is switched half as often.
    """
    if block == 1:
        for pair in range(pairs):
            yield from (Turn(pair, condition) for condition in coin.sample(conditions, 2))
        return
    for start in range(0, pairs_in(pairs, block), 2 * block):
        first = coin.sample(conditions, 2)
        for begin, order in ((start, first), (start + block, first[::-1])):
            yield from (Turn(pair, condition) for condition in order for pair in range(begin, begin + block))
