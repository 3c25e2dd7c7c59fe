"""Energy that parts of the machine use over a run: the RAPL counters of powercap."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from .sampler import SamplingProbe
from .sysfs import SysfsFiles, name_of, number, read_once, text_of, unlike, why_not

ENERGY_COLUMNS = ("energy.*.j", "power.*.w")
ZONES = "sys/class/powercap"


class Energy(SamplingProbe[list[bytes | None]]):
    """Sums what each counter went on between samples, so that several turns of a counter in a long run are seen."""

    def __init__(self, counters: Sequence[Path], interval_s: float) -> None:
        self._names = unlike([zone_name(zone) for zone in counters])
        self._ranges = [number(read_once(str(zone / "max_energy_range_uj"))) or 0.0 for zone in counters]
        self._files = self._keep(SysfsFiles(zone / "energy_uj" for zone in counters))
        super().__init__(interval_s)

    def read(self, pid: int) -> list[bytes | None]:
        """Read every counter."""
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


def zones(root: Path) -> list[Path]:
    """Find the counters that may be read."""
    return [path.parent for path in counter_files(root) if not why_not(str(path))]


def counter_files(root: Path) -> list[Path]:
    """Find the counters; intel-rapl-mmio tells the same again, by another way."""
    return sorted(path for path in (root / ZONES).glob("*rapl*:*/energy_uj") if "mmio" not in path.parent.name)


def why_none(root: Path) -> str:
    """Say why no counter may be read, and the cure."""
    for path in counter_files(root):
        return f"the energy counters may not be read ({why_not(str(path))}): run as root, as the kernel asks since 5.10"
    return f"there is no energy counter (RAPL, /{ZONES}): run on bare metal, with the module intel_rapl_msr"


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
