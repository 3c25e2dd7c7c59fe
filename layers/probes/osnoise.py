"""The probe `osnoise`: what the kernel's own noise detector saw on each CPU during a run, by cause."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ..schema import Layer
from .base import LayerProbe

TRACING = "sys/kernel/tracing"
INSTANCE = "instances/vgo_agent"
"""A trace buffer of our own, so that nobody else's tracing is disturbed."""
LINE = re.compile(
    r"\[\d+\][^:]*?\s(\d+\.\d+):\s+(\d+)\s+(\d+)\s+[\d.]+\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s*$"
)
"""[CPU] flags TIMESTAMP: RUNTIME NOISE %AVAILABLE MAX-SINGLE HW NMI IRQ SIRQ THREAD (osnoise-tracer.rst)."""
CAUSES = ("hw", "nmi", "irq", "softirq", "thread")


class Period(NamedTuple):
    """One line: what a CPU lost in one period of sampling, in microseconds and occurrences."""

    end_s: float
    runtime_us: int
    noise_us: int
    most_us: int
    causes: tuple[int, ...]


class OsnoiseProbe(LayerProbe):
    """Switches the tracer on for the session; each CPU samples itself for a part of each period."""

    def __init__(self, layer: Layer, root: Path) -> None:
        """Start the tracer; where it cannot be, every column is absent."""
        super().__init__(layer)
        self._folder = root / TRACING
        self._began_s = self._ended_s = 0.0
        if reason := hindrance(self._folder):
            self._lack(reason)
            return
        try:
            self._start(*(f"{layer.parameters[name]:.0f}" for name in ("runtime_us", "period_us")))
        except OSError as error:
            self.close()
            self._lack(f"the osnoise tracer cannot be started ({error.strerror}): run as root, and end other tracers")

    def before(self) -> None:
        """Note the time, in the clock of the trace."""
        self._began_s = time.monotonic()

    def after(self) -> None:
        self._ended_s = time.monotonic()

    def values(self) -> dict[str, float]:
        """Sum up the periods that ended during the run; nothing for a run shorter than a period."""
        if self._absent:
            return {}
        try:
            text = (self._folder / INSTANCE / "trace").read_text()
            (self._folder / INSTANCE / "trace").write_text("")
        except OSError as error:
            self._lack(f"the trace cannot be read any more ({error.strerror}): look at {self._folder / INSTANCE}")
            return {}
        return summed([period for period in periods(text) if self._began_s < period.end_s <= self._ended_s])

    def _start(self, runtime_us: str, period_us: str) -> None:
        """Switch the tracer on; `close` puts everything back."""
        instance = self._folder / INSTANCE
        with suppress(FileExistsError):
            instance.mkdir()
            self._closing.callback(remove, instance)
        # The kernel refuses a runtime above the period, so the old period goes first when both are put back.
        for name, text in (("runtime_us", runtime_us), ("period_us", period_us)):
            file = self._folder / "osnoise" / name
            self._closing.callback(file.write_text, file.read_text().strip())
            file.write_text(text)
        (instance / "trace_clock").write_text("mono")
        self._closing.callback((instance / "current_tracer").write_text, "nop")
        (instance / "current_tracer").write_text("osnoise")


def hindrance(folder: Path) -> str:
    """Say why there is no osnoise tracer, and the cure; empty where there is one."""
    try:
        tracers = (folder / "available_tracers").read_text().split()
    except OSError as error:
        return f"tracefs cannot be read ({error.strerror}): as root, mount -t tracefs nodev /sys/kernel/tracing"
    return "" if "osnoise" in tracers else "this kernel has no osnoise tracer: it needs CONFIG_OSNOISE_TRACER"


def periods(text: str) -> Iterator[Period]:
    """Read a trace, oldest line first."""
    for line in text.splitlines():
        if match := LINE.search(line):
            end, *numbers = match.groups()
            runtime, noise, most, *causes = map(int, numbers)
            yield Period(float(end), runtime, noise, most, tuple(causes))


def summed(found: list[Period]) -> dict[str, float]:
    """Return the columns of the periods of one run, all CPUs together."""
    if not found:
        return {}
    values = {
        "osnoise.share": sum(period.noise_us for period in found) / sum(period.runtime_us for period in found),
        "osnoise.max_us": float(max(period.most_us for period in found)),
    }
    counts = zip(*(period.causes for period in found), strict=True)
    return values | {f"osnoise.{cause}": float(sum(count)) for cause, count in zip(CAUSES, counts, strict=True)}


def remove(instance: Path) -> None:
    """Take the trace buffer down; the kernel removes the files in it."""
    with suppress(OSError):
        os.rmdir(instance)
