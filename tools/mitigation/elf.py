"""What the loader would see in an ELF file: its machine, whether it is dynamic, which libraries it names.

Written out because pyelftools would be a dependency for three facts, and `readelf` is not on every machine.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

_PT_LOAD, _PT_DYNAMIC, _PT_INTERP = 1, 2, 3
_DT_NEEDED, _DT_STRTAB = 1, 5
_MOST_HEADERS = 1024
_LARGEST_TABLE = 1 << 20


class _Segment(NamedTuple):
    kind: int
    offset: int
    address: int
    size: int


@dataclass(frozen=True)
class Elf:
    """An executable or a shared library."""

    machine: tuple[int, int]
    """Word size class (1: 32 bit, 2: 64 bit) and e_machine; a preloaded library must agree with the program."""
    dynamic: bool
    """It asks for a dynamic loader (PT_INTERP)."""
    needed: tuple[str, ...]
    """Sonames of the libraries it links directly."""


_MACHINES = {3: "x86", 8: "MIPS", 20: "PowerPC", 21: "PowerPC 64", 40: "Arm", 62: "x86-64", 183: "Arm 64"}
_MACHINES |= {22: "S390", 243: "RISC-V", 258: "LoongArch"}
_BITS = {1: 32, 2: 64}


def kind_of_machine(elf: Elf) -> str:
    """Name the machine that a file is built for: `32-bit x86`."""
    word, machine = elf.machine
    return f"{_BITS.get(word, '?')}-bit {_MACHINES.get(machine, f'machine {machine}')}"


def read_elf(path: Path) -> Elf | None:
    """Read the headers of `path`; None when it is no ELF file that can be read."""
    try:
        with path.open("rb") as file:
            ident = file.read(16)
            return _read(file, ident) if ident[:4] == b"\x7fELF" else None
    except (OSError, struct.error, LookupError, ValueError, OverflowError):  # cut short, or its numbers are nonsense
        return None


def _read(file: BinaryIO, ident: bytes) -> Elf:
    wide = ident[4] == 2
    order = "<" if ident[5] == 1 else ">"
    layout = order + ("HHIQQQIHHHHHH" if wide else "HHIIIIIHHHHHH")
    header = struct.unpack(layout, file.read(struct.calcsize(layout)))
    machine, table, entry_size, count = header[1], header[4], header[8], header[9]
    segments = [_segment(file, order, wide, table + i * entry_size) for i in range(min(count, _MOST_HEADERS))]
    dynamic = any(segment.kind == _PT_INTERP for segment in segments)
    return Elf((ident[4], machine), dynamic, _needed(file, order, wide, segments))


def _segment(file: BinaryIO, order: str, wide: bool, at: int) -> _Segment:
    file.seek(at)
    if wide:
        kind, _, offset, address, _, size = struct.unpack(order + "IIQQQQ", file.read(40))
    else:
        kind, offset, address, _, size = struct.unpack(order + "IIIII", file.read(20))
    return _Segment(kind, offset, address, size)


def _needed(file: BinaryIO, order: str, wide: bool, segments: list[_Segment]) -> tuple[str, ...]:
    table = next((segment for segment in segments if segment.kind == _PT_DYNAMIC), None)
    if table is None:
        return ()
    file.seek(table.offset)
    raw = file.read(min(table.size, _LARGEST_TABLE))
    layout = order + ("qQ" if wide else "iI")
    entries = list(struct.iter_unpack(layout, raw[: len(raw) - len(raw) % struct.calcsize(layout)]))
    strings = _file_offset(segments, dict(entries)[_DT_STRTAB])
    return tuple(_string(file, strings + value) for tag, value in entries if tag == _DT_NEEDED)


def _file_offset(segments: list[_Segment], address: int) -> int:
    for segment in segments:
        if segment.kind == _PT_LOAD and segment.address <= address < segment.address + segment.size:
            return address - segment.address + segment.offset
    raise KeyError(address)


def _string(file: BinaryIO, at: int) -> str:
    file.seek(at)
    return file.read(256).split(b"\0", 1)[0].decode(errors="replace")
