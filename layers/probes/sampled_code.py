"""What code a sample shows: the function that ran, and those of the program that had called it.

Which file lies at an address: where it was mapped, or to what a process was forked from. Names of code that a runtime
made while it ran: /tmp/perf-PID.map, as Python (-X perf), Java and Node write it. A line there is where a function
begins and its size in bytes, both hexadecimal, and its name (tools/perf/Documentation/jit-interface.txt of the kernel).
"""

from __future__ import annotations

import functools
import os
import platform
import re
import stat
import struct
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from .elf_symbols import UNNAMED, Function, covering, function_at
from .kernel_stack import FAULTS, KernelStacks, call_of, interrupting, program_addresses
from .sched_events import Mapped, Sampled, SchedTrace
from .timeline import Timelines

PLACE = "/tmp/perf-{}.map"
MOST_BYTES = 64 << 20
"""Of a map; what follows is left out."""
LINE = re.compile(r"(?:0x)?([0-9a-fA-F]+) (?:0x)?([0-9a-fA-F]+) (\S.*)")
ON_RETURN = {"x86_64": (6, 10)}
"""Bytes from where the code lies that Python makes for a function to where the interpreter's loop returns into it:
without and with CET (Python/asm_trampoline.S of 3.12 to 3.14)."""
PYTHON = re.compile(r"py::(.+):([^:]*)")


class PerfMaps:
    """The maps that processes of a run have left, each read once."""

    def __init__(self, since_s: float, place: str = PLACE) -> None:
        """`since_s`: when the run began, after which its maps were written, in seconds of the wall clock.

        `place`: path of a map, with `{}` for the number of its process.
        """
        self._since_s, self._place = since_s, place
        self._functions = functools.cache(self._read)
        self._on_return = functools.cache(self._returns)

    def name(self, process: int, addresses: Iterable[int]) -> str:
        """Name the first of a stack's addresses that lies in a function of a map; empty where none does."""
        known = self._functions(process)
        for address in addresses if known else ():
            if found := covering(known, address):
                return found.name
        return ""

    def python_function(self, process: int, memory: bytes, is_code: Callable[[int], bool]) -> str:
        """Name the innermost Python function that runs, by what lies on the stack of its thread; empty where none does.

        This needs no frame pointers, which most interpreters are built without. Returns into functions that have ended
        are left on the stack too: behind one that still runs lies, a word further, where it returns to itself.
        """
        known = self._on_return(process)
        words = struct.unpack(f"={len(memory) // 8}Q", memory[: len(memory) // 8 * 8]) if known else ()
        returns = zip(words, words[2:], strict=False)
        return next((known[word] for word, outer in returns if word in known and is_code(outer)), "")

    def remove(self, processes: Iterable[int]) -> None:
        """Remove what they left."""
        for process in processes:
            if self._functions(process):
                with suppress(OSError):
                    os.unlink(self._place.format(process))

    def _returns(self, process: int) -> dict[int, str]:
        offsets = ON_RETURN.get(platform.machine(), ())
        return {one.start + offset: one.name for one in self._functions(process) for offset in offsets}

    def _read(self, process: int) -> tuple[Function, ...]:
        text = self._text(self._place.format(process))
        lines = (match.groups() for line in text.splitlines() if (match := LINE.fullmatch(line.strip())))
        # A place that is used again has the name that was written last.
        found = {int(start, 16): Function(int(start, 16), int(size, 16), _short(name)) for start, size, name in lines}
        return tuple(found[start] for start in sorted(found))

    def _text(self, path: str) -> str:
        """Read a map; nothing where it is of an earlier process of that number, or no file: anyone may put it there."""
        with suppress(OSError):
            file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
            with os.fdopen(file, "rb") as opened:
                found = os.fstat(file)
                if stat.S_ISREG(found.st_mode) and found.st_mtime >= self._since_s:
                    return opened.read(MOST_BYTES).decode(errors="replace")
        return ""


def _short(name: str) -> str:
    """`py::work:/home/a/b.py` as `work in b.py`; other names as they are."""
    python = PYTHON.fullmatch(name)
    return f"{python[1]} in {Path(python[2]).name}" if python else name


class CodeMaps:
    """The mappings of code of a run, by process."""

    def __init__(self, trace: SchedTrace, timelines: Timelines) -> None:
        """Sort them."""
        self.at = functools.cache(self._at)
        self._timelines = timelines
        self._mapped: dict[int, list[Mapped]] = defaultdict(list)
        for one in trace.mapped:
            self._mapped[one.process].append(one)

    def of(self, process: int) -> Iterator[Mapped]:
        """The mappings of a process, the last first, then those of its parent, from before it was forked."""
        yield from reversed(self._mapped.get(process, []))
        if process in self._timelines.born:
            parent = self._timelines.born[process].parent
            yield from self.of(self._timelines.processes.get(parent, parent))

    def _at(self, process: int, address: int) -> Mapped | None:
        """What lies at an address; None where nothing was seen to be mapped there."""
        return next((one for one in self.of(process) if one.start <= address < one.start + one.length), None)


ANONYMOUS, MADE, UNMAPPED = "//anon", "code made at run time", "code of an unknown file"
"""What a mapping of no file is called, and code in one; what code is called whose mapping was not seen."""


class SampledCode(NamedTuple):
    """Names what samples of one run show."""

    stacks: KernelStacks
    made: PerfMaps
    maps: CodeMaps

    def sampled(self, one: Sampled) -> tuple[str, str]:
        """What kind of work a sample shows, and the function."""
        names = self.stacks.names(one.stack)
        if not names:
            return "user", self._function(one)
        if any(map(interrupting, names)):
            return "interrupt", next((name for name in names if "softirq" in name or "_rx" in name), names[0])
        if (call := call_of(names)) == "page fault":
            return "page_fault", next((name for name in names if name in FAULTS), names[0])
        return "system", call or names[-1]

    def callers(self, one: Sampled) -> set[str]:
        """Functions of the program that had called what ran; only those that keep a frame pointer are on the stack."""
        addresses = list(program_addresses(one.stack))[0 if self.stacks.names(one.stack) else 1 :]
        # A call returns behind itself, which may be the next function.
        names = {self.made.name(one.process, (at,)) or self._named(one.process, at - 1) for at in addresses}
        return {name for name in names if not name.startswith((UNNAMED, UNMAPPED, MADE))}

    def _function(self, one: Sampled) -> str:
        made = self.made.python_function(one.process, one.memory, partial(self._of_file, one.process))
        made = made or self.made.name(one.process, program_addresses(one.stack))
        return made or self._named(one.process, next(program_addresses(one.stack), 0))

    def _of_file(self, process: int, address: int) -> bool:
        mapped = self.maps.at(process, address)
        return mapped is not None and mapped.path != ANONYMOUS

    def _named(self, process: int, address: int) -> str:
        mapped = self.maps.at(process, address) if address else None
        if mapped is None or mapped.path == ANONYMOUS:
            return MADE if mapped else UNMAPPED
        return f"{function_at(mapped.path, address - mapped.start + mapped.offset)} in {Path(mapped.path).name}"
