"""The probe `bpf`: how long the run's threads waited, as histograms that bpftrace keeps in the kernel."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..schema import Layer, Value
from . import perf_open
from .base import LayerProbe
from .perf_open import libc

PROGRAM = Path(__file__).with_name("bpf.bt")
KINDS = ("run_wait", "blocked", "block_io")
"""What the program measures: @KIND_hist, @KIND_ns, @KIND_max, each by the PID of the run."""
QUANTILES = {"p50_us": 0.5, "p95_us": 0.95, "p99_us": 0.99}
QUESTION, END = "vgo-bpf{}", "all told vgo-bpf{}."
"""The name that a thread of ours takes to have the maps printed and emptied, and what is printed after them."""
PR_SET_NAME = 15
INITIAL_NAMESPACE = "pid:[4026531836]"
"""PROC_PID_INIT_INO of the kernel: where PIDs are those that tracepoints tell."""
TRACING = "sys/kernel/tracing/events"
START_S = 20.0
PRINT_S = 5.0
"""What bpftrace may take, before it is given up."""
AGAIN_S = 0.1
"""While it starts it is asked so often."""


class Bucket(NamedTuple):
    """Part of a histogram: so many waits of low to high microseconds."""

    low: float
    high: float
    waits: int


class BpfProbe(LayerProbe):
    """Keeps one bpftrace for the session and asks it for its maps after each run."""

    def __init__(self, layer: Layer, root: Path) -> None:
        """Start bpftrace; where it cannot run, every column is absent."""
        super().__init__(layer)
        self._tracer: subprocess.Popen[bytes] | None = None
        self._text = b""
        self._pid = 0
        self._asked = False
        self._questions = 0
        self._gathered: dict[str, Value] = {}
        if reason := hindrance(root):
            self._lack(reason)
        else:
            self._start()

    def started(self, pid: int) -> None:
        self._pid = pid
        self._asked = False

    def values(self) -> dict[str, Value]:
        """Ask for the maps, outside the timed window, and reduce those of the run."""
        if not self._asked and self._tracer is not None:
            self._asked, self._gathered = True, {}
            if (maps := self._ask(PRINT_S)) is None:
                self._give_up("stopped answering")
            else:
                self._gathered = self._declared(reduced(maps, str(self._pid)))
        return self._gathered if self._tracer is not None else {}

    def close(self) -> None:
        if self._tracer is not None:
            end(self._tracer)
            self._tracer = None

    def _start(self) -> None:
        command = ["bpftrace", "-B", "line", "-f", "json", str(PROGRAM), str(os.getpid())]
        files = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self._tracer = perf_open.popen(command, **files)
        assert self._tracer.stdout is not None and self._tracer.stderr is not None
        os.set_blocking(self._tracer.stdout.fileno(), False)
        os.set_blocking(self._tracer.stderr.fileno(), False)
        # What it says itself comes before its probes are attached: they are once it answers.
        deadline_s = time.monotonic() + START_S
        while self._ask(AGAIN_S) is None:
            if self._tracer.poll() is not None or time.monotonic() > deadline_s:
                self._give_up("cannot attach its probes")
                break

    def _ask(self, limit_s: float) -> list[dict[str, Any]] | None:
        """Have the maps printed and emptied; None where they do not come within the limit."""
        self._questions += 1
        name = QUESTION.format(self._questions).encode()
        perf_open.thread().submit(libc().prctl, PR_SET_NAME, name).result()
        said = self._line(END.format(self._questions).encode(), limit_s)
        lines = [json.loads(line) for line in said.splitlines() if line.startswith(b"{")]
        return [line["data"] for line in lines if line["type"] in ("map", "hist")] if said else None

    def _line(self, word: bytes, limit_s: float) -> bytes:
        """Return all that is said up to the line that has a word in it; nothing where it does not come."""
        assert self._tracer is not None and self._tracer.stdout is not None
        file = self._tracer.stdout.fileno()
        deadline_s = time.monotonic() + limit_s
        while True:
            at = self._text.find(word)
            end_of_line = self._text.find(b"\n", at) if at >= 0 else -1
            if end_of_line >= 0:
                said, self._text = self._text[:end_of_line], self._text[end_of_line + 1 :]
                return said
            ready, _, _ = select.select([file], [], [], max(0.0, deadline_s - time.monotonic()))
            part = os.read(file, 1 << 16) if ready else b""
            if not part:
                return b""
            self._text += part

    def _give_up(self, what: str) -> None:
        """End it; its last words are the reason."""
        assert self._tracer is not None
        tracer, self._tracer = self._tracer, None
        said = (tracer.stderr.read() if tracer.stderr else None) or b""
        end(tracer)
        # It complains about the limit of locked memory wherever it may not raise it, and goes on.
        lines = [line.strip() for line in said.decode(errors="replace").splitlines() if "RLIMIT_MEMLOCK" not in line]
        words = next((line for line in lines if "ERROR" in line), "it said nothing")[:200]
        self._lack(f"bpftrace {what} ({words}): it needs root, CONFIG_BPF_SYSCALL and tracepoints")


def hindrance(root: Path) -> str:
    """Say why bpftrace cannot run here, and the cure; empty where nothing is known to be in its way."""
    if shutil.which("bpftrace") is None:
        return "bpftrace is not installed: apt-get install bpftrace"
    if os.geteuid() != 0:
        return "bpftrace works for root alone: run as root"
    if os.readlink("/proc/self/ns/pid") != INITIAL_NAMESPACE:
        return "this container has PIDs of its own, and bpftrace sees the host's: start it with --pid=host"
    if not (root / TRACING).is_dir():
        return "tracefs is not mounted: mount -t tracefs nodev /sys/kernel/tracing"
    return ""


def end(tracer: subprocess.Popen[bytes]) -> None:
    """End a process and close its pipes."""
    tracer.terminate()
    try:
        tracer.communicate(timeout=PRINT_S)
    except subprocess.TimeoutExpired:
        tracer.kill()
        tracer.communicate()


def reduced(maps: Sequence[Mapping[str, Any]], pid: str) -> dict[str, float]:
    """Return the columns of one run from the maps of bpftrace; zeros where it never waited."""
    known: dict[str, Any] = {}
    for printed in maps:
        known |= {name: by_pid.get(pid) for name, by_pid in printed.items()}
    values: dict[str, float] = {}
    for kind in KINDS:
        buckets = buckets_of(known.get(f"@{kind}_hist") or [])
        most_us = (known.get(f"@{kind}_max") or 0) / 1e3
        values[f"bpf.{kind}_count"] = float(sum(bucket.waits for bucket in buckets))
        values[f"bpf.{kind}_total_us"] = (known.get(f"@{kind}_ns") or 0) / 1e3
        if buckets:
            values |= {f"bpf.{kind}_{name}": min(quantile(buckets, q), most_us) for name, q in QUANTILES.items()}
            values[f"bpf.{kind}_max_us"] = most_us
    return values


def buckets_of(printed: Sequence[Mapping[str, int]]) -> list[Bucket]:
    """Read a histogram: `min` and `max` are whole numbers, both within the bucket."""
    return [
        Bucket(max(0, part.get("min", 0)), part.get("max", 0) + 1, part["count"]) for part in printed if part["count"]
    ]


def quantile(buckets: Sequence[Bucket], share: float) -> float:
    """Return a quantile, taking the waits of a bucket as spread evenly over it."""
    left = share * sum(bucket.waits for bucket in buckets)
    for bucket in buckets:
        if left <= bucket.waits:
            return bucket.low + (bucket.high - bucket.low) * left / bucket.waits
        left -= bucket.waits
    return buckets[-1].high
