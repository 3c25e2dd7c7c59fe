"""Planners: who chooses the next legal call."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from .base import Planner, Rules

PLANNERS: dict[str, Callable[[], Planner]] = {"rules": Rules, "fixed": partial(Rules, "fixed")}
"""By the name that --planner takes; `fixed` is that of `try`."""
