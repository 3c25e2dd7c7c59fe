"""Events of the PMUs that sysfs describes: `cpu/event=0x3c,umask=0x1/`, `uncore_imc/cas_count_read/`, `msr/tsc/`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from .perf_open import Attr
from .sysfs import cpu_numbers

DEVICES = "sys/bus/event_source/devices"
FIELDS = ("config", "config1", "config2", "config3")
CORE = ("cpu", "cpu_core", "cpu_atom", "cpu_lowpower")
"""Names of the PMUs of x86 cores; elsewhere a core's PMU is one that has a file `cpus`."""


class NoEvent(LookupError):
    """There is no such event here; says why, and the cure."""


class Pmu:
    """One folder of /sys/bus/event_source/devices."""

    def __init__(self, folder: Path) -> None:
        """Read its type; raise OSError or ValueError where it has none."""
        self.folder = folder
        self.type = int((folder / "type").read_text())

    @property
    def core(self) -> bool:
        """It counts what a CPU core does, so it can follow a task."""
        return self.folder.name in CORE or (self.folder / "cpus").exists()

    @property
    def cpus(self) -> tuple[int, ...]:
        """The CPUs on which to open what counts for a whole package; empty where events follow tasks."""
        mask = self.folder / "cpumask"
        return tuple(sorted(cpu_numbers(mask.read_text()))) if mask.exists() else ()

    def attr(self, terms: str) -> Attr:
        """Encode `event=0x3c,umask=0x1` or the name of a file in `events`."""
        words = dict.fromkeys(FIELDS, 0)
        for name, value in self._expanded(terms):
            field, bits = self._bits(name)
            words[field] |= packed(value, bits, f"{self.folder.name}/{name}")
        return Attr(self.type, *(words[field] for field in FIELDS))

    def scale(self, terms: str) -> float:
        """Return what one count of a named event stands for, in the unit of its file `.unit`."""
        file = self.folder / "events" / f"{terms}.scale"
        return float(file.read_text()) if file.is_file() else 1.0

    def _expanded(self, terms: str, named: bool = True) -> Iterator[tuple[str, int]]:
        for term in filter(None, re.split("[,;]", terms.strip())):
            name, equals, value = term.strip().partition("=")
            alias = self.folder / "events" / name
            if named and not equals and alias.is_file():
                # A name stands for terms; a `?` in them is left to be given by the terms that follow.
                yield from self._expanded(re.sub(r"[^,]*=\?,?", "", alias.read_text()), named=False)
                continue
            try:
                yield name, int(value, 0) if equals else 1
            except ValueError:
                raise NoEvent(f"{term} in {self.folder.name}/{terms}/ is not NAME=NUMBER: mend it") from None

    def _bits(self, name: str) -> tuple[str, list[int]]:
        if name in FIELDS:
            return name, list(range(64))
        file = self.folder / "format" / name
        if not file.is_file():
            known = ", ".join(
                sorted(path.name for part in ("format", "events") for path in self.folder.glob(f"{part}/*"))
            )
            raise NoEvent(f"the PMU {self.folder.name} has no {name}: name one of these: {known or 'none'}")
        field, _, ranges = file.read_text().strip().partition(":")
        return field, sorted(cpu_numbers(ranges))


def packed(value: int, bits: list[int], name: str) -> int:
    """Lay the bits of a number, the lowest first, at the given places of a word."""
    if value < 0 or value >> len(bits):
        raise NoEvent(f"{value:#x} does not fit into the {len(bits)} bits of {name}: give a smaller number")
    return sum((value >> place & 1) << bit for place, bit in enumerate(bits))


def pmus(root: Path) -> Mapping[str, Pmu]:
    """Return the PMUs of this machine by name."""
    found = {}
    for folder in sorted((root / DEVICES).glob("*")):
        try:
            found[folder.name] = Pmu(folder)
        except (OSError, ValueError):
            continue
    return found


def core_pmus(root: Path) -> list[Pmu]:
    """Return the PMUs of the cores: none in many virtual machines, two or more where cores differ."""
    return [pmu for pmu in pmus(root).values() if pmu.core]


def pmus_named(name: str, root: Path) -> list[Pmu]:
    """Return the PMU of a name, or all the numbered ones: `uncore_imc` stands for uncore_imc_0, uncore_imc_1 ..."""
    there = pmus(root)
    if name in there:
        return [there[name]]
    found = [pmu for key, pmu in there.items() if re.fullmatch(re.escape(name) + r"_?\d+", key)]
    if not found:
        raise NoEvent(f"there is no PMU {name}: {', '.join(there) or 'sysfs shows none'}")
    return found
