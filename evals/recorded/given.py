"""What a diagnosis may see and change when a case is answered: the same for all cases, and never said by a case."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from ...knowledge.errors import VgoError
from ...layers.loader import load_layers
from ...tools.layers_here import WORDS
from ...tools.subject import Allow, Limits
from .recorded_case import RecordedCase, silence

DEFAULT = Limits().layers
"""What `diagnose` has unless it is told otherwise."""


class Given(NamedTuple):
    """What everybody who answers gets with every case."""

    layers: tuple[str, ...] = DEFAULT
    """By spec; `auto` and `all`: every one that was recorded and showed something."""
    allow: Allow = "system"
    """Nothing is really changed: the runs come from tables."""

    def to(self, case: RecordedCase) -> RecordedCase:
        """Give a case with it; a layer that was not recorded, or showed nothing, is not there, as on its machine."""
        profiling, every = case.recording.profiling, set(WORDS) & set(self.layers)
        there = (spec for spec in profiling.layers if every or spec in self.layers)
        layers = tuple(spec for spec in there if not silence(case.layers[spec], profiling.absent.get(spec, {})))
        limits = case.file.limits.model_copy(update={"layers": layers or DEFAULT, "allow": self.allow})
        return replace(case, file=case.file.model_copy(update={"limits": limits}))


USUAL = Given()


def given(layers: tuple[str, ...], allow: Allow | None) -> Given:
    """Check what was asked for, the usual where nothing was; raises VgoError for a layer that does not exist."""
    known = load_layers()
    for spec in layers:
        if spec not in known and spec not in WORDS:
            raise VgoError(f"There is no layer {spec!r} that a case could have; choose among {', '.join(known)}, auto.")
    return Given(layers or USUAL.layers, allow or USUAL.allow)
