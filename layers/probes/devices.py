"""The probes `block` and `network`: what each disk and each network interface did during a run, and how it is set."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from ..schema import Layer, Value
from .base import LayerProbe, TwoReadings
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
DISK_CURE = "run where the kernel's /proc/diskstats is to be seen, not in a sandbox that hides it"

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
        self._was = self._file.read()
        self._stamp = time.monotonic()

    def after(self) -> None:
        self._window_ms = (time.monotonic() - self._stamp) * 1000
        self._now = self._file.read()

    def values(self) -> dict[str, Value]:
        """Return what each disk did; nothing of one that came or went during the run."""
        was, now = disks_of(self._was), disks_of(self._now)
        self._look(now)
        values: dict[str, Value] = {}
        bottom: list[dict[str, float]] = []
        shown = [name for name in now if ON_TOP.fullmatch(name) is None or now[name] != self._first.get(name)]
        for name in [name for name in shown if name in was and name in self._whole]:
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
            return dict.fromkeys(self._columns, f"{self._file.why}: {DISK_CURE}")
        if not self._whole:
            return dict.fromkeys(self._columns, f"{self._file.path} shows no disk: {DISK_CURE}")
        fields = set().union(*(disk for disk in self._first.values()))
        old = {key for key in FIELDS if key not in fields}
        gone = {key for key in WAITS if old & set(WAITS[key])} | old
        gone |= {key for key in self._settings if not any(key in self._queue(name) for name in self._whole)}
        reason = "no disk shows it on this kernel: it needs Linux 5.5 or newer with /sys mounted"
        return {column: reason for column in self._columns if column.partition("*.")[2] in gone}

    def close(self) -> None:
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


SOFTNET = ("processed", "dropped", "time_squeeze")
"""The first fields of each CPU's line in /proc/net/softnet_stat."""
DEVICE = (
    *("rx_bytes", "rx_packets", "rx_errors", "rx_drops", "rx_fifo", "rx_frame", "rx_compressed", "rx_multicast"),
    *("tx_bytes", "tx_packets", "tx_errors", "tx_drops", "tx_fifo", "collisions", "carrier", "tx_compressed"),
)
"""Order of the numbers of an interface in /proc/net/dev."""
CPUS = "softnet cpus"
NET_CURE = "run where /proc/net is to be seen, on a kernel that counts it"

Counters = dict[str, float]
"""Value by what a column of the layer names in `read`: `snmp Tcp RetransSegs`, `dev eth0 rx_bytes`."""


