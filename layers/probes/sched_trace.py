"""What the scheduler did on all CPUs while a run lasted: events in the order of time, with stacks where asked for."""

from __future__ import annotations

import platform
import struct
from collections.abc import Sequence
from pathlib import Path

from ..pid_namespace import pid_namespace
from .instructions import GENERAL_REGISTERS, NAMES, operands_unknown
from .kernel_stack import kernel_functions
from .machine import CPU_FIELDS
from .perf_names import TraceFormat, trace_formats
from .perf_open import SOFTWARE, TRACEPOINT
from .perf_ring import (
    CHAIN,
    CONTEXT_SWITCH,
    EXCLUDE_IDLE,
    KERNEL_CHAIN,
    MAPS,
    MAPS2,
    PERIOD,
    RAW,
    REGISTERS,
    STACK,
    RingEvent,
    largest_rings,
)
from .sched_events import (
    MARKED,
    PART,
    READING,
    FailedCall,
    Fork,
    Mapped,
    Mark,
    Ran,
    Sampled,
    SchedTrace,
    Switch,
    SwitchedIn,
    TimerSet,
    Waking,
    part_events,
    text_at,
)

SWITCH, WAKING, FORK = "sched/sched_switch", "sched/sched_waking", "sched/sched_process_fork"
RAN = "sched/sched_stat_runtime"
ALWAYS = (SWITCH, WAKING, FORK, RAN)
FAILED, CLOCK, TIMER = "raw_syscalls/sys_exit", "cpu-clock", "timer/hrtimer_start"
WAKES = "hrtimer_wakeup"
"""What the kernel calls when a timer fires by which a task wants to be woken."""
CPU_CLOCK = 0
"""PERF_COUNT_SW_CPU_CLOCK."""
SAMPLING_NS = 1_000_000
"""Between two samples of what is on a CPU."""
SAMPLE, MAPPED, SWITCHED = 9, 10, 15
"""PERF_RECORD_SAMPLE, _MMAP2, _SWITCH_CPU_WIDE."""
LONGEST, LONGEST_WITH_STACK = 256, 2048
"""Bytes of a record; a stack has 127 addresses at most (sysctl kernel.perf_event_max_stack)."""
SWITCHED_OUT = 0x2000
NAME = "16s"
"""How a task's name lies in an event."""
NO_REGISTERS, WIDE_REGISTERS = bytes(8), (2).to_bytes(8, "little")
"""What stands before registers of 64 bits: PERF_SAMPLE_REGS_ABI_64."""
NO_NUMBER = (1 << 32) - 1
"""Of a task that has ended."""
ARGUMENT = {"x86_64": 1 << 5, "aarch64": 1 << 0}.get(platform.machine(), 0)
"""Mask of the register that holds the first argument of a call, as linux/asm/perf_regs.h counts them."""
CPU_CLOCK_IDS = 2, 3
"""CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID: those who read them ask for no time of day."""
RECORD, HEADER, MAPPING = struct.Struct("=IHH"), struct.Struct("=QIIQI"), struct.Struct("=IIQQQ")
"""Kind, flags and size of a record; then of a sample identifier, process, task, time and CPU."""
SWITCH_BODY = struct.Struct("=IIIIQI")
WITH_STACK = frozenset({SWITCH, WAKING, CLOCK})
BODY = 40
"""Bytes of a sample before its stack or raw data."""


