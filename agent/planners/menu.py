"""Every call that may be made next, with closed choices: what a model chooses from, and nothing else.

Amounts that a schema leaves free (runs, seconds, pairs) are what the rule policy would spend, half of it and twice it,
so that a menu is finite, and every call on it is legal and within the limits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...tools.measure import MeasureResult
from ...tools.registry import TOOLS
from ..costs import affordable_pairs
from .amounts import to_apply, to_measure, to_profile
from .base import View

SCALES = (1.0, 0.5, 2.0)
"""Times what the rule policy would spend; its own amount comes first."""


@dataclass(frozen=True)
class Slot:
    """Arguments that are chosen together."""

    names: tuple[str, ...]
    choices: tuple[tuple[Any, ...], ...]
    """Values in the order of the names, of JSON's kinds; the first is what the rule policy would take."""


Menu = Mapping[str, tuple[Slot, ...]]
"""Tool to the slots of its arguments, each to be filled."""


def menu(view: View) -> Menu:
    """List what may be done next; `conclude` always is there."""
    return {tool: tuple(_slots(tool, view)) for tool in view.legal.tools}


def calls(listed: Menu) -> int:
    """Count the different calls on a menu."""
    total = 0
    for slots in listed.values():
        ways = 1
        for slot in slots:
            ways *= len(slot.choices)
        total += ways
    return total


def _slots(tool: str, view: View) -> Iterator[Slot]:
    together = ("mitigation", "batch") if tool == "apply_mitigation" else ()
    if together:
        yield Slot(together, _batches(view))
    known = (FREE[tool](view) if tool in FREE else {}) | dict(view.legal.tools[tool])
    for name in TOOLS[tool].arguments.model_fields:
        if name in known and name not in together:
            yield Slot((name,), tuple((value,) for value in known[name]))


def _batches(view: View) -> tuple[tuple[str, int], ...]:
    """What waits for its confirmation first, then the rest in the order of the look-ups."""
    listed = view.legal.tools["apply_mitigation"]["mitigation"]
    return tuple(sorted(view.legal.batches, key=lambda pair: (-pair[1], listed.index(pair[0]))))


def _measure(view: View) -> dict[str, tuple[Any, ...]]:
    usual, limits = to_measure(view), view.limits
    return {
        "max_runs": _whole(usual["max_runs"], limits.min_runs, limits.max_runs),
        "max_seconds": _seconds(usual["max_seconds"]),
    }


def _profile(view: View) -> dict[str, tuple[Any, ...]]:
    usual, limits = to_profile(view), view.limits
    return {
        "layers": (usual["layers"],),
        "runs": _whole(usual["runs"], limits.min_runs, limits.max_runs),
        "max_seconds": _seconds(usual["max_seconds"]),
    }


def _label(view: View) -> dict[str, tuple[Any, ...]]:
    """The cut that the runs suggest, or a quantile of the baseline."""
    outcome = view.record.latest("measure").read(MeasureResult).outcome
    return {"cut": (None, outcome.median, outcome.p95)}


def _fit_tree(_: View) -> dict[str, tuple[Any, ...]]:
    return {"depth": (3, 2, 4)}


def _apply(view: View) -> dict[str, tuple[Any, ...]]:
    most = max(2, min(view.limits.max_runs, affordable_pairs(view.record, view.limits)))
    return {"pairs": _whole(to_apply(view), 2, most)}


FREE: Mapping[str, Callable[[View], dict[str, tuple[Any, ...]]]] = {
    "measure": _measure,
    "profile": _profile,
    "label": _label,
    "fit_tree": _fit_tree,
    "apply_mitigation": _apply,
}
"""Values of arguments that are free within their schema."""


def _whole(usual: int, least: int, most: int) -> tuple[int, ...]:
    bounded = (min(max(round(usual * scale), least), most) for scale in SCALES)
    return tuple(dict.fromkeys(bounded))


def _seconds(usual: float) -> tuple[float, ...]:
    return tuple(usual * scale for scale in SCALES)
