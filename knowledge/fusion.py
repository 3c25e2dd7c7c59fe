"""One ranking out of several, by places alone (reciprocal rank fusion, Cormack, Clarke and Buettcher, SIGIR 2009)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Ranking(NamedTuple):
    """Keys, the best first, and how much their places count."""

    weight: float
    keys: Sequence[str]


def fused(rankings: Iterable[Ranking], offset: float) -> dict[str, float]:
    """Score each key by the sum of weight / (offset + place), best first; ties by key.

    The larger the offset, the less the first places count before the later ones.
    """
    scores: dict[str, float] = defaultdict(float)
    for weight, keys in rankings:
        for place, key in enumerate(keys, start=1):
            scores[key] += weight / (offset + place)
    return dict(sorted(scores.items(), key=lambda item: (-item[1], item[0])))
