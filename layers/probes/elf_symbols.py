"""Names of functions in programs and libraries, by where they lie in the file."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("at", "<u8"), ("size", "<u8")]
)
"""Elf64_Sym."""
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
    try:
        with open(path, "rb") as file:
            return tuple(sorted(set(_functions(ELFFile(file)))))
    except (OSError, ELFError):
        return ()


def function_at(path: str, offset: int) -> str:
    """Name the function that lies at an offset of a file; the offset itself where there is no name for it."""
    there = functions(path)
    place = np.searchsorted(_starts(path), offset, side="right") - 1
    if place >= 0 and offset < there[place].start + there[place].size:
        return there[place].name
    return f"+{offset:#x}"


@functools.cache
def _starts(path: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([function.start for function in functions(path)], dtype=np.int64)


def _functions(elf: ELFFile) -> Iterator[Function]:
    if elf.elfclass != 64 or not elf.little_endian:
        return
    parts = [(one["p_vaddr"], one["p_offset"], one["p_filesz"]) for one in elf.iter_segments("PT_LOAD")]
    for name in TABLES:
        section = elf.get_section_by_name(name)
        if not isinstance(section, SymbolTableSection):
            continue
        table, names = np.frombuffer(section.data(), SYMBOL), section.stringtable.data()
        for symbol in table[np.isin(table["info"] & 15, FUNCTIONS) & (table["at"] > 0)]:
            at = int(symbol["at"])
            for start, offset, size in parts:
                if start <= at < start + size:
                    end = names.index(b"\0", symbol["name"])
                    called = names[symbol["name"] : end].decode(errors="replace")
                    yield Function(at - start + offset, int(symbol["size"]), called)
