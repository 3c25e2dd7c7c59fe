"""What code a sample shows: the function that ran, and those of the program that had called it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import NamedTuple

from .code_maps import CodeMaps
from .elf_symbols import UNNAMED, function_at
from .kernel_stack import FAULTS, KernelStacks, call_of, interrupting, program_addresses
from .perf_map import PerfMaps
from .sched_events import Sampled

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
