"""What the kernel makes of the text of a memory limit."""

from __future__ import annotations

import mmap
import re

LIMITS = {"memory.max": "memory.current", "memory.high": "memory.current"} | {
    f"memory.{name}limit_in_bytes": f"memory.{name}usage_in_bytes" for name in ("", "memsw.")
}
"""File of a control group, of either version, to the one that shows what is in use."""
_BYTES = re.compile(r"(0x[0-9a-f]+|0[0-7]*|[1-9][0-9]*|)([kmgtpe]?)", re.IGNORECASE)
_SUFFIXES = "kmgtpe"
_WORD = (1 << 64) - 1


def limit_bytes(value: str) -> int | None:
    """Read bytes as memparse does (lib/cmdline.c) and round down to pages; None: no limit, or the kernel refuses it.

    `0x` is hexadecimal, a leading 0 octal, K to E in either case are powers of 1024, no digits are 0, and what does not
    fit into 64 bits wraps around. A null byte ends it.
    """
    found = _BYTES.fullmatch(value.partition("\0")[0].strip())
    if not found:
        return None
    digits, suffix = found[1].lower(), found[2].lower()
    base = 16 if digits.startswith("0x") else 8 if digits.startswith("0") else 10
    shift = 10 * (_SUFFIXES.index(suffix) + 1) if suffix else 0
    bytes_ = ((int(digits or "0", base) & _WORD) << shift) & _WORD
    return bytes_ - bytes_ % mmap.PAGESIZE
