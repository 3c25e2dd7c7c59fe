"""How often and how long the processor slowed itself down because it was too hot."""

from __future__ import annotations

import math
from pathlib import Path

from .base import TwoReadings
from .sysfs import SysfsFiles, by_number, grown, text_of

COLUMNS = {
    "throttle.core_events": "core_throttle_count",
    "throttle.package_events": "package_throttle_count",
    "throttle.core_ms": "core_throttle_total_time_ms",
    "throttle.package_ms": "package_throttle_total_time_ms",
}
THROTTLE_COLUMNS = tuple(COLUMNS)


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
