"""The probe of the layer `thermal`: temperatures, fans, cooling, throttling and energy over a run."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from ..schema import Layer
from .base import Missing, Parts, Probe, TwoReadings
from .sampler import SamplingProbe
from .sysfs import SysfsFiles, by_number, grown, name_of, number, read_once, text_of, unlike, why_not

COLUMNS = {
    "throttle.core_events": "core_throttle_count",
    "throttle.package_events": "package_throttle_count",
    "throttle.core_ms": "core_throttle_total_time_ms",
    "throttle.package_ms": "package_throttle_total_time_ms",
}


class Throttle(TwoReadings[dict[str, list[bytes | None]]]):
    """Differences of the counts, once for each core or package: each of its CPUs counts the same events."""

    def __init__(self, root: Path) -> None:
        """Open the counts of every CPU of the machine: a hot neighbour slows the package down."""
        folders = by_number((root / "sys/devices/system/cpu").glob("cpu[0-9]*"))
        self._files: dict[str, SysfsFiles] = {}
        self._owners: dict[str, list[tuple[str, ...]]] = {}
        for column, name in COLUMNS.items():
            there = [folder for folder in folders if (folder / "thermal_throttle" / name).is_file()]
            if there:
                self._files[column] = self._keep(SysfsFiles(folder / "thermal_throttle" / name for folder in there))
                parts = ("physical_package_id", "core_id")[: 2 if name.startswith("core") else 1]
                self._owners[column] = [
                    tuple(text_of(folder / "topology" / part) for part in parts) for folder in there
                ]
        self._absent = {
            column: f"the processor shows no such count (/sys/devices/system/cpu/cpu*/thermal_throttle/{name}): "
            "it takes an Intel processor, and not a virtual one"
            for column, name in COLUMNS.items()
            if column not in self._files
        }
        self._was = self._now = self._read()

    def values(self) -> dict[str, float]:
        """Return the sums over cores or packages; none where a CPU was switched off or on meanwhile."""
        values: dict[str, float] = {}
        for column, owners in self._owners.items():
            most: dict[tuple[str, ...], float] = {}
            for owner, was, now in zip(owners, self._was[column], self._now[column], strict=True):
                change = grown(was, now)
                most[owner] = math.nan if change is None else max(most.get(owner, 0.0), change)
            total = sum(most.values())
            if not math.isnan(total):
                values[column] = total
        return values

    def _read(self) -> dict[str, list[bytes | None]]:
        return {column: files.read() for column, files in self._files.items()}


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


ENERGY_COLUMNS = ("energy.*.j", "power.*.w")
POWER_ZONES = "sys/class/powercap"


class Energy(SamplingProbe[list[bytes | None]]):
    """Sums what each counter went on between samples, so that several turns of a counter in a long run are seen."""

    def __init__(self, counters: Sequence[Path], interval_s: float) -> None:
        self._names = unlike([zone_name(zone) for zone in counters])
        self._ranges = [number(read_once(str(zone / "max_energy_range_uj"))) or 0.0 for zone in counters]
        self._files = self._keep(SysfsFiles(zone / "energy_uj" for zone in counters))
        super().__init__(interval_s)

    def read(self, pid: int) -> list[bytes | None]:
        return self._files.read()

    def values(self) -> dict[str, float]:
        """Return energy and mean power; none of a counter that failed at a sample."""
        samples = self.samples()
        if len(samples) < 2:
            return {}
        seconds = samples[-1][0] - samples[0][0]
        values: dict[str, float] = {}
        for place, (name, most) in enumerate(zip(self._names, self._ranges, strict=True)):
            used = used_uj([number(raw[place]) for _, raw in samples], most)
            if used is not None:
                values[f"energy.{name}.j"] = used / 1e6
                values[f"power.{name}.w"] = used / 1e6 / seconds
        return values


def counter_files(root: Path) -> list[Path]:
    """Find the counters; intel-rapl-mmio tells the same again, by another way."""
    return sorted(path for path in (root / POWER_ZONES).glob("*rapl*:*/energy_uj") if "mmio" not in path.parent.name)


def why_none(root: Path) -> str:
    """Say why no counter may be read, and the cure."""
    for path in counter_files(root):
        return f"the energy counters may not be read ({why_not(str(path))}): run as root, as the kernel asks since 5.10"
    return f"there is no energy counter (RAPL, /{POWER_ZONES}): run on bare metal, with the module intel_rapl_msr"


def used_uj(counts: Sequence[float | None], most: float) -> float | None:
    """Return what a counter went on that begins anew after `most`; None where it failed or was reset."""
    used = 0.0
    for was, now in pairwise(counts):
        if was is None or now is None:
            return None
        change = now - was
        if change < 0:
            change += most
            # Samples are far closer than half a turn, so what seems to be more was a reset.
            if not 0 <= change < most / 2:
                return None
        used += change
    return used


def zone_name(zone: Path) -> str:
    """Name a part of a package with its package: `package-0_core`."""
    package = zone.parent / zone.name.rpartition(":")[0]
    own = name_of(text_of(zone / "name"))
    return f"{name_of(text_of(package / 'name'))}_{own}" if zone.name.count(":") > 1 else own


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
            counters = [path.parent for path in counter_files(root) if not why_not(str(path))]
            why = "" if counters else why_none(root)
            parts.append(Missing(ENERGY_COLUMNS, why) if why else Energy(counters, interval_s))
        if wanted & COLUMNS.keys():
            parts.append(Throttle(root))
        super().__init__(layer, parts)
