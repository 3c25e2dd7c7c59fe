"""Raw events by the names of the processor's manual, as libpfm4 knows them: `INST_RETIRED:ANY_P`."""

from __future__ import annotations

import ctypes
import functools
import struct

from .perf_open import ATTR_SIZE_CONFIG3, EXCLUSIONS, Attr
from .perf_sysfs import NoEvent

LIBRARY = "libpfm.so.4"
USER_AND_KERNEL = 1 | 8
"""PFM_PLM0 | PFM_PLM3."""
FOR_PERF = 1
"""PFM_OS_PERF_EVENT."""
ROOM = 512
"""Bytes for perf_event_attr, which grows with the library."""


class PfmEncodeArgument(ctypes.Structure):
    """pfm_perf_encode_arg_t of perfmon/pfmlib_perf_event.h."""

    _fields_ = (
        ("attr", ctypes.c_void_p),
        ("full_name", ctypes.c_void_p),
        ("size", ctypes.c_size_t),
        ("index", ctypes.c_int),
        ("cpu", ctypes.c_int),
        ("flags", ctypes.c_int),
        ("padding", ctypes.c_int),
    )


def encoded(name: str) -> Attr:
    """Ask libpfm4; raise NoEvent where it is not installed or does not know the event on this processor."""
    library = libpfm()
    if library is None:
        raise NoEvent(
            f"no event {name} is known: mend the name, or install libpfm4 for names of the processor's manual"
        )
    attr = ctypes.create_string_buffer(ROOM)
    wanted = PfmEncodeArgument(attr=ctypes.addressof(attr), size=ctypes.sizeof(PfmEncodeArgument))
    failed = library.pfm_get_os_event_encoding(name.encode(), USER_AND_KERNEL, FOR_PERF, ctypes.byref(wanted))
    if failed:
        raise NoEvent(f"libpfm4 does not know {name} on this processor: mend the name, `perf list` shows those of perf")
    kind, _, config, _, _, _, flags = struct.unpack_from("IIQQQQQ", attr)
    config1, config2 = struct.unpack_from("QQ", attr, 56)
    (config3,) = struct.unpack_from("Q", attr, ATTR_SIZE_CONFIG3 - 8)
    return Attr(kind, config, config1, config2, config3, flags & EXCLUSIONS)


@functools.cache
def libpfm() -> ctypes.CDLL | None:
    """Load the library and let it find this processor; None where it is not installed."""
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError:
        return None
    library.pfm_initialize()
    return library
