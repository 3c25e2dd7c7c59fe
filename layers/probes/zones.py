"""Free memory of each zone at the start of a run: in what pieces it lies, and how far it is from reclaim."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from .base import Probe
from .machine import KernelFile
from .sysfs import text_of

HUGE = "sys/kernel/mm/transparent_hugepage/hpage_pmd_size"
HUGE_USUAL = 2 << 20
"""Bytes of a huge page on x86-64 and on arm64 with pages of 4 kB."""
LINE = re.compile(rb"Node (\d+), zone\s+(\S+)\s+([\d ]+)")
ZONE = re.compile(rb"Node (\d+), zone\s+(\S+).*?\bpages free.*?\blow\s+(\d+)", re.DOTALL)
SHARE, HUGE_MIB, MARGIN = "huge_share", "huge_mib", "margin_mib"


class Zones(Probe):
    """Reads /proc/buddyinfo; the marks below which the kernel reclaims are read once."""

    def __init__(self, root: Path, columns: Iterable[str]) -> None:
        self._file = self._keep(KernelFile(root / "proc/buddyinfo"))
        page = os.sysconf("SC_PAGESIZE")
        self._page_mib = page / (1 << 20)
        self._huge_order = (int(text_of(root / HUGE) or HUGE_USUAL) // page).bit_length() - 1
        self._low = low_marks(root / "proc/zoneinfo")
        self._said = self._file.read()
        shown = {name.rpartition(".")[2] for name in self.values()}
        why = f"{self._file.why or f'{root}/proc/zoneinfo tells no marks'}: it needs a /proc that shows the memory"
        self._absent = {name: why for name in columns if name.rpartition(".")[2] not in shown}

    def before(self) -> None:
        """Read the file."""
        self._said = self._file.read()

    def values(self) -> dict[str, float]:
        """Return the shares and sizes, by zone and of all memory."""
        zones = free_blocks(self._said or b"")
        values: dict[str, float] = {}
        free = huge = 0
        for zone, blocks in zones.items():
            whole, large = pages(blocks), pages(blocks, self._huge_order)
            free, huge = free + whole, huge + large
            values |= {f"memory.zone.{zone}.{SHARE}": 100 * large / whole} if whole else {}
            if zone in self._low:
                values[f"memory.zone.{zone}.{MARGIN}"] = (whole - self._low[zone]) * self._page_mib
        if free:
            values |= {f"memory.{SHARE}": 100 * huge / free, f"memory.{HUGE_MIB}": huge * self._page_mib}
        return values


def free_blocks(said: bytes) -> dict[str, list[int]]:
    """Read /proc/buddyinfo: by zone, how many free blocks there are of 1, 2, 4 .. pages."""
    found = (LINE.match(line) for line in said.splitlines())
    return {zone_name(line): [int(count) for count in line[3].split()] for line in found if line}


def pages(blocks: list[int], order: int = 0) -> int:
    """Add up the pages in blocks of at least 2 ** order pages."""
    return sum(count << at for at, count in enumerate(blocks) if at >= order)


def low_marks(path: Path) -> dict[str, int]:
    """Read from /proc/zoneinfo, by zone, the free pages below which the kernel begins to reclaim."""
    try:
        said = path.read_bytes()
    except OSError:
        return {}
    parts = re.split(rb"(?m)^(?=Node \d)", said)
    return {zone_name(zone): int(zone[3]) for part in parts if (zone := ZONE.match(part))}


def zone_name(line: re.Match[bytes]) -> str:
    """Make a word of node and zone."""
    return f"node{line[1].decode()}_{line[2].decode()}"
