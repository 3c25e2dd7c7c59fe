"""The environment that the user gave: libraries that a command loads (polars, scikit-learn) set more in their own."""

from __future__ import annotations

import os

_KEPT: dict[str, str] = {}


def keep_environment() -> None:
    """Remember it as it is now, before anything is loaded."""
    _KEPT.update(os.environ)


def as_given() -> dict[str, str]:
    """Environment for what this process starts; as it is now, where none was kept."""
    return dict(_KEPT or os.environ)
