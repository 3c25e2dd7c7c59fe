"""GPUs of AMD: what the driver amdgpu shows in /sys."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from ..schema import Value
from .sysfs import SysfsFiles, by_number, name_of, number

FILES = {
    "busy": ("gpu_busy_percent", 0.01),
    "memory_busy": ("mem_busy_percent", 0.01),
    "memory_used_bytes": ("mem_info_vram_used", 1.0),
    "temp_c": ("hwmon/hwmon*/temp1_input", 1e-3),
    "power_w": ("hwmon/hwmon*/power1_average", 1e-6),
    "sm_mhz": ("pp_dpm_sclk", 1.0),
    "memory_mhz": ("pp_dpm_mclk", 1.0),
}
"""Level: its file below the card's device, and the factor to its unit."""
IN_FORCE = re.compile(rb"([0-9]+)Mhz \*", re.I)
"""`1: 1300Mhz *` in the list of clocks."""


class AmdCard:
    """One GPU."""

    def __init__(self, folder: Path) -> None:
        self.name = name_of(folder.parent.name)
        there = {level: next(iter(sorted(folder.glob(file))), None) for level, (file, _) in FILES.items()}
        self._paths = {level: path for level, path in there.items() if path}
        self._files = SysfsFiles(self._paths.values())
        self.loss = ""

    def levels(self, pid: int) -> dict[str, float] | None:
        """Return clocks, heat, power, use; None where no file can be read."""
        said = zip(self._paths, map(in_force, self._files.read()), strict=True)
        found = {level: value * FILES[level][1] for level, value in said if value is not None}
        self.loss = "" if found else f"GPU {self.name} fell off: see dmesg, then start the machine anew"
        return found or None

    def counters(self) -> dict[str, float] | None:
        """Return nothing: its driver counts none of it."""
        return {}

    def settings(self) -> Mapping[str, Value]:
        """Return nothing."""
        return {}

    def unknown(self, level: str) -> str:
        """Say that it does not tell a level."""
        return "" if level in self._paths else f"GPU {self.name} of AMD does not tell it: no cure is known"

    def close(self) -> None:
        """Close the files."""
        self._files.close()


def amd_cards(root: Path) -> list[AmdCard]:
    """Find the cards that the driver amdgpu serves; connectors (card0-DP-1) are none."""
    folders = [
        path / "device" for path in by_number((root / "sys/class/drm").glob("card[0-9]*")) if "-" not in path.name
    ]
    return [AmdCard(folder) for folder in folders if (folder / "pp_dpm_sclk").exists()]


def in_force(said: bytes | None) -> float | None:
    """Read a number, or the one with a star in a list of clocks."""
    found = IN_FORCE.search(said or b"")
    return float(found.group(1)) if found else number(said)
