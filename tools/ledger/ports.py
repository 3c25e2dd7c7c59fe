"""Ports in the words of opened runs: one that the kernel chose anew for a run would make of a part many parts."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable

from ...layers.probes.opened import CpuSamples, OpenedPart, OpenedRun

PORT = re.compile(r"(socket (?:to|at|of) [^ )]+?):(\d+)(?=[/ )])")
FEWEST = 3
"""Runs in which a port was seen, if the address had others: with fewer, it is one of that run."""


def with_lasting_ports(opened: tuple[OpenedRun, ...]) -> tuple[OpenedRun, ...]:
    """The same runs, with `*` for each port that only few of them have."""
    seen = defaultdict[str, Counter[str]](Counter)
    for run in opened:
        for address, port in {found for part in run.parts for found in PORT.findall(f"{part.what} {part.via}")}:
            seen[address][port] += 1
    passing = {
        f"{address}:{port}"
        for address, ports in seen.items()
        for port, runs in ports.items()
        if len(ports) > 1 and runs < FEWEST
    }
    return tuple(_without(run, passing) for run in opened) if passing else opened


def _without(run: OpenedRun, passing: Iterable[str]) -> OpenedRun:
    def words(text: str) -> str:
        return PORT.sub(lambda found: f"{found[1]}:*" if found[0] in passing else found[0], text)

    parts = (OpenedPart(one.state, one.own, words(one.what), words(one.via), *one[4:]) for one in run.parts)
    samples = (CpuSamples(words(one.what), words(one.via), *one[2:]) for one in run.samples)
    return run._replace(parts=tuple(parts), samples=tuple(samples))
