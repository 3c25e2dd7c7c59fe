"""Settings of the GPUs that the program may use: journalled, switched on and off around runs, proved, put back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from ...knowledge.actions import Gpu
from ...knowledge.errors import VgoError
from ..execution.launch import Launch
from .checks import Check
from .gpu_clocks import GpuClockHistory, capped, watch
from .gpu_values import BASE, GpuValues, gpu_values, untold, visible
from .journal import Journal, SavedKnob, new_entry
from .kernel_file import GPU
from .knobs import Knob
from .settings import MitigationKnobs, closed_at_the_end, saved_knobs
from .verification import Starts

NVML_CLOCK_GRAPHICS, NVML_CLOCK_MEM = 0, 2
"""Of nvmlClockType_t."""
MOST_RUNS = 3
"""So often is a program run until its GPU has been seen busy."""


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
            self.told += (f"{path}: {unlocked}" for path in self._knobs if untold(path))

    def _write(self, group: SavedKnob) -> None:
        """Also where it is so already: what is set here is held against the driver, which forgets."""
        self._files.write(group.path, self._knobs[group.path].value)


def gpu_switchable(
    mitigation: str, action: Gpu, environment: Mapping[str, str], journal: Journal
) -> AbstractContextManager[GpuSettings]:
    """Journal the old values, and put them back at the end whatever happens; the caller holds the journal's lock."""
    values = gpu_values()
    knobs = [Knob(path, value) for path, value in gpu_knobs(action, environment).items()]
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
