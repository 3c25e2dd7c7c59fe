"""Runs drawn for what only explains: every class keeps what it can, and small classes keep every run."""

from __future__ import annotations

import numpy as np

from ..values import IntArray


def sample(classes: IntArray, most: int, seed: int) -> IntArray:
    """Choose at most `most` runs, in run order; classes no larger than an even share are kept whole."""
    if classes.size <= most:
        return np.arange(classes.size)
    sizes = np.bincount(classes)
    share = _even_share(sizes[sizes > 0], most)
    rng = np.random.default_rng(seed)
    chosen = [
        places if places.size <= share else rng.choice(places, share, replace=False, shuffle=False)
        for places in (np.flatnonzero(classes == number) for number in np.flatnonzero(sizes))
    ]
    return np.sort(np.concatenate(chosen)).astype(np.int64)


def _even_share(sizes: IntArray, most: int) -> int:
    """Greatest number of runs that each class may have at most, so that all together are at most `most`."""
    left = most
    ascending = np.sort(sizes).tolist()
    for place, size in enumerate(ascending):
        share = left // (len(ascending) - place)
        if size > share:
            return int(share)
        left -= size
    return int(ascending[-1])
