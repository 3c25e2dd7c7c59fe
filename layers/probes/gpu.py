"""The probe of the layer `gpu`: clocks, heat, power, limits and use of each GPU, sampled over a run."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from ..schema import Layer, Value
from .base import LayerProbe
from .nvidia import REASONS, Nvidia
from .sampler import SamplingProbe
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


Levels = Mapping[str, float]


class GpuCard(Protocol):
    """One GPU."""

    name: str
    """As in the columns: `0`, or `card0` of another maker."""
    loss: str
    """Why it fell off, and the cure; empty where it is there."""

    def levels(self, pid: int) -> Levels | None:
        """Return what it shows now; None where it has fallen off."""

    def counters(self) -> Levels | None:
        """Return what grows; None where it has fallen off; nothing where its driver counts nothing."""
        return {}

    def settings(self) -> Mapping[str, Value]:
        """Return how it is set, as far as it is known."""
        return {}

    def unknown(self, name: str, /) -> str:
        """Say why it does not tell a level, a counter or a setting; empty where it does."""


class AmdCard(GpuCard):
    """One GPU."""

    def __init__(self, folder: Path) -> None:
        self.name = name_of(folder.parent.name)
        there = {level: next(iter(sorted(folder.glob(file))), None) for level, (file, _) in FILES.items()}
        self._paths = {level: path for level, path in there.items() if path}
        self._files = SysfsFiles(self._paths.values())
        self.loss = ""

    def levels(self, pid: int) -> dict[str, float] | None:
        said = zip(self._paths, map(in_force, self._files.read()), strict=True)
        found = {level: value * FILES[level][1] for level, value in said if value is not None}
        self.loss = "" if found else f"GPU {self.name} fell off: see dmesg, then start the machine anew"
        return found or None

    def unknown(self, level: str) -> str:
        return "" if level in self._paths else f"GPU {self.name} of AMD does not tell it: no cure is known"

    def close(self) -> None:
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


MEANS = (
    *("sm_mhz", "memory_mhz", "temp_c", "power_w", "busy", "memory_busy", "pstate"),
    *("pcie_tx_bytes_s", "pcie_rx_bytes_s", *(f"limit.{reason}" for reason in REASONS)),
)
FOLDS: Mapping[str, tuple[str, Callable[[Sequence[float]], float]]] = {
    **{name: (name, statistics.fmean) for name in MEANS},
    "sm_min_mhz": ("sm_mhz", min),
    "temp_max_c": ("temp_c", max),
    **{name: (name, max) for name in ("memory_used_bytes", "others")},
    **{name: (name, min) for name in ("memory_free_bytes", "pcie_generation", "pcie_width")},
}
"""Column: the level of which it is, and how its samples become one number."""
SUMMED = (
    *("power_w", "energy_j", "memory_used_bytes"),
    *("pcie_tx_bytes", "pcie_rx_bytes", "ecc_corrected", "ecc_uncorrected"),
)
"""Of several GPUs, the sum too: `gpu.power_w`."""
ONE = "there is but one GPU, whose own column tells it: no cure is needed"
LEVEL_OF = {column: level for column, (level, _) in FOLDS.items()} | {"temp_start_c": "temp_c"}


GpuReading = tuple[int, list[Levels | None]]
"""One sample of one run: its process, 0 before it began, and each card."""


class GpuProbe(SamplingProbe[GpuReading], LayerProbe):
    """Samples the GPUs of all makers, and reads their counters at the start and at the end of a run."""

    def __init__(self, layer: Layer, root: Path) -> None:
        LayerProbe.__init__(self, layer)
        self._nvidia = self._keep(Nvidia(rates=bool(layer.parameters.get("pcie_rates", False))))
        self._cards: list[GpuCard] = [*self._nvidia.cards, *map(self._keep, amd_cards(root))]
        self._was: list[Levels | None] = []
        self._now: list[Levels | None] = []
        SamplingProbe.__init__(self, float(layer.parameters.get("interval_ms", 100)) / 1000)

    def read(self, pid: int) -> GpuReading:
        return pid, [card.levels(pid) for card in self._cards]

    def before(self) -> None:
        self._was = [card.counters() for card in self._cards]
        super().before()

    def after(self) -> None:
        super().after()
        self._now = [card.counters() for card in self._cards]

    def values(self) -> dict[str, Value]:
        """Return values of each GPU that was there all the time, and the sums of several."""
        readings = [reading for _, reading in self.samples()]
        each = [self._of_one(place, readings) for place in range(len(self._cards))]
        values = {
            f"gpu.{card.name}.{name}": value
            for card, found in zip(self._cards, each, strict=True)
            for name, value in found.items()
        }
        for name in SUMMED if len(each) > 1 else ():
            parts = [part for found in each if isinstance(part := found.get(name), float)]
            if len(parts) == len(each):
                values[f"gpu.{name}"] = sum(parts)
        return self._declared(values)

    def absent(self) -> Mapping[str, str]:
        """Name what no GPU tells, what one of several does not tell, and all of one that fell off."""
        absent: dict[str, str] = {}
        for column in self._columns:
            name = column.removeprefix("gpu.*.")
            if not self._cards:
                absent[column] = self._nvidia.why_none
            elif name == column:
                absent |= {name: ONE} if len(self._cards) == 1 else {}
            else:
                absent |= self._unknown(name)
        return absent

    def _unknown(self, name: str) -> dict[str, str]:
        reasons = {card.name: card.loss or card.unknown(LEVEL_OF.get(name, name)) for card in self._cards}
        missing = {card: reason for card, reason in reasons.items() if reason}
        if len(missing) == len(reasons):
            return {f"gpu.*.{name}": "; ".join(dict.fromkeys(missing.values()))}
        return {f"gpu.{card}.{name}": reason for card, reason in missing.items()}

    def _of_one(self, place: int, readings: Sequence[GpuReading]) -> dict[str, Value]:
        was, now = self._was[place], self._now[place]
        seen = [(pid, cards[place]) for pid, cards in readings]
        if was is None or now is None or any(levels is None for _, levels in seen):
            return {}  # It fell off: what it told before that would be half a run.
        values = dict(self._cards[place].settings())
        # Before the program began, the GPU had other work or none.
        start = [levels["temp_c"] for pid, levels in seen if pid == 0 and levels and "temp_c" in levels]
        values |= {"temp_start_c": start[0]} if start else {}
        during = [levels for pid, levels in seen if pid and levels]
        for column, (level, fold) in FOLDS.items():
            if known := [levels[level] for levels in during if level in levels]:
                values[column] = float(fold(known))
        return values | {name: now[name] - count for name, count in was.items() if now.get(name, -1) >= count}
