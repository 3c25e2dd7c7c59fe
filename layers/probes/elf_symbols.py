"""Names of functions and variables in programs and libraries, by where they lie.

Where the symbols were taken out of a file, those that were kept for debuggers count: compressed in the file itself
(.gnu_debugdata), or in the file of its build-id below /usr/lib/debug (both: GDB manual, GDB Files). Names of C++ are
mangled (Itanium C++ ABI, section 5.1).
"""

from __future__ import annotations

import bisect
import ctypes
import functools
import io
import lzma
import mmap
import platform
import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

SYMBOL = struct.Struct("<IBBHQQ")
"""Elf64_Sym: name, info, other, section, where it lies, size."""
FUNCTIONS, VARIABLES = (2, 10), (1,)
"""STT_FUNC and STT_GNU_IFUNC; STT_OBJECT."""
EXECUTABLE = 1
"""PF_X."""
TABLES = (".symtab", ".dynsym")
VDSO = "[vdso]"
DEBUG = Path("/usr/lib/debug/.build-id")
UNNAMED, SPINNING = "code without a symbol", " (spinning)"
PAUSES = {"x86_64": b"\xf3\x90", "aarch64": b"\x3f\x20\x03\xd5"}
"""The instruction (pause, yield) by which a loop tells its CPU that it only waits."""
LOOP = 16
"""Bytes on each side of it that such a loop takes."""


class Function(NamedTuple):
    """A function of a file, or a variable."""

    start: int
    """Of a function the offset in the file, in bytes; of a variable the address for which the file was linked."""
    size: int
    name: str


class Segment(NamedTuple):
    """A part of a file that is loaded."""

    address: int
    """For which the file was linked."""
    offset: int
    stored: int
    """Bytes in the file; what follows in memory is 0."""
    size: int
    code: bool


@functools.cache
def functions(path: str, debug: Path = DEBUG) -> tuple[Function, ...]:
    """Functions of a file by their offset; none where it cannot be read or is no 64-bit ELF file."""
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile  # not at the start of every command
    from elftools.elf.segments import NoteSegment

    found = set[Function]()
    with suppress(OSError, ELFError, lzma.LZMAError), opened(path) as file:
        elf = ELFFile(file)
        found.update(_functions(elf, elf))
        if kept := elf.get_section_by_name(".gnu_debugdata"):
            found.update(_functions(ELFFile(io.BytesIO(lzma.decompress(kept.data()))), elf))
        parts = (part for part in elf.iter_segments() if isinstance(part, NoteSegment))
        for note in (note for part in parts for note in part.iter_notes()):
            if note["n_type"] == "NT_GNU_BUILD_ID":
                with open(debug / note["n_desc"][:2] / f"{note['n_desc'][2:]}.debug", "rb") as beside:
                    found.update(_functions(ELFFile(beside), elf))
    return tuple(sorted(found))


def opened(path: str) -> BinaryIO:
    """Open a file; what the kernel maps into each process (vdso(7)) as it lies in this one."""
    if path != VDSO:
        return open(path, "rb")
    ranges = [line.split()[0] for line in Path("/proc/self/maps").read_text().splitlines() if line.endswith(VDSO)]
    start, end = (int(address, 16) for address in (ranges or ["0-0"])[0].split("-"))
    with open("/proc/self/mem", "rb", buffering=0) as memory:
        memory.seek(start)
        return io.BytesIO(memory.read(end - start))


@functools.lru_cache(1 << 14)
def function_at(path: str, offset: int) -> str:
    """Name the function that lies at an offset of a file, and say where it is a loop there that only waits."""
    known = covering(functions(path), offset)
    return (source_name(known.name) if known else UNNAMED) + SPINNING * _pauses(path, offset)


