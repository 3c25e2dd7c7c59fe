"""What each core does: busy and stolen time, interrupts, frequency, read from /proc and /sys.

One reading is a few small files; it is taken only while somebody looks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...layers.probes.machine import CPU_FIELDS, interrupts_of_cpus
from ...layers.probes.surroundings import cpu_ticks
from .canvas import TextCanvas
from .plot import Picture, Sentence, TextFigure
from .scale import AxisWindow

ROOT = Path("/")
NOT_LINUX = "No per-core figures here: /proc/stat cannot be read."


@dataclass(frozen=True)
class CoreReading:
    """Counters of one core since boot."""

    ticks: Sequence[int]
    """In the order of CPU_FIELDS."""
    interrupts: int
    mhz: float | None


@dataclass(frozen=True)
class CoresSnapshot:
    """All cores at one moment."""

    at_s: float
    """Monotonic."""
    cores: Mapping[int, CoreReading]


@dataclass(frozen=True)
class CoreRates:
    """One core between two readings."""

    core: int
    busy: float | None
    """Share of the time, 0 to 1; None where no tick passed."""
    steal: float | None
    interrupts_s: float
    """A second."""
    mhz: float | None


def read_cores(at_s: float, root: Path = ROOT) -> CoresSnapshot:
    """Read the counters; no cores where the kernel does not tell."""
    interrupts = interrupts_of_cpus(_read(root / "proc/interrupts"))
    ticks = cpu_ticks(_read(root / "proc/stat"))
    cores = {core: CoreReading(times, interrupts.get(core, 0), _mhz(core, root)) for core, times in ticks.items()}
    return CoresSnapshot(at_s, cores)


def rates(before: CoresSnapshot, after: CoresSnapshot) -> tuple[CoreRates, ...]:
    """What passed between two readings, core by core; those that are in both."""
    seconds = max(after.at_s - before.at_s, 1e-9)
    return tuple(
        _rate(core, before.cores[core], now, seconds) for core, now in after.cores.items() if core in before.cores
    )


def _rate(core: int, before: CoreReading, after: CoreReading, seconds: float) -> CoreRates:
    counts = zip(CPU_FIELDS, before.ticks, after.ticks, strict=False)  # guest time after them is part of user
    passed = {field: max(late - early, 0) for field, early, late in counts}
    total, idle = sum(passed.values()), passed.get("idle", 0) + passed.get("iowait", 0)
    return CoreRates(
        core=core,
        busy=(total - idle) / total if total else None,
        steal=passed.get("steal", 0) / total if total else None,
        interrupts_s=max(after.interrupts - before.interrupts, 0) / seconds,
        mhz=after.mhz,
    )


def _mhz(core: int, root: Path) -> float | None:
    khz = _read(root / f"sys/devices/system/cpu/cpu{core}/cpufreq/scaling_cur_freq").strip()
    return int(khz) / 1000 if khz.isdigit() else None


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # not there, or not for us: then it is not shown
        return b""


NUMBERS = 40
"""Cells of the numbers beside the bar."""


@dataclass(frozen=True, eq=False)
class CoresPage(TextFigure):
    """One line a core, from that line on which the page is called after."""

    rates: tuple[CoreRates, ...]
    name: str = "0"
    """The first line, from 0."""

    def draw(self, canvas: TextCanvas, window: AxisWindow | None = None, cursor: float | None = None) -> Picture:
        """Draw the lines below their header."""
        bar, marks = max(canvas.width - NUMBERS, 4), canvas.marks
        columns = f"{'core':>5} {'busy':>6} {'steal':>6} {'irq/s':>9} {'MHz':>6}"
        canvas.write(0, 0, f"{columns}  {marks.bar} busy {marks.slow_bar} stolen", "faint")
        first = int(self.name)
        for row, core in enumerate(self.rates[first : first + max(canvas.height - 1, 0)], 1):
            canvas.write(row, 0, _numbers(core))
            busy, steal = round((core.busy or 0.0) * bar), round((core.steal or 0.0) * bar)
            canvas.write(row, NUMBERS - 2, marks.bar * (busy - steal), "fast")
            canvas.write(row, NUMBERS - 2 + max(busy - steal, 0), marks.slow_bar * steal, "slow")
        return Picture(canvas)


def cores_pages(found: tuple[CoreRates, ...], known: bool) -> tuple[TextFigure, ...]:
    """Give the cores from each line on; `known`: the kernel tells about its cores."""
    if not found:
        return (Sentence("Reading the cores." if known else NOT_LINUX),)
    return tuple(CoresPage(found, str(first)) for first in range(len(found)))


def _numbers(core: CoreRates) -> str:
    mhz = "-" if core.mhz is None else f"{core.mhz:.0f}"
    return f"{core.core:>5} {_share(core.busy):>6} {_share(core.steal):>6} {core.interrupts_s:>9.0f} {mhz:>6}"


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"
