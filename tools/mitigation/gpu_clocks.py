"""Watch the clocks of GPUs while a program runs: a lock that power or heat overrides does not hold."""

from __future__ import annotations

import statistics
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...knowledge.errors import VgoError
from ...layers.probes.nvml_queries import REASONS, reasons
from .gpu_values import GpuGone, GpuValues

STEP_MHZ = 15.0
"""Clocks of NVIDIA's GPUs come in steps of 7.5 or 15 MHz, so that a lock is rounded by up to that."""
HELD = 0.9
"""So large a share of the samples at the locked clock is a lock that holds: the first may fall into the way up."""
_PAUSE_S = 0.01
_CLOCKS = {"graphics_clock": "NVML_CLOCK_SM", "memory_clock": "NVML_CLOCK_MEM"}
_HOLD_DOWN = tuple(name for name in REASONS if name not in ("idle", "app_clocks", "display", "sync_boost"))


class Sample(NamedTuple):
    """One look at a GPU."""

    mhz: float
    reasons: frozenset[str]
    """Why the clock is not higher."""


class GpuClockHistory(NamedTuple):
    """What one clock did."""

    samples: Sequence[Sample]
    lost: str = ""
    """Why the GPU could no longer be asked."""

    @property
    def busy(self) -> list[Sample]:
        """The samples in which the GPU had work."""
        return [sample for sample in self.samples if "idle" not in sample.reasons]

    def held(self, mhz: float | None) -> bool:
        """Tell whether it stayed at `mhz`, or, where None, at one clock."""
        if self.lost or not self.busy:
            return False
        clocks = [sample.mhz for sample in self.busy]
        wanted = statistics.median(clocks) if mhz is None else mhz
        return sum(abs(clock - wanted) <= STEP_MHZ for clock in clocks) >= HELD * len(clocks)

    def held_below(self, mhz: float) -> bool:
        """Tell whether it went no higher than `mhz`, which a step below the highest clock tells from no cap at all."""
        if self.lost or not self.busy:
            return False
        return sum(sample.mhz < mhz + STEP_MHZ / 2 for sample in self.busy) >= HELD * len(self.busy)

    @property
    def said(self) -> str:
        """Say it in words."""
        if self.lost or not self.busy:
            return self.lost or "the GPU had no work while the program ran"
        clocks = [sample.mhz for sample in self.busy]
        spread = f"{min(clocks):g} to {max(clocks):g} MHz" if min(clocks) < max(clocks) else f"{min(clocks):g} MHz"
        shares = {name: statistics.fmean(name in sample.reasons for sample in self.busy) for name in _HOLD_DOWN}
        held_down = [f"{name} in {share:.0%}" for name, share in shares.items() if share]
        return f"{spread}, held down by {', '.join(held_down)} of the samples" if held_down else spread


def capped(values: GpuValues, uuid: str, cap: str) -> str:
    """Give the lowest and the highest clock that a cap leaves, `345-1410`; `max-2` counts from the highest down.

    VgoError where the GPU does not list it, with the clocks that it has near it.
    """
    memory = max(values.query(uuid, "nvmlDeviceGetSupportedMemoryClocks"))
    listed = sorted(values.query(uuid, "nvmlDeviceGetSupportedGraphicsClocks", memory))
    if not listed:
        raise VgoError(f"{uuid} lists no clocks, so that none can be its cap: leave the mitigation out.")
    below = int(cap.partition("-")[2] or 0)
    mhz = listed[max(0, len(listed) - 1 - below)] if cap.startswith("max") else int(cap)
    if mhz not in listed:
        near = sorted(sorted(listed, key=lambda one: abs(one - mhz))[:2])
        raise VgoError(f"{uuid} has no clock of {mhz} MHz: choose {' or '.join(map(str, near))}.")
    return f"{listed[0]}-{mhz}"


def watch(values: GpuValues, paths: Sequence[str], run: Callable[[], object]) -> dict[str, GpuClockHistory]:
    """Sample the clocks named by the paths of their knobs from a thread, as long as `run` takes."""
    ended = threading.Event()
    samples: dict[str, list[Sample]] = {path: [] for path in paths}
    lost: dict[str, str] = {}

    def look() -> None:
        while len(lost) < len(paths) and not ended.wait(_PAUSE_S):
            for path in paths:
                try:
                    samples[path].append(_sample(values, path))
                except GpuGone as gone:
                    lost[path] = str(gone)

    thread = threading.Thread(target=look, daemon=True)
    with values.opened():
        thread.start()
        try:
            run()
        finally:
            ended.set()
            thread.join()
    return {path: GpuClockHistory(samples[path], lost.get(path, "")) for path in paths}


def _sample(values: GpuValues, path: str) -> Sample:
    clock = _CLOCKS[path.rpartition("/")[2]]

    def ask(nvml: Any, gpu: Any) -> Sample:
        why = frozenset(name.removeprefix("limit.") for name, set_ in reasons(nvml, gpu).items() if set_)
        return Sample(float(nvml.nvmlDeviceGetClockInfo(gpu, getattr(nvml, clock))), why)

    sample: Sample = values.ask(path, ask, "watching its clock")
    return sample
