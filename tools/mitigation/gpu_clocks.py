"""Watch the clocks of GPUs while a program runs: a lock that power or heat overrides does not hold."""

from __future__ import annotations

import statistics
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

from ...knowledge.actions import Gpu
from ...knowledge.errors import VgoError
from ...layers.probes.nvidia import REASONS, reasons
from ..execution.launch import Launch
from .gpu_values import BASE, GpuGone, GpuValues, gpu_values, untold, visible
from .journal import Journal, new_entry
from .kernel_file import GPU, SavedKnob
from .kernel_settings import KernelSetting
from .settings import MitigationKnobs, closed_at_the_end, saved_knobs
from .verification import Check, Starts

STEP_MHZ = 15.0
"""Clocks of NVIDIA's GPUs come in steps of 7.5 or 15 MHz, so that a lock is rounded by up to that."""
HELD = 0.9
"""So large a share of the samples at the locked clock is a lock that holds: the first may fall into the way up."""
_PAUSE_S = 0.01
_CLOCKS = {"graphics_clock": "NVML_CLOCK_SM", "memory_clock": "NVML_CLOCK_MEM"}
_HOLD_DOWN = tuple(name for name in REASONS if name not in ("idle", "app_clocks", "display", "sync_boost"))
NVML_CLOCK_GRAPHICS, NVML_CLOCK_MEM = 0, 2
"""Of nvmlClockType_t."""
MOST_RUNS = 3
"""So often is a program run until its GPU has been seen busy."""


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


class GpuSettings(MitigationKnobs):
    """The GPU part of one mitigation."""

    maker = "driver"
    culprits = "nvidia-smi? a job scheduler?"

    def on(self) -> tuple[Check, ...]:
        """Set the values and read each back (level 1), with NVML open all the time."""
        with gpu_values().opened():
            return super().on()

    def off(self) -> tuple[Check, ...]:
        """Put the old values back and check them (level 1)."""
        with gpu_values().opened():
            return super().off()

    def prove(self, launch: Launch, spawner: Starts, timeout_s: float | None = None) -> tuple[Check, ...]:
        """Run the program, outside the data, and look at the locked clocks meanwhile (level 2); the knobs must be on.

        NVML does not say what is locked, and a lock that power or heat overrides does not hold.
        """
        locked = [path for path in self._knobs if untold(path)]
        if not locked:
            return ()
        for _ in range(MOST_RUNS):
            seen = watch(gpu_values(), locked, lambda: spawner.run(launch, timeout_s=timeout_s))
            if all(one.busy or one.lost for one in seen.values()):
                break
        return tuple(_held(path, self._knobs[path].value, one) for path, one in seen.items())

    def close(self) -> None:
        """Put everything back, and say what cannot be known."""
        super().close()
        if self._touched:
            unlocked = "unlocked now; NVML does not tell whether it was locked before"
            self.notices += (f"{path}: {unlocked}" for path in self._knobs if untold(path))

    def _write(self, group: SavedKnob) -> None:
        """Also where it is so already: what is set here is held against the driver, which forgets."""
        self._files.write(group.path, self._knobs[group.path].value)


def gpu_switchable(
    mitigation: str, action: Gpu, environment: Mapping[str, str], journal: Journal
) -> AbstractContextManager[GpuSettings]:
    """Journal the old values, and put them back at the end whatever happens; the caller holds the journal's lock."""
    values = gpu_values()
    knobs = [KernelSetting(path, value) for path, value in gpu_knobs(action, environment).items()]
    with values.opened():
        saved = saved_knobs(knobs, values)
    return closed_at_the_end(GpuSettings(knobs, new_entry(f"{mitigation}-gpu", saved, Path("/")), journal, values))


def gpu_knobs(action: Gpu, environment: Mapping[str, str]) -> dict[str, str]:
    """Find the value of each knob of each GPU that a program with this environment may use, by path.

    Persistence comes first, and goes last, for it keeps what comes after.
    """
    values = gpu_values()
    with values.opened():
        knobs = {
            f"{GPU}{uuid}/{name}": value
            for uuid in visible(values.models(), environment)
            for name, value in _asked(values, uuid, action)
        }
    for path in filter(untold, knobs):
        values.take_as_unlocked(path)
    return knobs


def _held(path: str, asked: str, seen: GpuClockHistory) -> Check:
    most = int(asked.partition("-")[2] or 0)
    mhz = int(asked) if asked.isdigit() else None
    return Check(
        level=2,
        what=f"{path.removeprefix(GPU).replace('_', ' ')} while the program ran",
        expected=f"at most {most} MHz" if most else f"{mhz} MHz" if mhz else "one clock",
        seen=seen.said,
        passed=seen.held_below(most) if most else seen.held(mhz),
    )


def _asked(values: GpuValues, uuid: str, action: Gpu) -> Iterator[tuple[str, str]]:
    if action.persistence:
        yield "persistence", "1"
    if action.exclusive:
        yield "compute_mode", "exclusive_process"
    if action.power_limit:
        yield "power_limit_mw", str(values.query(uuid, "nvmlDeviceGetPowerManagementLimitConstraints")[1])
    if action.lock_clocks:
        yield "graphics_clock", BASE if action.lock_clocks == "base" else _highest(values, uuid, NVML_CLOCK_GRAPHICS)
    if action.clock_cap_mhz:
        yield "graphics_clock", capped(values, uuid, action.clock_cap_mhz)
    if action.lock_memory_clock:
        yield "memory_clock", _highest(values, uuid, NVML_CLOCK_MEM)
    if action.fan_percent is not None:
        yield from ((f"fan{fan}", str(action.fan_percent)) for fan in _fans(values, uuid))


def _highest(values: GpuValues, uuid: str, clock: int) -> str:
    return str(values.query(uuid, "nvmlDeviceGetMaxClockInfo", clock))


def _fans(values: GpuValues, uuid: str) -> range:
    fans: int = values.query(uuid, "nvmlDeviceGetNumFans")
    if not fans:
        raise VgoError(f"{uuid} has no fan of its own: those of its chassis are set by the board's controller.")
    return range(fans)
