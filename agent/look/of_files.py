"""Recorded files in the tabs: the first is the baseline, and every other one is held against it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .scenes import Overlay, PlottedOutcomes


def overlays_of(given: Mapping[str, Any]) -> tuple[Overlay, ...]:
    """Lay each arm over the first, from what `desk.recorded` answers; none where there is one table."""
    if not given["ratios"]:
        return ()
    arms = {
        name: PlottedOutcomes(np.asarray(values), given["unit"], given["metric"], given["lower_is_better"])
        for name, values in given["arms"].items()
    }
    (first, baseline), *others = arms.items()
    found = []
    for name, arm in others:
        ratio, low, high, claim = given["ratios"][name]
        found.append(Overlay(baseline, arm, name, ratio, low, high, claim, held_against=first))
    return tuple(found)


def place_words(paths: Sequence[str], place: int) -> str:
    """Say which of several files is open; empty for one."""
    if len(paths) < 2:
        return ""
    return f"{Path(paths[place]).name}, {place + 1} of {len(paths)}: [ and ] choose, Compare holds them side by side."