class NetworkProbe(TwoReadings[dict[str, bytes | None]], LayerProbe):
    """Reads the files of /proc/net around a run that any column of the layer needs."""

    def __init__(self, layer: Layer, root: Path) -> None:
        super().__init__(layer)
        self._reads = {column.name: column.read for column in layer.columns}
        wanted = {read.partition(" ")[0] for read in self._reads.values()}
        # /proc/net is that of the process that reads; the run lives in the same network namespace.
        folder = root / "proc/net"
        self._files = {name: self._keep(KernelFile(folder / PARSERS[name][0])) for name in PARSERS if name in wanted}
        self._was = self._now = self._read()
        self._parsed: dict[str, tuple[bytes, Counters]] = {}
        for name, text in self._was.items():
            self._parse(name, text)

    def values(self) -> dict[str, Value]:
        """Return what each counter grew by, and the mean of both readings of what is no counter."""
        grown: Counters = {}
        for name in self._files:
            was, now = self._parse(name, self._was[name]), self._parse(name, self._now[name])
            if name == "sockstat":
                grown |= {key: (was[key] + now[key]) / 2 for key in was.keys() & now.keys()}
            elif was.get(CPUS) == now.get(CPUS):  # Else a CPU came or went, and its counts with it.
                grown |= growth(was, now)
        values: dict[str, Value] = {
            column: grown[read] for column, read in self._reads.items() if "*" not in column and read in grown
        }
        return values | self._interfaces(grown)

    def absent(self) -> Mapping[str, str]:
        there = {key for _, known in self._parsed.values() for key in known}
        there |= {f"dev * {key.rpartition(' ')[2]}" for key in there if key.startswith("dev ")}
        absent = {}
        for column, read in self._reads.items():
            file = self._files.get(read.partition(" ")[0])
            if file is not None and file.why:
                absent[column] = f"{file.why}: {NET_CURE}"
            elif read not in there:
                absent[column] = f"/proc/net does not have {read or 'it'} on this kernel: {NET_CURE}"
        return absent

    def _read(self) -> dict[str, bytes | None]:
        return {name: file.read() for name, file in self._files.items()}

    def _interfaces(self, grown: Counters) -> dict[str, Value]:
        """Fill in the names of the interfaces; many are there and never used."""
        used = {key.split()[1] for key, total in self._parsed.get("dev", (b"", {}))[1].items() if total}
        values: dict[str, Value] = {}
        for key in grown:
            if key.startswith("dev ") and (words := key.split())[1] in used:
                values[f"net.{name_of(words[1])}.{words[2]}"] = grown[key]
        return self._declared(values)

    def _parse(self, name: str, text: bytes | None) -> Counters:
        """Parse one file; mostly it says what it said at the end of the run before."""
        if text is None:
            return {}
        if name not in self._parsed or self._parsed[name][0] != text:
            self._parsed[name] = (text, {f"{name} {key}": value for key, value in PARSERS[name][1](text)})
        return self._parsed[name][1]


def parse_pairs(text: bytes) -> Iterator[tuple[str, float]]:
    """Read /proc/net/snmp and /proc/net/netstat: a line of names, then a line of values, for each protocol."""
    lines = iter(text.splitlines())
    for names, values in zip(lines, lines, strict=False):
        protocol, *keys = names.split()
        for key, value in zip(keys, values.split()[1:], strict=False):
            yield f"{protocol.rstrip(b':').decode()} {key.decode()}", float(value)


def parse_words(text: bytes) -> Iterator[tuple[str, float]]:
    """Read /proc/net/snmp6: a name and a value a line."""
    for line in text.splitlines():
        key, value = line.split()
        yield key.decode(), float(value)


def parse_softnet(text: bytes) -> Iterator[tuple[str, float]]:
    """Read /proc/net/softnet_stat: hexadecimal, a line for each CPU; sums over CPUs."""
    lines = [line.split() for line in text.splitlines()]
    yield "cpus", float(len(lines))
    for place, key in enumerate(SOFTNET):
        yield key, float(sum(int(line[place], 16) for line in lines))


def parse_devices(text: bytes) -> Iterator[tuple[str, float]]:
    """Read /proc/net/dev: two lines of heads, then an interface a line."""
    for line in text.splitlines()[2:]:
        name, _, numbers = line.rpartition(b":")
        for key, value in zip(DEVICE, numbers.split(), strict=False):
            yield f"{name.strip().decode()} {key}", float(value)


def parse_sockets(text: bytes) -> Iterator[tuple[str, float]]:
    """Read /proc/net/sockstat: `TCP: inuse 1 orphan 0`."""
    for line in text.splitlines():
        protocol, *words = line.split()
        for key, value in zip(words[::2], words[1::2], strict=False):
            yield f"{protocol.rstrip(b':').decode()} {key.decode()}", float(value)


PARSERS: dict[str, tuple[str, Callable[[bytes], Iterator[tuple[str, float]]]]] = {
    "netstat": ("netstat", parse_pairs),
    "snmp": ("snmp", parse_pairs),
    "snmp6": ("snmp6", parse_words),
    "dev": ("dev", parse_devices),
    "softnet": ("softnet_stat", parse_softnet),
    "sockstat": ("sockstat", parse_sockets),
}
"""First word of `read`: the file and its parser; the dearest to read come first, so the cheap ones hug the run."""
