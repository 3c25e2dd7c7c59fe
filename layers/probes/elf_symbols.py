"""Names of functions in programs and libraries, by where they lie in the file.

Where the symbols were taken out of a file, those that were kept for debuggers count: compressed in the file itself
(.gnu_debugdata), or in the file of its build-id below /usr/lib/debug (both: GDB manual, chapter GDB Files).
"""

from __future__ import annotations

import bisect
import functools
import io
import lzma
import platform
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

SYMBOL = struct.Struct("<IBBHQQ")
"""Elf64_Sym: name, info, other, section, where it lies, size."""
FUNCTIONS = (2, 10)
"""STT_FUNC and STT_GNU_IFUNC."""
TABLES = (".symtab", ".dynsym")
DEBUG = Path("/usr/lib/debug/.build-id")
UNNAMED, SPINNING = "code without a symbol", " (spinning)"
PAUSES = {"x86_64": b"\xf3\x90", "aarch64": b"\x3f\x20\x03\xd5"}
"""The instruction (pause, yield) by which a loop tells its CPU that it only waits."""
LOOP = 16
"""Bytes on each side of it that such a loop takes."""


class Function(NamedTuple):
    """A function of a file."""

    start: int
    """Offset in the file, in bytes."""
    size: int
    name: str


@functools.cache
def functions(path: str, debug: Path = DEBUG) -> tuple[Function, ...]:
    """Functions of a file by their offset; none where it cannot be read or is no 64-bit ELF file."""
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile  # not at the start of every command
    from elftools.elf.segments import NoteSegment

    found = set[Function]()
    with suppress(OSError, ELFError, lzma.LZMAError), open(path, "rb") as file:
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


@functools.lru_cache(1 << 14)
def function_at(path: str, offset: int) -> str:
    """Name the function that lies at an offset of a file, and say where it is a loop there that only waits."""
    there = functions(path)
    place = bisect.bisect_right(there, offset, key=lambda function: function.start) - 1
    known = place >= 0 and offset < there[place].start + there[place].size
    return (there[place].name if known else UNNAMED) + SPINNING * _pauses(path, offset)


def _pauses(path: str, offset: int) -> bool:
    pause = PAUSES.get(platform.machine())
    with suppress(OSError), open(path, "rb") as file:
        file.seek(max(0, offset - LOOP))
        return pause is not None and pause in file.read(2 * LOOP)
    return False


def _functions(elf: ELFFile, loaded: ELFFile) -> Iterator[Function]:
    """Functions that the tables of a file name, where they lie in the file that is loaded."""
    if elf.elfclass != 64 or not elf.little_endian:
        return
    parts = [(one["p_vaddr"], one["p_offset"], one["p_filesz"]) for one in loaded.iter_segments("PT_LOAD")]
    for name in TABLES:
        section = elf.get_section_by_name(name)
        if section is None or section["sh_type"] == "SHT_NOBITS":  # left out of a file for debuggers
            continue
        names = elf.get_section(section["sh_link"]).data()
        for called, info, _, _, at, size in SYMBOL.iter_unpack(section.data()):
            if info & 15 not in FUNCTIONS or not at:
                continue
            for start, offset, length in parts:
                if start <= at < start + length:
                    yield Function(
                        at - start + offset, size, names[called : names.index(b"\0", called)].decode(errors="replace")
                    )
