"""The probe of the layer `frequency`: the clock of the CPUs over a run, what governs it, how deep idle CPUs sleep."""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path

from ...knowledge.errors import VgoError
from ..schema import Layer, Value
from .base import Probe
from .clock import CLOCK_COLUMNS, ClockProbe, clocks
from .effective import EFFECTIVE, Effective
from .idle import IDLE_COLUMNS, Idle
from .parts import Missing, Parts
from .sysfs import SysfsFiles, cpu_numbers, number, read_once

CPUS = "sys/devices/system/cpu"
TEXTS = {
    "freq.driver": "scaling_driver",
    "freq.governor": "scaling_governor",
    "freq.energy_preference": "energy_performance_preference",
}
LIMITS = {"freq.lowest_mhz": "scaling_min_freq", "freq.highest_mhz": "scaling_max_freq"}
TURBO = {"intel_pstate/no_turbo": b"0", "cpufreq/boost": b"1"}
"""File, and what it says when the processor may go above its nominal clock."""


class FrequencyProbe(Parts):
    """Reads the clock, its settings and the idle states of the CPUs that the run may use."""

    def __init__(self, layer: Layer, root: Path) -> None:
        wanted = {column.name for column in layer.columns}
        cpus = chosen_cpus(root, layer.parameters.get("cpus", "allowed"))
        parts: list[Probe] = []
        if wanted & set(IDLE_COLUMNS):
            parts.append(Idle(root, cpus))
        if wanted & {*TEXTS, *LIMITS, "freq.turbo"}:
            parts.append(FrequencySettingsProbe(root, cpus))
        if wanted & set(CLOCK_COLUMNS):
            interval_s = float(layer.parameters.get("interval_ms", 100)) / 1000
            each = bool(layer.parameters.get("per_cpu", False))
            found = clocks(root, cpus)
            parts.append(
                Missing(CLOCK_COLUMNS, found) if isinstance(found, str) else ClockProbe(found, interval_s, each)
            )
        if EFFECTIVE in wanted:
            parts.append(Effective(root))
        super().__init__(layer, parts)


class FrequencySettingsProbe(Probe):
    """What governs the clock; read again for each run, for a mitigation may change it."""

    def __init__(self, root: Path, cpus: Iterable[int]) -> None:
        """Open one set of files for each clock that the CPUs have; one file where all say the same now."""
        folders = sorted({(root / CPUS / f"cpu{cpu}/cpufreq").resolve() for cpu in cpus})
        self._files = {column: self._keep(watched(name, folders)) for column, name in (TEXTS | LIMITS).items()}
        self._turbo = self._keep(SysfsFiles(root / CPUS / path for path in TURBO))
        missing = {*self._files, "freq.turbo"} - set(self.values())
        self._absent = {column: why_unset(column, folders) for column in missing}

    def values(self) -> dict[str, Value]:
        """Read them: `mixed`, or the mean, where the CPUs differ."""
        values: dict[str, Value] = {}
        for column, files in self._files.items():
            read = files.read()
            said = [line for line in read if line is not None]
            if said and len(said) == len(read):
                values[column] = one_word(said) if column in TEXTS else mean_mhz(said)
        for on, switch in zip(TURBO.values(), self._turbo.read(), strict=True):
            if switch is not None:
                values["freq.turbo"] = float(switch.strip() == on)
        return values


def watched(name: str, folders: Sequence[Path]) -> SysfsFiles:
    """Open a setting of all CPUs, or of the first alone: what changes it changes it on all, and they may be many."""
    paths = [folder / name for folder in folders]
    alike = len({read_once(str(path)) for path in paths}) == 1
    return SysfsFiles(paths[:1] if alike else paths)


def one_word(said: Sequence[bytes]) -> str:
    """Return what all of them say."""
    words = {line.strip().decode(errors="replace") for line in said}
    return words.pop() if len(words) == 1 else "mixed"


def mean_mhz(said: Sequence[bytes]) -> float:
    """Return the mean of frequencies in kHz as MHz."""
    return statistics.fmean(number(line) or 0.0 for line in said) / 1000


def why_unset(column: str, folders: Sequence[Path]) -> str:
    """Say why a setting is not there."""
    if not any(folder.is_dir() for folder in folders):
        return (
            f"there is no CPU frequency control (/{CPUS}/cpu*/cpufreq), as in most virtual machines and containers: "
            "run on bare metal, or name the host's mount with --root"
        )
    name = (TEXTS | LIMITS).get(column) or " or ".join(TURBO)
    return f"the driver of this processor has no {name}: another cpufreq driver may have it"


def chosen_cpus(root: Path, said: str | float | bool) -> list[int]:
    """Return the CPUs to watch: `allowed` (to this process), `all`, or a list as `0-3,8`."""
    there = {int(path.name[3:]) for path in (root / CPUS).glob("cpu[0-9]*")}
    if said == "all":
        return sorted(there)
    if said == "allowed":
        return sorted(there & os.sched_getaffinity(0))
    try:
        asked = cpu_numbers(said if isinstance(said, str) else f"{said:g}")
    except ValueError as error:
        raise VgoError(
            f"frequency:cpus={said} is no list of CPUs: give allowed, all, or a list such as 0-3,8."
        ) from error
    if not asked <= there:
        raise VgoError(f"frequency:cpus={said} names CPUs that are not there: there are {len(there)}, from 0 on.")
    return sorted(asked)
