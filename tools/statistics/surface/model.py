"""What a model of a surface is: it is fitted to points, and predicts at others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from ..values import FloatArray


class SurfaceModel(Protocol):
    """A fitted surface."""

    def predict(self, x: FloatArray) -> FloatArray:
        """Predict at points of shape (points, dimensions); the answer has shape (points,)."""
        ...


class SurfaceEstimator(Protocol):
    """A way to fit a surface."""

    def tuned(self, x: FloatArray, y: FloatArray) -> SurfaceEstimator:
        """Choose what is costly to choose once for these points, for fits to nearly the same points."""
        ...

    def fit(self, x: FloatArray, y: FloatArray) -> SurfaceModel:
        """Fit to distinct points of shape (points, dimensions), scaled to about 0 to 1, with a value each."""
        ...


@dataclass(frozen=True)
class Untuned:
    """A recipe with nothing to choose beforehand."""

    how: Callable[[FloatArray, FloatArray], SurfaceModel]

    def tuned(self, x: FloatArray, y: FloatArray) -> Untuned:
        """Return itself."""
        return self

    def fit(self, x: FloatArray, y: FloatArray) -> SurfaceModel:
        """Fit."""
        return self.how(x, y)
