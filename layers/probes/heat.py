"""Temperatures, fans and cooling devices, sampled over a run."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from .sampler import SamplingProbe
from .sysfs import SysfsFiles, by_number, name_of, number, read_once, text_of, unlike

TEMPERATURES = ("temp.*.start_c", "temp.*.mean_c", "temp.*.max_c")
FANS = ("fan.*.rpm",)
COOLING = ("cooling.*.state",)
ZONES, CHIPS = "sys/class/thermal", "sys/class/hwmon"
WHERE = "as in most virtual machines and containers: run on bare metal, or name the host's mount with --root"
ABSENT = {
    TEMPERATURES: f"there is no temperature sensor (/{ZONES}/thermal_zone*, /{CHIPS}/hwmon*), {WHERE}",
    FANS: f"there is no fan that tells its speed (/{CHIPS}/hwmon*/fan*_input): load the driver of its chip",
    COOLING: f"there is no cooling device (/{ZONES}/cooling_device*), {WHERE}",
}


class Sensors(NamedTuple):
    """Files that give one group of columns: of several, the highest counts."""

    kind: tuple[str, ...]
    name: str
    paths: list[Path]
    scale: float = 1.0


class Heat(SamplingProbe[list[bytes | None]]):
    """Samples all sensors."""

    def __init__(self, found: Sequence[Sensors], interval_s: float) -> None:
        self._sensors = found
        self._files = self._keep(SysfsFiles(path for sensors in found for path in sensors.paths))
        super().__init__(interval_s)

    def read(self, pid: int) -> list[bytes | None]:
        """Read every sensor."""
        return self._files.read()

    def values(self) -> dict[str, float]:
        """Return start, mean and maximum of temperatures, mean speeds, the highest step of cooling."""
        values: dict[str, float] = {}
        taken = [self._levels(raw) for _, raw in self.samples()]
        for place, sensors in enumerate(self._sensors):
            seen = [levels[place] for levels in taken]
            known = [level for level in seen if level is not None]
            if not known:
                continue
            if sensors.kind is TEMPERATURES:
                values[f"temp.{sensors.name}.mean_c"] = statistics.fmean(known)
                values[f"temp.{sensors.name}.max_c"] = max(known)
                if seen[0] is not None:
                    values[f"temp.{sensors.name}.start_c"] = seen[0]
            elif sensors.kind is FANS:
                values[f"fan.{sensors.name}.rpm"] = statistics.fmean(known)
            else:
                values[f"cooling.{sensors.name}.state"] = max(known)
        return values

    def _levels(self, raw: list[bytes | None]) -> list[float | None]:
        """Return the highest of each group's sensors; None where one of them is gone, which may be the highest."""
        said = iter(raw)
        levels: list[float | None] = []
        for sensors in self._sensors:
            known = [level for _ in sensors.paths if (level := number(next(said))) is not None]
            levels.append(max(known) * sensors.scale if len(known) == len(sensors.paths) else None)
        return levels


def sensors(root: Path) -> list[Sensors]:
    """Find all that say something."""
    return [*zones(root), *chips(root), *cooling_devices(root)]


def zones(root: Path) -> Iterator[Sensors]:
    """Find the thermal zones, named by their type."""
    folders = by_number((root / ZONES).glob("thermal_zone*"))
    names = unlike([name_of(text_of(folder / "type")) for folder in folders])
    for name, folder in zip(names, folders, strict=True):
        if number_in(folder / "temp"):
            yield Sensors(TEMPERATURES, name, [folder / "temp"], 1e-3)


def chips(root: Path) -> Iterator[Sensors]:
    """Find the temperatures and fans of sensor chips, named by the chip; a thermal zone's own chip says nothing new."""
    types = {text_of(path) for path in (root / ZONES).glob("thermal_zone*/type")}
    folders = [path for path in by_number((root / CHIPS).glob("hwmon*")) if text_of(path / "name") not in types]
    for name, folder in zip(unlike([name_of(text_of(path / "name")) for path in folders]), folders, strict=True):
        heats = [path for path in by_number(folder.glob("temp*_input")) if number_in(path)]
        if heats:
            yield Sensors(TEMPERATURES, name, heats, 1e-3)
        fans = [path for path in by_number(folder.glob("fan*_input")) if number_in(path)]
        for place, fan in enumerate(fans, start=1):
            yield Sensors(FANS, f"{name}_{place}", [fan])


def cooling_devices(root: Path) -> Iterator[Sensors]:
    """Find the cooling devices, those of one type together: each CPU is one of the type Processor."""
    types: dict[str, list[Path]] = {}
    for folder in by_number((root / ZONES).glob("cooling_device*")):
        if number_in(folder / "cur_state"):
            types.setdefault(name_of(text_of(folder / "type")), []).append(folder / "cur_state")
    for name, paths in types.items():
        yield Sensors(COOLING, name, paths)


def number_in(path: Path) -> bool:
    """Tell whether a file says a number now."""
    return number(read_once(str(path))) is not None
