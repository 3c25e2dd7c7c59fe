"""Names of functions in programs and libraries, by where they lie in the file."""

from __future__ import annotations

import bisect
import functools
import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

SYMBOL = struct.Struct("<IBBHQQ")
"""Elf64_Sym: name, info, other, section, where it lies, size."""
FUNCTIONS = (2, 10)
"""STT_FUNC and STT_GNU_IFUNC."""
TABLES = (".symtab", ".dynsym")


class Function(NamedTuple):
    """A function of a file."""

    start: int
    """Offset in the file, in bytes."""
    size: int
    name: str


@functools.cache
def functions(path: str) -> tuple[Function, ...]:
    """Functions of a file by their offset; none where it cannot be read or is no 64-bit ELF file."""
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile  # not at the start of every command

    try:
        with open(path, "rb") as file:
            return tuple(sorted(set(_functions(ELFFile(file)))))
    except (OSError, ELFError):
        return ()


@functools.lru_cache(1 << 14)
def function_at(path: str, offset: int) -> str:
    """Name the function that lies at an offset of a file; the offset itself where there is no name for it."""
    there = functions(path)
    place = bisect.bisect_right(there, offset, key=lambda function: function.start) - 1
    if place >= 0 and offset < there[place].start + there[place].size:
        return there[place].name
    return f"+{offset:#x}"


def _functions(elf: ELFFile) -> Iterator[Function]:
    if elf.elfclass != 64 or not elf.little_endian:
        return
    parts = [(one["p_vaddr"], one["p_offset"], one["p_filesz"]) for one in elf.iter_segments("PT_LOAD")]
    for name in TABLES:
        section = elf.get_section_by_name(name)
        if section is None:
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
