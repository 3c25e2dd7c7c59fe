"""One row of a run table, before pandas is needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Row = Mapping[str, Any]
BASELINE = "baseline"
RUNS = "runs.csv"
"""Artefact of a measuring call: its table."""
FIXED = ("order", "condition", "pair", "ok", "exit_code", "survivors", "outcome", "wall_s", "layers", "failure")
"""order: 0 upwards within its table; pair: -1 outside pairs; ok: 0 where the run failed and does not count;
survivors: processes that the run left behind, which were ended; layers: keys of those that were on, joined by +,
the outermost first, empty for a bare run; failure: why the run does not count, in a few words, empty where it does."""
REQUIRED = tuple(name for name in FIXED if name not in ("layers", "failure"))
"""Those that the tables of older versions have too."""
