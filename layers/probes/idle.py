"""Idle states of the CPUs (cpuidle): how long and how often they were in each of them during a run."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from pathlib import Path

from .base import TwoReadings
from .sysfs import SysfsFiles, grown, name_of, number, text_of

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
