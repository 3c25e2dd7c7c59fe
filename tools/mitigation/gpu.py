"""Settings of the GPUs that the program may use: journalled, switched on and off around runs, proved, put back."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from ...knowledge.actions import Gpu
from ...knowledge.errors import VgoError
from ..execution.launch import Launch
from ..stop import held
from .checks import Check
from .gpu_clocks import GpuClockHistory, capped, watch
from .gpu_values import BASE, GpuValues, gpu_values, untold, visible
from .journal import Journal, JournalEntry, SavedKnob, new_entry, put_back
from .kernel_file import GPU
from .switching import changed_meanwhile, checked, unset
from .verification import Starts

NVML_CLOCK_GRAPHICS, NVML_CLOCK_MEM = 0, 2
"""Of nvmlClockType_t."""
CULPRITS = "nvidia-smi? a job scheduler?"
MOST_RUNS = 3
"""So often is a program run until its GPU has been seen busy."""


class GpuSettings:
    """The GPU part of one mitigation; its entry stands in the journal as long as this lives."""

    def __init__(self, knobs: Mapping[str, str], entry: JournalEntry, journal: Journal) -> None:
        """Change nothing yet; `knobs` gives the value asked for by path."""
        self._knobs = knobs
        self._entry = entry
        self._journal = journal
        self._values = gpu_values()
        self._touched = False
        self.told: list[str] = []
        """What a user should hear."""

    def on(self) -> tuple[Check, ...]:
        """Set the values and read each back (level 1); a knob that someone else changed is left alone and told."""
        self._touched = True
        with self._values.opened():
            for group in self._entry.groups:
                self._write(group)
            if not self._entry.applied:
                self._confirm()
            return tuple(self._check(group) for group in self._entry.groups)

    def off(self) -> tuple[Check, ...]:
        """Put the old values back and check them (level 1)."""
        with self._values.opened():
            return tuple(self._unset(group) for group in reversed(self._entry.groups))

    def prove(self, launch: Launch, spawner: Starts, timeout_s: float | None = None) -> tuple[Check, ...]:
        """Run the program, outside the data, and look at the locked clocks meanwhile (level 2); the knobs must be on.

        NVML does not say what is locked, and a lock that power or heat overrides does not hold.
        """
        locked = [path for path in self._knobs if untold(path)]
        if not locked:
            return ()
        for _ in range(MOST_RUNS):
            seen = watch(self._values, locked, lambda: spawner.run(launch, timeout_s=timeout_s))
            if all(one.busy or one.lost for one in seen.values()):
                break
        return tuple(_held(path, self._knobs[path], one) for path, one in seen.items())

    def close(self) -> None:
        """Put everything back, and only then forget it."""
        if self._touched:
            self.told += (returned.said for returned in put_back(self._entry) if returned.foreign)
            self.told += (
                f"{path}: unlocked now; NVML does not tell whether it was locked before"
                for path in self._knobs
                if untold(path)
            )
        self._journal.remove(self._entry)

    def _write(self, group: SavedKnob) -> None:
        now = self._values.read(group.path)
        if now == group.saved[group.path]:
            self._values.write(group.path, self._knobs[group.path])
        elif self._entry.applied and now != group.wanted:
            raise changed_meanwhile(group, now, CULPRITS)

    def _confirm(self) -> None:
        """Journal what the GPU made of the values: from now on any other one is someone else's."""
        groups = tuple(
            group.model_copy(update={"wanted": self._values.read(group.path)}) for group in self._entry.groups
        )
        self._entry = self._entry.model_copy(update={"groups": groups, "applied": True})
        self._journal.record(self._entry)

    def _check(self, group: SavedKnob) -> Check:
        return checked(self._values, group, self._knobs[group.path], CULPRITS)

    def _unset(self, group: SavedKnob) -> Check:
        return unset(self._values, group, self._entry.applied, self._touched, CULPRITS)


@contextlib.contextmanager
def gpu_switchable(
    mitigation: str, action: Gpu, environment: Mapping[str, str], journal: Journal
) -> Iterator[GpuSettings]:
    """Journal the old values, and put them back at the end whatever happens; the caller holds the journal's lock."""
    values = gpu_values()
    knobs = gpu_knobs(action, environment)
    with values.opened():
        saved = {path: values.read(path) for path in knobs}
    groups = tuple(SavedKnob(path=path, wanted=value, saved={path: saved[path]}) for path, value in knobs.items())
    entry = new_entry(f"{mitigation}-gpu", groups, Path("/"))
    journal.record(entry)
    settings = GpuSettings(knobs, entry, journal)
    try:
        yield settings
    finally:
        with held():
            settings.close()


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
    """Name each knob of one GPU with its value."""
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
