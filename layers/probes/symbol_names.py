"""Names of symbols as their source has them: those of C++ are mangled (Itanium C++ ABI, section 5.1)."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

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
