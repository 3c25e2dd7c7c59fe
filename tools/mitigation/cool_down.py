"""Wait before each mitigated run until the processor and the GPU are as cool as before the first one, as krun does.

The baseline does not wait: it shows what runs one after the other do. For the same reason the two conditions are not
interleaved run by run: a baseline run between two waits would begin cooler than one among its own kind.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from ...knowledge import actions
from ...knowledge.errors import VgoError
from ...layers.probes.sysfs import number, read_once
from ...layers.probes.thermal import TEMPERATURES, Sensors, sensors
from .gpu_values import gpu_values, visible
from .verification import Check

OF_CPU = re.compile(r"x86_pkg_temp|coretemp|k10temp|zenpower|cpu|soc", re.I)
"""Zones and chips that belong to the processor."""
NVML_TEMPERATURE_GPU = 0
"""Of nvmlTemperatureSensors_t."""
PAUSE_S = 0.5
SETTLED_S = 5.0
"""What has not fallen by a degree in this time has cooled down."""

Thermometer = Callable[[], Mapping[str, float]]
"""Gives degrees Celsius, by the name of what is that hot."""


class CoolDownWait:
    """What to wait for; the temperatures to come back to are taken at the first need, once they fall no longer."""

    def __init__(
        self,
        action: actions.CoolDown,
        thermometer: Thermometer,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._action = action
        self._thermometer = thermometer
        self._clock, self._sleep = clock, sleep
        self._start: Mapping[str, float] = {}
        self._waits = self._late = 0

    def on(self) -> tuple[Check, ...]:
        """Wait, and say whether it is cool enough (level 1)."""
        self._start = self._start or self._settled()
        began = self._clock()
        while (hot := self._hot()) and self._clock() - began < self._action.most_s:
            self._sleep(PAUSE_S)
        waited = self._clock() - began
        self._waits += 1
        self._late += bool(hot)
        return tuple(self._check(name, waited) for name in self._start)

    def off(self) -> tuple[Check, ...]:
        """Wait for nothing."""
        return ()

    @property
    def notices(self) -> tuple[str, ...]:
        """Say how often it stayed too hot."""
        if not self._late:
            return ()
        return (
            f"cool-down: {self._late} of {self._waits} waits ended after {self._action.most_s:g} s without coming "
            f"within {self._action.within_celsius:g} degrees of the start: cool better, or wait longer",
        )

    def _settled(self) -> Mapping[str, float]:
        """Wait until nothing falls any more: runs before these may have heated it up."""
        began, before = self._clock(), self._thermometer()
        if not before:
            raise VgoError("No temperature can be read: run on bare metal, or leave the cool-down out.")
        while self._clock() - began < self._action.most_s:
            self._sleep(SETTLED_S)
            now = self._thermometer()
            if all(now.get(name, celsius) > celsius - 1 for name, celsius in before.items()):
                return now
            before = now
        return before

    def _hot(self) -> bool:
        now = self._thermometer()
        return any(now.get(name, start) > start + self._action.within_celsius for name, start in self._start.items())

    def _check(self, name: str, waited: float) -> Check:
        most = self._start[name] + self._action.within_celsius
        celsius = self._thermometer().get(name)
        return Check(
            level=1,
            what=f"temperature of {name} before the run",
            expected=f"at most {most:.1f} degrees",
            seen=f"{'none' if celsius is None else f'{celsius:.1f} degrees'} after {waited:.1f} s",
            passed=celsius is not None and celsius <= most,
        )


def cooling(
    action: actions.CoolDown,
    environment: Mapping[str, str],
    root: Path = Path("/"),
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> CoolDownWait:
    """Find the sensors of the processor, and of the GPUs that a program with this environment may use."""
    cpu, uuids = of_processor(root), _gpus(environment)
    if not cpu and not uuids:
        raise VgoError("No temperature can be read: run on bare metal, or leave the cool-down out.")

    def read() -> dict[str, float]:
        hottest = [celsius for one in cpu for path in one.paths if (celsius := number(read_once(str(path))))]
        found = {"the processor": max(hottest) * cpu[0].scale} if hottest else {}
        return found | {uuid: _celsius(uuid) for uuid in uuids}

    return CoolDownWait(action, read, clock, sleep)


def of_processor(root: Path) -> list[Sensors]:
    """Find the sensors of the processor; all there are where none is known to be its."""
    found = [one for one in sensors(root) if one.kind is TEMPERATURES]
    return [one for one in found if OF_CPU.search(one.name)] or found


def _gpus(environment: Mapping[str, str]) -> tuple[str, ...]:
    """List the GPUs to watch; none where there is none, or where the program may use none."""
    try:
        return visible(gpu_values().models(), environment)
    except VgoError:
        # No driver or no GPU: the processor alone is waited for.
        return ()


def _celsius(uuid: str) -> float:
    said: int = gpu_values().query(uuid, "nvmlDeviceGetTemperature", NVML_TEMPERATURE_GPU)
    return float(said)
