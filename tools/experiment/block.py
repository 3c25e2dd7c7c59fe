"""Blocks: runs that belong together, as a schedule gives them."""

from __future__ import annotations

from typing import NamedTuple

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
