"""The clock of the CPUs, sampled over a run: over all of them, and of the one on which the program is."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from .base import Open
from .machine import KernelFile
from .sampler import SamplingProbe
from .sysfs import SysfsFiles, last_cpu, number, read_once, text_of

ALL = ("freq.mean_mhz", "freq.min_mhz", "freq.max_mhz", "freq.sd_mhz")
OF_RUN = ("freq.run_cpu_mhz", "freq.run_cpu_min_mhz", "freq.run_cpu_sd_mhz")
CLOCK_COLUMNS = ("freq.start_mhz", *ALL, *OF_RUN, "freq.cpu*.mhz")


class Clocks(Open, Protocol):
    """Where the clock of each CPU is read."""

    def read(self) -> Any:
        """Return raw text, for `mhz`."""

    def mhz(self, raw: Any) -> dict[int, float]:
        """Return MHz by CPU, without those that could not be read."""


class Cpufreq(SysfsFiles):
    """`scaling_cur_freq` of each CPU; CPUs that share a clock are read once."""

    def __init__(self, root: Path, cpus: Iterable[int]) -> None:
        policies: dict[Path, list[int]] = {}
        for cpu in cpus:
            file = root / f"sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq"
            if file.exists():
                policies.setdefault(file.parent.resolve() / file.name, []).append(cpu)
        self._cpus = list(policies.values())
        super().__init__(policies)

    def mhz(self, raw: Sequence[bytes | None]) -> dict[int, float]:
        found = zip(self._cpus, map(number, raw), strict=True)
        return {cpu: khz / 1000 for cpus, khz in found if khz is not None for cpu in cpus}


class Cpuinfo(KernelFile):
    """The `cpu MHz` lines of /proc/cpuinfo."""

    def __init__(self, root: Path, cpus: Iterable[int]) -> None:
        self._cpus = set(cpus)
        super().__init__(root / "proc/cpuinfo")

    def mhz(self, raw: bytes | None) -> dict[int, float]:
        found: dict[int, float] = {}
        cpu = -1
        for line in (raw or b"").splitlines():
            if line.startswith(b"processor"):
                cpu = int(line.rpartition(b":")[2])
            elif line.startswith(b"cpu MHz") and cpu in self._cpus:
                found[cpu] = float(line.rpartition(b":")[2])
        return found


def clocks(root: Path, cpus: Sequence[int]) -> Clocks | str:
    """Find where the clock of these CPUs is read; the reason and the cure where it is nowhere."""
    cpufreq = Cpufreq(root, cpus)
    if cpufreq.mhz(cpufreq.read()):
        return cpufreq
    cpufreq.close()
    reason = "there is no CPU frequency control (/sys/devices/system/cpu/cpu*/cpufreq/scaling_cur_freq)"
    # Without these counters `cpu MHz` is the nominal clock, whatever the real one.
    if "aperfmperf" in text_of(root / "proc/cpuinfo").split():
        cpuinfo = Cpuinfo(root, cpus)
        if cpuinfo.mhz(cpuinfo.read()):
            return cpuinfo
        cpuinfo.close()
    return (
        f"{reason}, and /proc/cpuinfo knows only a nominal clock, as in most virtual machines and containers: "
        "run on bare metal, or name the host's mount with --root"
    )


class ClockReading(NamedTuple):
    """What one sample found."""

    pid: int
    raw: Any
    stat: bytes | None
    """/proc/PID/stat of the run."""


class ClockProbe(SamplingProbe[ClockReading]):
    """Samples the clock."""

    def __init__(self, source: Clocks, interval_s: float, each: bool) -> None:
        """`each` gives one column for each CPU too."""
        self._source = self._keep(source)
        self._each = each
        self._cpus = self._source.mhz(self._source.read()).keys()
        if not each:
            off = "columns of single CPUs are off: ask for them with --layer frequency:per_cpu=true"
            self._absent = {"freq.cpu*.mhz": off}
        super().__init__(interval_s)

    def read(self, pid: int) -> ClockReading:
        """Read the clocks, and where the run is: a process of this machine, whatever the root."""
        return ClockReading(pid, self._source.read(), read_once(f"/proc/{pid}/stat") if pid else None)

    def values(self) -> dict[str, float]:
        """Return means and extremes; no SD where there was but one reading.

        Of all CPUs only those samples count that have each of them: the mean of those that are left is another one.
        """
        taken = [(reading, self._source.mhz(reading.raw)) for _, reading in self.samples()]
        during = [(reading, mhz) for reading, mhz in taken if reading.pid != 0]
        whole = [(reading.pid, mhz) for reading, mhz in taken if mhz.keys() == self._cpus]
        # What was read before the program began is the clock of a machine that waits for it.
        start = [frequency for pid, mhz in whole if pid == 0 for frequency in mhz.values()]
        values = {"freq.start_mhz": statistics.fmean(start)} if start else {}
        if every := [mhz for pid, mhz in whole if pid != 0]:
            means = [statistics.fmean(mhz.values()) for mhz in every]
            lowest, highest = min(min(mhz.values()) for mhz in every), max(max(mhz.values()) for mhz in every)
            values |= spread(("freq.mean_mhz", "freq.sd_mhz"), means)
            values |= {"freq.min_mhz": lowest, "freq.max_mhz": highest}
        values |= self._each_cpu([mhz for _, mhz in during]) if self._each else {}
        # The run may be on a CPU that is not watched.
        here = [mhz[cpu] for reading, mhz in during if (cpu := last_cpu(reading.stat)) in mhz]
        if here:
            values |= spread(("freq.run_cpu_mhz", "freq.run_cpu_sd_mhz"), here)
            values["freq.run_cpu_min_mhz"] = min(here)
        return values

    @staticmethod
    def _each_cpu(every: Sequence[Mapping[int, float]]) -> dict[str, float]:
        cpus = set().union(*every)
        return {f"freq.cpu{cpu}.mhz": statistics.fmean(mhz[cpu] for mhz in every if cpu in mhz) for cpu in cpus}


def spread(names: tuple[str, str], mhz: Sequence[float]) -> dict[str, float]:
    """Return mean and SD under two names; one reading has no SD."""
    mean, sd = names
    return {mean: statistics.fmean(mhz)} | ({sd: statistics.stdev(mhz)} if len(mhz) > 1 else {})
