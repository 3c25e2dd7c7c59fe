"""The probe of the layer `thermal`: temperatures, fans, cooling, throttling and energy over a run."""

from __future__ import annotations

from pathlib import Path

from ..schema import Layer
from .base import Probe
from .energy import ENERGY_COLUMNS, Energy, why_none, zones
from .heat import ABSENT, COOLING, FANS, TEMPERATURES, Heat, sensors
from .parts import Missing, Parts
from .throttle import THROTTLE_COLUMNS, Throttle


class ThermalProbe(Parts):
    """Reads what the columns of the layer need."""

    def __init__(self, layer: Layer, root: Path) -> None:
        wanted = {column.name for column in layer.columns}
        interval_s = float(layer.parameters.get("interval_ms", 100)) / 1000
        parts: list[Probe] = []
        if wanted & {*TEMPERATURES, *FANS, *COOLING}:
            found = sensors(root)
            parts += [Missing(kind, why) for kind, why in ABSENT.items() if kind not in {one.kind for one in found}]
            # No sensor: no thread either.
            parts += [Heat(found, interval_s)] if found else []
        if wanted & set(ENERGY_COLUMNS):
            counters = zones(root)
            why = "" if counters else why_none(root)
            parts.append(Missing(ENERGY_COLUMNS, why) if why else Energy(counters, interval_s))
        if wanted & set(THROTTLE_COLUMNS):
            parts.append(Throttle(root))
        super().__init__(layer, parts)