def variable_at(path: str, mapped: int, offset: int, address: int) -> str:
    """Name the variable at an address, of a file whose code at `offset` lies at `mapped`: `table+0x40`.

    Only the address in the file where there is no name for it; empty where the file does not lie there.
    """
    segments, variables = _linked(path)
    code = (one for one in segments if one.code and -mmap.PAGESIZE < offset - one.offset < one.stored)
    linked = next((one.address + offset - one.offset for one in code), None)
    place = address - mapped + (linked or 0)
    if linked is None or not any(one.address <= place < one.address + one.size for one in segments):
        return ""
    found = covering(variables, place)
    return f"{found.name}+{place - found.start:#x}" if found else f"+{place:#x}"


def covering(there: Sequence[Function], place: int) -> Function | None:
    """Which of these, sorted, lies at a place; None where none does."""
    before = bisect.bisect_right(there, place, key=lambda one: one.start) - 1
    return there[before] if before >= 0 and place < there[before].start + there[before].size else None


@functools.cache
def _linked(path: str) -> tuple[tuple[Segment, ...], tuple[Function, ...]]:
    """Segments and variables of a file."""
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    with suppress(OSError, ELFError), open(path, "rb") as file:
        elf = ELFFile(file)
        segments = tuple(
            Segment(
                *(one["p_vaddr"], one["p_offset"], one["p_filesz"], one["p_memsz"]), bool(one["p_flags"] & EXECUTABLE)
            )
            for one in elf.iter_segments("PT_LOAD")
        )
        return segments, tuple(sorted(set(_symbols(elf, VARIABLES))))
    return (), ()


def _pauses(path: str, offset: int) -> bool:
    pause = PAUSES.get(platform.machine())
    with suppress(OSError), open(path, "rb") as file:
        file.seek(max(0, offset - LOOP))
        return pause is not None and pause in file.read(2 * LOOP)
    return False


def _functions(elf: ELFFile, loaded: ELFFile) -> Iterator[Function]:
    """Functions that the tables of a file name, where they lie in the file that is loaded."""
    parts = [(one["p_vaddr"], one["p_offset"], one["p_filesz"]) for one in loaded.iter_segments("PT_LOAD")]
    for function in _symbols(elf, FUNCTIONS):
        for start, offset, length in parts:
            if start <= function.start < start + length:
                yield function._replace(start=function.start - start + offset)


def _symbols(elf: ELFFile, kinds: Sequence[int]) -> Iterator[Function]:
    if elf.elfclass != 64 or not elf.little_endian:
        return
    for table in TABLES:
        section = elf.get_section_by_name(table)
        if section is None or section["sh_type"] == "SHT_NOBITS":  # left out of a file for debuggers
            continue
        names = elf.get_section(section["sh_link"]).data()
        for called, info, _, _, at, size in SYMBOL.iter_unpack(section.data()):
            if info & 15 in kinds and at:
                yield Function(at, size, names[called : names.index(b"\0", called)].decode(errors="replace"))


RUNTIME = "libstdc++.so.6"
"""Library of C++ that has __cxa_demangle; where it is absent, names stay as they are."""


@functools.lru_cache(1 << 14)
def source_name(symbol: str) -> str:
    """Name a function without its parameters: `node::Realm::run` of `_ZN4node5Realm3runEPKc`."""
    demangle = _demangler() if symbol.startswith("_Z") else None
    made = demangle(symbol.encode(), None, None, None) if demangle else None
    if not made:
        return symbol
    try:
        return _without_parameters(ctypes.string_at(made).decode(errors="replace"))
    finally:
        ctypes.CDLL(None).free(ctypes.c_void_p(made))


@functools.cache
def _demangler() -> Any:
    try:
        found = ctypes.CDLL(RUNTIME).__cxa_demangle
    except (OSError, AttributeError):
        return None
    found.restype = ctypes.c_void_p
    return found


def _without_parameters(name: str) -> str:
    """Leave out what lies between the last parentheses, and what comes after them."""
    depth, last = 0, name.rfind(")")
    for place in range(last, -1, -1):
        depth += {")": 1, "(": -1}.get(name[place], 0)
        if depth == 0 and last > 0:
            return name[:place]
    return name
