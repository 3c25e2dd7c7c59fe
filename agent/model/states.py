"""Recorded moments of diagnoses at which there was something to choose: what a model is tried on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...tools.case import NO_FILES, Finished, Record
from ...tools.subject import Limits
from ..planners.base import View, view_of
from ..planners.menu import calls, menu

FILE = Path(__file__).with_name("states.json")
"""Written by `python benchmarks/model_states.py`, from cases of the training half."""


class DecisionState(NamedTuple):
    """One moment."""

    case: str
    """The recorded case it comes from."""
    view: View


def states() -> Sequence[DecisionState]:
    """Read them all, in the order in which they came about."""
    return [state for told in json.loads(FILE.read_text()) for state in _moments(told)]


def _moments(told: dict[str, Any]) -> Iterator[DecisionState]:
    """Give the moments before those calls of one diagnosis that were chosen among several."""
    limits = Limits.model_validate(told["limits"])
    finished = [Finished(artefacts={}, **call) for call in told["calls"]]
    for number in range(len(finished) + 1):
        record = Record(tuple(finished[:number]), NO_FILES)
        view = view_of(record, limits, number)
        if number in told["asked"] and calls(menu(view)) > 1:
            yield DecisionState(told["case"], view)
