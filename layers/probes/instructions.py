"""Which memory the instructions of a program read and write, by the registers that hold the address; x86-64 alone.

Capstone decodes them. It calls some stores of AVX and a locked compare-and-exchange reads; that is put right here.
"""

from __future__ import annotations

import bisect
import functools
import platform
import re
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

from .elf_symbols import Function

GENERAL_REGISTERS = 0xFF01FF
"""PERF_SAMPLE_REGS_USER: the general registers and the address of the instruction, as asm/perf_regs.h has them."""
NAMES = (
    *("ax", "bx", "cx", "dx", "si", "di", "bp", "sp", "ip"),
    *(f"r{number}" for number in range(8, 16)),
)
"""Of these registers in their order, without what says how wide they are."""
IP = NAMES.index("ip")
WIDTH = re.compile(r"^[re](?=[a-z])|(?<=^r\d)[dwb]$|(?<=^r\d\d)[dwb]$")
HALVES = {"al": "ax", "ah": "ax", "bl": "bx", "bh": "bx", "cl": "cx", "ch": "cx", "dl": "dx", "dh": "dx"}
HALVES |= {"sil": "si", "dil": "di", "bpl": "bp", "spl": "sp"}
NO_ACCESS = re.compile("^(lea|nop|prefetch|clflush|clwb)")
STORES, LOCKED = re.compile("^v(p?mov|mask|extract|compress|p?scatter)"), 0xF0
LARGEST = 1 << 16
"""Bytes of a function that is decoded."""
AHEAD = 8
"""Instructions after the sampled one that are surely executed next, up to a jump: what they write is known too."""


class Access(NamedTuple):
    """A memory operand: base + index * scale + displacement, of the registers by their place in NAMES; -1 is none."""

    base: int
    indexed: int
    scale: int
    displacement: int
    size: int
    writes: bool
    locked: bool
    """No other CPU gets between its read and its write."""


class Instruction(NamedTuple):
    """One instruction of a function."""

    offset: int
    """In bytes from the function's start, of what follows it: what an address relative to IP counts from."""
    accesses: tuple[Access, ...]
    sets: frozenset[int]
    """Registers that it changes, by their place in NAMES."""
    jumps: bool


class Touched(NamedTuple):
    """Memory that a sample was at."""

    address: int
    size: int
    writes: bool
    locked: bool


def operands_unknown() -> str:
    """Say why operands cannot be decoded here, and the cure; empty where they can."""
    if platform.machine() != "x86_64":
        return f"operands of instructions are decoded on x86-64 alone, and this is {platform.machine()}"
    if find_spec("capstone") is None:
        return "the Python package capstone is not installed: pip install 'vgo-agent[ledger]'"
    return ""


def touched(path: str, function: Function, offset: int, registers: Sequence[int]) -> Iterator[Touched]:
    """Memory at the instruction `offset` bytes into a function of a file, with the registers before it is executed.

    What is waited for is that instruction, or the one before it: a timer interrupts when that has ended. Of that one
    memory is left out if it changed a register of its address. What either reads and a later one, before any jump,
    writes at the same place is written.
    """
    before, ahead = _near(path, function, offset)
    if ahead:
        start = registers[IP] - offset
        near = list(_evaluated(ahead[0], registers, start, frozenset()))
        near += _evaluated(before, registers, start, before.sets) if before else ()
        written = {one.address: one.locked for one in _ahead(ahead, registers, start) if one.writes}
        for one in near:
            again = one.address in written
            yield one._replace(writes=one.writes or again, locked=one.locked or written.get(one.address, False))


def _ahead(code: Sequence[Instruction], registers: Sequence[int], start: int) -> Iterator[Touched]:
    changed = frozenset[int]()
    for one in code:
        yield from _evaluated(one, registers, start, changed)
        if one.jumps:
            return
        changed |= one.sets


def _evaluated(one: Instruction, registers: Sequence[int], start: int, changed: frozenset[int]) -> Iterator[Touched]:
    for access in one.accesses:
        if not changed & {access.base, access.indexed} - {IP, -1}:
            base = start + one.offset if access.base == IP else registers[access.base] if access.base >= 0 else 0
            index = registers[access.indexed] * access.scale if access.indexed >= 0 else 0
            address = (base + index + access.displacement) % (1 << 64)
            yield Touched(address, access.size, access.writes, access.locked)


@functools.lru_cache(1 << 10)
def _code(path: str, function: Function) -> tuple[bytes, tuple[int, ...]]:
    """A function and where its instructions begin; nothing where it is large or its file cannot be read."""
    if not 0 < function.size <= LARGEST:
        return b"", ()
    try:
        with open(path, "rb") as file:
            file.seek(function.start)
            code = file.read(function.size)
    except OSError:
        return b"", ()
    return code, tuple(address for address, *_ in _decoder(detail=False).disasm_lite(code, 0))


@functools.lru_cache(1 << 14)
def _near(path: str, function: Function, offset: int) -> tuple[Instruction | None, tuple[Instruction, ...]]:
    """The instruction before an offset in a function, if it does not jump, and those from there on."""
    code, begins = _code(path, function)
    at = bisect.bisect_left(begins, offset)
    if begins[at : at + 1] != (offset,):
        return None, ()
    first = begins[max(0, at - 1)]
    found = tuple(map(_instruction, _decoder(detail=True).disasm(code[first:], first, AHEAD + 1)))
    before = found[0] if at and not found[0].jumps else None
    return before, found[min(at, 1) :]


@functools.cache
def _decoder(detail: bool) -> Any:
    capstone: Any = import_module("capstone")
    decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    decoder.detail = detail
    return decoder


def _instruction(one: Any) -> Instruction:
    capstone: Any = import_module("capstone")
    groups = {capstone.CS_GRP_JUMP, capstone.CS_GRP_CALL, capstone.CS_GRP_RET, capstone.CS_GRP_INT}
    jumps = bool(groups & set(one.groups))
    return Instruction(
        one.address + one.size,
        () if jumps or NO_ACCESS.match(one.mnemonic) else tuple(_accesses(capstone, one)),
        frozenset(map(_place, map(one.reg_name, one.regs_access()[1]))) - {-1},
        jumps,
    )


def _accesses(capstone: Any, one: Any) -> Iterator[Access]:
    """Memory operands but those relative to FS or GS, which are the thread's own."""
    own = capstone.x86.X86_REG_FS, capstone.x86.X86_REG_GS
    for place, operand in enumerate(one.operands):
        if operand.type != capstone.x86.X86_OP_MEM or operand.mem.segment in own:
            continue
        memory, locked = operand.mem, one.prefix[0] == LOCKED or one.mnemonic == "xchg"
        stores = operand.access & capstone.CS_AC_WRITE or (not place and STORES.match(one.mnemonic))
        base, index = (_place(one.reg_name(number)) if number else -1 for number in (memory.base, memory.index))
        yield Access(base, index, memory.scale, memory.disp, operand.size, locked or bool(stores), locked)


def _place(name: str) -> int:
    """Where a register stands in NAMES; -1 of others than the general ones."""
    short = HALVES.get(name, WIDTH.sub("", name))
    return NAMES.index(short) if short in NAMES else -1
