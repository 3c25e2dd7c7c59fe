"""The Pareto front of two quantities that are both to be small."""

from __future__ import annotations

import numpy as np

from ..values import FloatArray, IntArray


def pareto_front(first: FloatArray, second: FloatArray) -> IntArray:
    """Give the places that no other beats in both, in the order of `first`; of equal ones the first."""
    order = np.lexsort((second, first))
    lowest = np.minimum.accumulate(second[order])
    front: IntArray = order[np.append(True, lowest[1:] < lowest[:-1])] if len(order) else order
    return front
