"""Cache lines that threads of a program use on two CPUs at once, by the operands of the instructions sampled there."""

from __future__ import annotations

import bisect
import functools
import json
import operator
import struct
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from .elf_symbols import covering, functions, source_name, variable_at
from .instructions import IP, NAMES, touched
from .kernel_stack import KernelStacks
from .sampled_code import CodeMaps
from .sched_events import Sampled, SchedTrace
from .sched_trace import SAMPLING_NS
from .timeline import Timelines

LINE = 64
"""Bytes of a cache line on x86."""
AT_ONCE_NS = 2 * SAMPLING_NS
"""Samples of two threads on two CPUs that are no further apart."""
FEW, MOST_NAMED = 0.1, 3
"""Of the samples at a line: a function with fewer is not named; nor are more variables than so many."""
UNNAMED = "memory without a name"
GENERAL = struct.Struct(f"={len(NAMES)}Q")


class SharedLine(NamedTuple):
    """A cache line that two threads used at once on two CPUs, and at least one wrote; or several of unnamed memory."""

    where: str
    """The variable that it begins in, or that lies there: `table+0x40 in prog`."""
    functions: tuple[str, ...]
    """That hold most of the samples, by name."""
    threads: int
    writers: int
    apart: bool
    """No thread used a byte that another one did: what they share is the line alone."""
    locked: bool
    """By an instruction with a LOCK prefix, or an exchange with memory."""
    samples: int
    """At an instruction that uses the line, or just after one, while a thread on another CPU was at it too."""


class LineSamples(NamedTuple):
    """Shared cache lines of one run."""

    samples: int
    """Of all the program's threads in its own instructions."""
    lines: tuple[SharedLine, ...]

    def text(self) -> str:
        """As a cell of a table."""
        return json.dumps(self, separators=(",", ":"))

    @classmethod
    def read(cls, text: str) -> LineSamples:
        samples, lines = json.loads(text)
        return cls(samples, tuple(SharedLine(where, tuple(names), *rest) for where, names, *rest in lines))


class _Use(NamedTuple):
    """One sample at a line."""

    at: int
    cpu: int
    task: int
    bytes: int
    """Those of the line that it used, a bit each."""
    writes: bool
    locked: bool
    function: str


@dataclass
class LineSearch:
    """Finds shared cache lines in one run."""

    trace: SchedTrace
    timelines: Timelines
    stacks: KernelStacks
    maps: CodeMaps
    _used: dict[tuple[int, int], list[_Use]] = field(default_factory=lambda: defaultdict(list))
    """By process and line."""

    def find(self, start: int, end: int) -> LineSamples:
        """Look at the samples of all the program's threads between two times."""
        own = {
            task: [
                one
                for one in self.trace.samples.get(task, ())
                if start <= one.at <= end and one.registers and not self.stacks.names(one.stack)
            ]
            for task in self.timelines.tree
        }
        threads = Counter(each[0].process for each in own.values() if each)
        for task, each in own.items():
            for one in each if each and threads[each[0].process] > 1 else ():
                self._use(task, one)
        found = Counter[SharedLine]()
        for (process, line), uses in self._used.items():
            if shared := self._shared(process, line, sorted(uses)):
                found[shared._replace(samples=0)] += shared.samples
        lines = tuple(line._replace(samples=samples) for line, samples in found.most_common())
        return LineSamples(sum(map(len, own.values())), lines)

    def _use(self, task: int, one: Sampled) -> None:
        registers = GENERAL.unpack(one.registers)
        mapped = self.maps.at(one.process, registers[IP])
        if mapped is None:
            return
        offset = registers[IP] - mapped.start + mapped.offset
        if function := covering(functions(mapped.path), offset):
            called = f"{source_name(function.name)} in {Path(mapped.path).name}"
            for there in touched(mapped.path, function, offset - function.start, registers):
                line, first = divmod(there.address, LINE)
                used = ((1 << there.size) - 1) << first & (1 << LINE) - 1
                self._used[one.process, line].append(
                    _Use(one.at, one.cpu, task, used, there.writes, there.locked, called)
                )

    def _shared(self, process: int, line: int, uses: Sequence[_Use]) -> SharedLine | None:
        contended = list(_at_once(uses))
        writers = {one.task for one in contended if one.writes}
        if not writers:
            return None
        used = defaultdict[int, int](int)
        for one in contended:
            used[one.task] |= one.bytes
        names = Counter(one.function for one in contended)
        return SharedLine(
            self._named(process, line * LINE, used.values()),
            tuple(sorted(name for name, count in names.items() if count >= FEW * len(contended))),
            len(used),
            len(writers),
            sum(used.values()) == functools.reduce(operator.or_, used.values()),
            any(one.locked for one in contended),
            len({(one.task, one.at) for one in contended}),
        )

    def _named(self, process: int, address: int, used: Iterable[int]) -> str:
        """Name the first byte that each thread used, of at most MOST_NAMED."""
        firsts = sorted({(mask & -mask).bit_length() - 1 for mask in used})[:MOST_NAMED]
        for mapped in self.maps.of(process):
            named = [variable_at(mapped.path, mapped.start, mapped.offset, address + first) for first in firsts]
            if all(named):
                return f"{' and '.join(named)} in {Path(mapped.path).name}"
        return UNNAMED


def _at_once(uses: Sequence[_Use]) -> Iterator[_Use]:
    """Those, in the order of time, with one by another thread on another CPU at about the same time."""
    first = 0
    for one in uses:
        while uses[first].at < one.at - AT_ONCE_NS:
            first += 1
        until = bisect.bisect_right(uses, one.at + AT_ONCE_NS, lo=first, key=lambda other: other.at)
        if any(uses[at].task != one.task and uses[at].cpu != one.cpu for at in range(first, until)):
            yield one
