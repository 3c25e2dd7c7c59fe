"""Do heavy, independent pieces of array work on all cores; the result does not depend on how many there are."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def each(work: Callable[[T], R], items: Iterable[T], heavy: bool) -> list[R]:
    """Map in order; on threads only when each piece is `heavy`, since numpy frees the lock for large arrays alone."""
    cores = len(os.sched_getaffinity(0))
    if not heavy or cores == 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(cores) as pool:
        return list(pool.map(work, items))
