"""Every model of a surface, by name."""

from __future__ import annotations

from collections.abc import Mapping

from .gaussian import GaussianRecipe, RankedRecipe, UnevenRecipe
from .hybrid import HybridRecipe
from .interpolation import RadialRecipe, fit_shepard
from .mars import fit_mars
from .model import SurfaceEstimator, Untuned
from .trees import fit_boosting, fit_forest

HYBRID = "hybrid"
SINGLE: Mapping[str, SurfaceEstimator] = {
    "shepard": Untuned(fit_shepard),
    "mars": Untuned(fit_mars),
    "gaussian": GaussianRecipe(),
    "radial": RadialRecipe(),
    "boosting": Untuned(fit_boosting),
    "forest": Untuned(fit_forest),
}
STACKED: Mapping[str, SurfaceEstimator] = {
    "shepard": SINGLE["shepard"],
    "mars": SINGLE["mars"],
    "boosting": SINGLE["boosting"],
    "gaussian, noise by size": UnevenRecipe(),
    "gaussian, noise by size, levels evenly spaced": RankedRecipe(UnevenRecipe()),
}
"""Members of the hybrid: local, piecewise linear, stepwise, smooth, smooth over ranks; each misses other things."""
MODELS: Mapping[str, SurfaceEstimator] = {**SINGLE, HYBRID: HybridRecipe(STACKED)}
