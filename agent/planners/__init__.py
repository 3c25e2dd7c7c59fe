"""Planners: who chooses the next legal call."""

from __future__ import annotations

from collections.abc import Callable

from .base import Planner
from .fixed import Fixed
from .rules import Rules

PLANNERS: dict[str, Callable[[], Planner]] = {"rules": Rules, "fixed": Fixed}
"""By the name that --planner takes; `fixed` is that of `try` and `tune`."""
