"""The probe of the layer `block`: what each disk did during a run, and how its queue is set."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from pathlib import Path

from ..schema import Layer, Value
from .base import LayerProbe
from .machine import KernelFile, growth
from .sysfs import SysfsFiles, name_of

FIELDS = (
    *("reads", "reads_merged", "read_bytes", "read_ms"),
    *("writes", "writes_merged", "write_bytes", "write_ms"),
    *("in_flight", "busy_ms", "queue_ms"),
    *("discards", "discards_merged", "discard_bytes", "discard_ms"),  # since Linux 4.18
    *("flushes", "flush_ms"),  # since Linux 5.5
)
"""Order of the numbers after the name in /proc/diskstats."""
SECTOR = 512
"""Bytes; /proc/diskstats counts in these whatever the disk's own sectors are."""
WAITS = {"read_wait_ms": ("read_ms", "reads"), "write_wait_ms": ("write_ms", "writes")}
WAITS |= {"flush_wait_ms": ("flush_ms", "flushes"), "discard_wait_ms": ("discard_ms", "discards")}
"""Mean wait: its total, and of how many requests."""
ON_TOP = re.compile(r"(loop|ram|zram)\d+")
"""Devices that are there by the dozen and seldom used: shown from when they do something."""
CURE = "run where the kernel's /proc/diskstats is to be seen, not in a sandbox that hides it"

Disks = dict[str, dict[str, float]]


class BlockProbe(LayerProbe):
    """Reads /proc/diskstats around a run; the settings of the queues once it is over."""

    def __init__(self, layer: Layer, root: Path) -> None:
        super().__init__(layer)
        self._blocks = root / "sys/block"
        self._file = self._keep(KernelFile(root / "proc/diskstats"))
        self._settings = {column.name.partition("*.")[2]: column.read for column in layer.columns if column.read}
        self._stamp = self._window_ms = 0.0
        self._was = self._now = first = self._file.read()
        self._first = disks_of(first)
        self._names: set[str] = set()
        self._whole: dict[str, bool] = {}
        self._queues: dict[str, SysfsFiles] = {}
        self._look(self._first)

    def before(self) -> None:
        """Read the file."""
        self._was = self._file.read()
        self._stamp = time.monotonic()

    def after(self) -> None:
        """Read the file again."""
        self._window_ms = (time.monotonic() - self._stamp) * 1000
        self._now = self._file.read()

    def values(self) -> dict[str, Value]:
        """Return what each disk did; nothing of one that came or went during the run."""
        was, now = disks_of(self._was), disks_of(self._now)
        self._look(now)
        values: dict[str, Value] = {}
        bottom: list[dict[str, float]] = []
        for name in [name for name in now if name in was and name in self._whole and self._shown(name, now)]:
            # The requests that were under way as the run began are no counter.
            did = growth(was[name], now[name]) | {"in_flight": was[name]["in_flight"]}
            values |= {f"disk.{name_of(name)}.{key}": value for key, value in derived(did, self._window_ms).items()}
            values |= {f"disk.{name_of(name)}.{key}": value for key, value in self._queue(name).items()}
            if self._whole[name]:
                bottom.append(did)
        if len(bottom) > 1:
            # Time in use does not add up over disks that work at the same time.
            total = {key: sum(did.get(key, 0.0) for did in bottom) for key in bottom[0] if key != "busy_ms"}
            values |= {f"disk.all.{key}": value for key, value in derived(total, self._window_ms).items()}
        return self._declared(values)

    def absent(self) -> Mapping[str, str]:
        """Name the columns of which no disk shows anything."""
        if self._file.why:
            return dict.fromkeys(self._columns, f"{self._file.why}: {CURE}")
        if not self._whole:
            return dict.fromkeys(self._columns, f"{self._file.path} shows no disk: {CURE}")
        fields = set().union(*(disk for disk in self._first.values()))
        old = {key for key in FIELDS if key not in fields}
        gone = {key for key in WAITS if old & set(WAITS[key])} | old
        gone |= {key for key in self._settings if not any(key in self._queue(name) for name in self._whole)}
        reason = "no disk shows it on this kernel: it needs Linux 5.5 or newer with /sys mounted"
        return {column: reason for column in self._columns if column.partition("*.")[2] in gone}

    def close(self) -> None:
        """Close what was opened."""
        super().close()
        for files in self._queues.values():
            files.close()

    def _look(self, disks: Disks) -> None:
        """Tell disks from partitions, and those that lie on other disks, whenever there are others than before."""
        if disks.keys() == self._names:
            return
        self._names = set(disks)
        for files in self._queues.values():
            files.close()
        folders = {name: self._blocks / name.replace("/", "!") for name in disks}
        self._whole = {name: not any(folder.glob("slaves/*")) for name, folder in folders.items() if folder.is_dir()}
        self._queues = {
            name: SysfsFiles([folders[name] / path for path in self._settings.values()]) for name in self._whole
        }

    def _shown(self, name: str, now: Disks) -> bool:
        return ON_TOP.fullmatch(name) is None or now[name] != self._first.get(name)

    def _queue(self, name: str) -> dict[str, Value]:
        said = zip(self._settings, self._queues[name].read(), strict=True)
        return {key: setting(text.decode()) for key, text in said if text is not None}


def disks_of(text: bytes | None) -> Disks:
    """Read /proc/diskstats: the numbers by disk, sectors as bytes; kernels before 5.5 have fewer."""
    disks = {}
    for line in (text or b"").splitlines():
        words = line.split()
        numbers = dict(zip(FIELDS, map(float, words[3:]), strict=False))
        disks[words[2].decode()] = {
            key: value * SECTOR if key.endswith("_bytes") else value for key, value in numbers.items()
        }
    return disks


def derived(did: Mapping[str, float], window_ms: float) -> dict[str, float]:
    """Add waits and shares; a disk without a request of a kind has no mean wait of that kind."""
    values = {key: value for key, value in did.items() if key not in ("busy_ms", "queue_ms")}
    for wait, (total, count) in WAITS.items():
        if did.get(count) and total in did:
            values[wait] = did[total] / did[count]
    if "busy_ms" in did:
        values["busy_share"] = min(100.0, 100 * did["busy_ms"] / window_ms)
    if "queue_ms" in did:
        values["queue"] = did["queue_ms"] / window_ms
    return values


def setting(said: str) -> Value:
    """Read one setting of a queue: a number, a word, or the word in brackets among those to choose from."""
    chosen = re.search(r"\[(.+?)\]", said)
    word = chosen.group(1) if chosen else said.strip()
    try:
        return float(word)
    except ValueError:
        return word
