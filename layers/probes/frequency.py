"""The probe of the layer `frequency`: the clock of the CPUs over a run, what governs it, how deep idle CPUs sleep."""

from __future__ import annotations

import math
import os
import statistics
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ...knowledge.errors import VgoError
from ..schema import Column, Layer, Value
from .base import Missing, Parts, Probe, TwoReadings
from .clock import CLOCK_COLUMNS, ClockProbe, clocks
from .perf_events import PerfEvents
from .sysfs import SysfsFiles, cpu_numbers, grown, name_of, number, read_once, text_of

IDLE_COLUMNS = ("idle.*.share", "idle.*.entries", "idle.*.latency_us", "idle.*.disabled", "idle.entries")
ABSENT = (
    "the CPUs have no idle states (/sys/devices/system/cpu/cpu*/cpuidle): "
    "boot a kernel with CONFIG_CPU_IDLE, without idle=poll and cpuidle.off=1"
)


class Idle(TwoReadings[tuple[float, list[bytes | None]]]):
    """Differences of time and usage of each state, summed over the CPUs."""

    def __init__(self, root: Path, cpus: Sequence[int]) -> None:
        folders = [
            folder
            for cpu in cpus
            for folder in sorted((root / f"sys/devices/system/cpu/cpu{cpu}/cpuidle").glob("state[0-9]*"))
        ]
        self._states = [name_of(text_of(folder / "name")) for folder in folders]
        self._cpus = len({folder.parent for folder in folders})
        self._counts = self._keep(SysfsFiles(folder / name for folder in folders for name in ("time", "usage")))
        self._switches = self._keep(SysfsFiles(folder / name for folder in folders for name in ("latency", "disable")))
        self._was = self._now = self._read()
        if not folders:
            self._absent = dict.fromkeys(IDLE_COLUMNS, ABSENT)

    def values(self) -> dict[str, float]:
        """Return the share of the CPUs' time in each state, entries, and the settings of the states."""
        (was_s, was), (now_s, now) = self._was, self._now
        changes = [grown(before, after) for before, after in zip(was, now, strict=True)]
        times, entries = self._by_state(changes[0::2]), self._by_state(changes[1::2])
        settings = [number(said) for said in self._switches.read()]
        latencies, disabled = self._by_state(settings[0::2]), self._by_state(settings[1::2])
        values = {f"idle.{state}.share": us / (1e6 * (now_s - was_s) * self._cpus) for state, us in times.items()}
        values |= {f"idle.{state}.entries": count for state, count in entries.items()}
        values |= {f"idle.{state}.latency_us": us / self._having(state) for state, us in latencies.items()}
        values |= {f"idle.{state}.disabled": count / self._having(state) for state, count in disabled.items()}
        if entries and len(entries) == len(set(self._states)):
            values["idle.entries"] = sum(entries.values())
        return values

    def _read(self) -> tuple[float, list[bytes | None]]:
        return time.monotonic(), self._counts.read()

    def _by_state(self, found: Sequence[float | None]) -> dict[str, float]:
        """Sum over the CPUs; without a state that one of them does not tell: a CPU was switched off or on."""
        sums: dict[str, float] = {}
        for state, value in zip(self._states, found, strict=True):
            sums[state] = sums.get(state, 0.0) + (math.nan if value is None else value)
        return {state: total for state, total in sums.items() if not math.isnan(total)}

    def _having(self, state: str) -> int:
        return self._states.count(state)


EFFECTIVE = "freq.effective_mhz"
BOOST = "msr/aperf/ / msr/mperf/"
"""APERF counts cycles, MPERF what they would be at the nominal clock."""
NOMINAL = "msr/tsc/ / task-clock"
"""The nominal clock, per unit of task-clock: ns."""


class Effective(PerfEvents):
    """Follows the program and its descendants, over exactly the time that they run."""

    def __init__(self, root: Path, boost: str = BOOST) -> None:
        reads = {"boost": boost, "nominal": NOMINAL}
        columns = [Column(name=name, description="", unit="", read=read) for name, read in reads.items()]
        super().__init__(columns, root)

    def values(self) -> dict[str, float]:
        """Return the mean over all threads and processes of the run."""
        found = super().values()
        return {EFFECTIVE: found["boost"] * found["nominal"] * 1e3} if len(found) == 2 else {}

    def absent(self) -> Mapping[str, str]:
        for reason in super().absent().values():
            why = reason.partition(":")[0]
            return {
                EFFECTIVE: f"the processor's counts of its cycles are not shown ({why}): run on bare metal, as root"
            }
        return {}


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
            if not said or len(said) != len(read):
                continue
            if column in TEXTS:
                words = {line.strip().decode(errors="replace") for line in said}
                values[column] = words.pop() if len(words) == 1 else "mixed"
            else:
                values[column] = statistics.fmean(number(line) or 0.0 for line in said) / 1000
        for on, switch in zip(TURBO.values(), self._turbo.read(), strict=True):
            if switch is not None:
                values["freq.turbo"] = float(switch.strip() == on)
        return values


def watched(name: str, folders: Sequence[Path]) -> SysfsFiles:
    """Open a setting of all CPUs, or of the first alone: what changes it changes it on all, and they may be many."""
    paths = [folder / name for folder in folders]
    alike = len({read_once(str(path)) for path in paths}) == 1
    return SysfsFiles(paths[:1] if alike else paths)


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