class SchedRings:
    """The rings that a ledger is made from; raises OSError where the kernel refuses."""

    def __init__(self, root: Path, size: int = 4 << 20, stacks: bool = False, memory: int = 0) -> None:
        """Open the events, switched off, as root or with CAP_PERFMON and a readable tracefs.

        `memory`: bytes of the program's stack that samples carry.
        """
        names = (*ALWAYS, *((FAILED, TIMER, *PART) if stacks else ()))
        formats = trace_formats(root, names)
        self._stacks, self._memory = stacks, memory
        self._general = 0 if not stacks or operands_unknown() else GENERAL_REGISTERS
        self._registers = ARGUMENT if stacks else 0
        self._switch = fields(
            formats[SWITCH],
            **{"prev_comm": NAME, "prev_pid": "i", "prev_prio": "i", "prev_state": "q"},
            **{"next_comm": NAME, "next_pid": "i", "next_prio": "i"},
        )
        self._waking = fields(formats[WAKING], common_flags="B", common_pid="i", pid="i")
        self._fork = fields(formats[FORK], common_pid="i", child_pid="i")
        self._ran, self._root = fields(formats[RAN], pid="i", runtime="Q"), root
        # What a tracepoint says of tasks is numbered as on the whole machine, what records say as in our namespace.
        self._nested = pid_namespace() != 0
        self._own_numbers: dict[int, int] = {}
        if stacks:
            self._failed = fields(formats[FAILED], id="q", ret="q")
            self._timer = fields(formats[TIMER], common_pid="i", expires="q")
            self._marked = fields(formats[MARKED], pid="i", oldcomm=NAME, newcomm=NAME)
        self._numbers = {name: one.number for name, one in formats.items()}
        self.rings = largest_rings(root, self._events(), size)

    def watch_part(self, timed: bool) -> None:
        """Open, switched off, what tells which part of a run a metric measures; marks alone where that is no time."""
        self.rings.add(*(one for one in part_events(self._numbers) if timed or one.name == MARKED))

    def _events(self) -> list[RingEvent]:
        """The first carries the records of switches and mappings: each event would write its own."""
        # With its period a runtime is one sample; without, one for each nanosecond, until the kernel stops them.
        switch, waking, *others = (
            RingEvent(name, TRACEPOINT, self._numbers[name], sample=RAW | PERIOD * (name == RAN)) for name in ALWAYS
        )
        if not self._stacks:
            return [switch._replace(flags=CONTEXT_SWITCH), waking, *others]
        sample = RAW | CHAIN | (REGISTERS if self._registers else 0)
        flags = CONTEXT_SWITCH | MAPS | MAPS2 | KERNEL_CHAIN
        sampled = CHAIN | REGISTERS * bool(self._general) | STACK * bool(self._memory)
        clock = RingEvent(
            *(CLOCK, SOFTWARE, CPU_CLOCK, sampled, EXCLUDE_IDLE, SAMPLING_NS, self._general), stack_bytes=self._memory
        )
        wakes = [
            f"function == {at:#x}" for at, name in zip(*kernel_functions(self._root), strict=True) if name == WAKES
        ]
        return [
            switch._replace(sample=sample, flags=flags, registers=self._registers),
            waking._replace(sample=RAW | CHAIN, flags=KERNEL_CHAIN),
            *others,
            RingEvent(FAILED, TRACEPOINT, self._numbers[FAILED], filter="ret < 0 && ret > -200"),
            *(RingEvent(TIMER, TRACEPOINT, self._numbers[TIMER], filter=one) for one in wakes[:1]),
            clock,
        ]

    def full(self, written: Sequence[bytes]) -> bool:
        """Tell whether further events may not have fitted into a ring."""
        return self.rings.full(written, LONGEST_WITH_STACK + self._memory if self._stacks else LONGEST)

    def read(self, written: Sequence[bytes]) -> SchedTrace:
        """Parse what was written."""
        trace = SchedTrace(stolen=steals(self._root))
        for records in written:
            self._read(records, trace)
        if self._nested:
            trace.renumber(self._own_numbers)
        trace.events.sort(key=lambda event: event.at)
        for event in trace.events:  # a thread of a program that has called itself by a mark has no other name
            if isinstance(event, Fork) and event.child not in trace.names and event.parent in trace.names:
                trace.names[event.child] = trace.names[event.parent]
        trace.failed.sort()
        trace.marks.sort()
        for times in trace.times.values():
            times.sort()
        for samples in trace.samples.values():
            samples.sort()
        return trace

    def close(self) -> None:
        self.rings.close()

    def _read(self, records: bytes, trace: SchedTrace) -> None:
        at, end = 0, len(records)
        while at < end:
            kind, flags, size = RECORD.unpack_from(records, at)
            if kind == SAMPLE:
                self._sample(records, at, trace)
            elif kind == SWITCHED:
                _, _, _, task, time, cpu = SWITCH_BODY.unpack_from(records, at + RECORD.size)
                if not (flags & SWITCHED_OUT or self._nested and not task):  # none may be one outside of our namespace
                    trace.events.append(SwitchedIn(time, cpu, task))
            elif kind == MAPPED:
                process, _, start, length, offset = MAPPING.unpack_from(records, at + RECORD.size)
                path = text_at(records[at + 72 : at + size])
                trace.mapped.append(Mapped(process, start, length, offset, path))
            at += size

    def _sample(self, records: bytes, at: int, trace: SchedTrace) -> None:
        number, process, task, time, cpu = HEADER.unpack_from(records, at + RECORD.size)
        name, raw, stack = self.rings.names.get(number, ""), at + BODY, b""
        if self._stacks and name in WITH_STACK:
            raw += 8 + 8 * int.from_bytes(records[raw : raw + 8], "little")
            stack = records[at + BODY + 8 : raw]
        raw += 4  # its own size
        if name == SWITCH:
            # After the raw data: 8 bytes for how the program runs, 0 for none, and 8 for each register.
            argument = self._first_register(records, raw + int.from_bytes(records[raw - 4 : raw], "little"))
            called, out, of_out, state, calls, into, of_into = self._switch.unpack_from(records, raw)
            for task_of, priority in ((out, of_out), (into, of_into)):
                trace.priorities[task_of] = max(trace.priorities.get(task_of, (0, 0)), (time, priority))
            trace.call(out, time, called)
            trace.call(into, time, calls)
            if self._nested and 0 < task < NO_NUMBER:
                self._own_numbers[out] = task
            trace.events.append(Switch(time, cpu, out, state, into, process, stack, argument))
        elif name == WAKING:
            flags, waker, woken = self._waking.unpack_from(records, raw)
            trace.events.append(Waking(time, cpu, waker, woken, flags, stack))
        elif name == RAN:
            trace.events.append(Ran(time, cpu, *self._ran.unpack_from(records, raw + 8)))
        elif name == CLOCK:
            registers, raw = self._registers_at(records, raw - 4)
            memory = self._memory_at(records, raw) if self._memory else b""
            trace.samples.setdefault(task, []).append(Sampled(time, process, stack, memory, cpu, registers))
        else:
            self._rarer(name, records, raw, (time, cpu, task), trace)

    def _rarer(self, name: str, records: bytes, raw: int, place: tuple[int, int, int], trace: SchedTrace) -> None:
        time, cpu, task = place
        if name == FORK:
            trace.events.append(Fork(time, cpu, *self._fork.unpack_from(records, raw)))
        elif name == TIMER:
            trace.events.append(TimerSet(time, cpu, *self._timer.unpack_from(records, raw)))
        elif name == FAILED:
            call, error = self._failed.unpack_from(records, raw)
            trace.failed.append(FailedCall(time, task, call, -error))
        elif name == MARKED:
            renamed, called, mark = self._marked.unpack_from(records, raw)
            trace.call(renamed, time, called)
            trace.marks.append(Mark(time, task, text_at(mark).strip()))
        elif name in trace.times and not (name == READING and self._first_register(records, raw - 4) in CPU_CLOCK_IDS):
            trace.times[name].append((time, task))

    def _registers_at(self, records: bytes, at: int) -> tuple[bytes, int]:
        """The general registers, 8 bytes each, if they are as wide; where what comes after them begins."""
        if not self._general:
            return b"", at
        end = at + 8 if records[at : at + 8] == NO_REGISTERS else at + 8 + 8 * len(NAMES)
        return records[at + 8 : end] if records[at : at + 8] == WIDE_REGISTERS else b"", end

    @staticmethod
    def _memory_at(records: bytes, at: int) -> bytes:
        """What lies on the program's stack: 8 bytes for the room, none for a thread of the kernel; that; its length."""
        end = at + 8 + int.from_bytes(records[at : at + 8], "little")
        return records[at + 8 : at + 8 + int.from_bytes(records[end : end + 8], "little")] if end > at + 8 else b""

    def _first_register(self, records: bytes, at: int) -> int | None:
        if not self._registers or records[at : at + 8] == NO_REGISTERS:
            return None
        return int.from_bytes(records[at + 8 : at + 16], "little")


def steals(root: Path) -> bool:
    """Tell whether the host of this virtual machine has run something else while the machine wanted a CPU."""
    total = (root / "proc/stat").read_text().split("\n", 1)[0].split()
    return int(dict(zip(CPU_FIELDS, total[1:], strict=False)).get("steal", 0)) > 0


def fields(trace_format: TraceFormat, **codes: str) -> struct.Struct:
    """Read fields of a tracepoint, given with their struct codes in the order in which they lie."""
    form, at = "=", 0
    for name, code in codes.items():
        offset = trace_format.offsets[name]
        form += f"{offset - at}x{code}"
        at = offset + struct.calcsize(f"={code}")
    return struct.Struct(form)
