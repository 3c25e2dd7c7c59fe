"""Names in opened runs that last: a port or a file that was made anew for a run would make of a part many parts."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from ...layers.probes.opened import CpuSamples, OpenedPart, OpenedRun

PORT = re.compile(r"(socket (?:to|at|of) [^ )]+?):(\d+)(?=[/ )])")
PATH = re.compile(r"(?<=[ (])/[^ (),]+")
FEWEST = 3
"""Runs in which a name was seen: with fewer it passes, if at least so many others beside it do, too."""


def with_lasting_names(opened: tuple[OpenedRun, ...]) -> tuple[OpenedRun, ...]:
    """The same runs, with `*` for ports of an address, and for names in a folder, that only few runs have each."""
    runs = Counter[tuple[str, str]](name for run in opened for name in set(_names(run)))
    passing = defaultdict[str, set[str]](set)
    for (beside, name), seen in runs.items():
        if seen < FEWEST:
            passing[beside].add(name)
    kept = {beside: names for beside, names in passing.items() if len(names) >= FEWEST}
    return tuple(_without(run, kept) for run in opened) if kept else opened


def _names(run: OpenedRun) -> Iterator[tuple[str, str]]:
    """The address and each of its ports, a folder and each name in it."""
    for text in {text for part in run.parts for text in (part.what, part.via)}:
        yield from PORT.findall(text)
        for path in PATH.findall(text):
            pieces = path.split("/")
            yield from (("/".join(pieces[:at]), pieces[at]) for at in range(1, len(pieces)))


def _without(run: OpenedRun, passing: dict[str, set[str]]) -> OpenedRun:
    def of_port(found: re.Match[str]) -> str:
        return f"{found[1]}:*" if found[2] in passing.get(found[1], ()) else found[0]

    def of_path(found: re.Match[str]) -> str:
        pieces = found[0].split("/")
        lasting = ("*" if name in passing.get("/".join(pieces[:at]), ()) else name for at, name in enumerate(pieces))
        return "/".join(lasting)

    def words(text: str) -> str:
        return PATH.sub(of_path, PORT.sub(of_port, text))

    parts = (OpenedPart(one.state, one.own, words(one.what), words(one.via), *one[4:]) for one in run.parts)
    samples = (CpuSamples(words(one.what), words(one.via), *one[2:]) for one in run.samples)
    return run._replace(parts=tuple(parts), samples=tuple(samples))
