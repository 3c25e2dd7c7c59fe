"""The probe of the layer `network`: counters of the network stack and of each interface over a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from ..schema import Layer, Value
from .base import LayerProbe, TwoReadings
from .machine import KernelFile, growth
from .sysfs import name_of

SOFTNET = ("processed", "dropped", "time_squeeze")
"""The first fields of each CPU's line in /proc/net/softnet_stat."""
DEVICE = (
    *("rx_bytes", "rx_packets", "rx_errors", "rx_drops", "rx_fifo", "rx_frame", "rx_compressed", "rx_multicast"),
    *("tx_bytes", "tx_packets", "tx_errors", "tx_drops", "tx_fifo", "collisions", "carrier", "tx_compressed"),
)
"""Order of the numbers of an interface in /proc/net/dev."""
CPUS = "softnet cpus"
CURE = "run where /proc/net is to be seen, on a kernel that counts it"

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
        """Name the columns whose file or counter is not there."""
        there = {key for _, known in self._parsed.values() for key in known}
        there |= {f"dev * {key.rpartition(' ')[2]}" for key in there if key.startswith("dev ")}
        absent = {}
        for column, read in self._reads.items():
            file = self._files.get(read.partition(" ")[0])
            if file is not None and file.why:
                absent[column] = f"{file.why}: {CURE}"
            elif read not in there:
                absent[column] = f"/proc/net does not have {read or 'it'} on this kernel: {CURE}"
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
