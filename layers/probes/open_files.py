"""Which files the processes of a run have open, looked at now and then."""

from __future__ import annotations

import os
import re
from contextlib import suppress

from .sampler import SamplingProbe

EVERY_S = 0.015
NUMBERED = re.compile(r":\[\d+\]$")
"""The number of a socket or a pipe, which says nothing and differs from run to run."""
UNNAMED, DELETED = re.compile(r"#\d+ \(deleted\)$"), " (deleted)"
"""What the kernel puts after the folder of a file that never had a name, and after a name that was taken away."""


class OpenFiles(SamplingProbe[dict[tuple[int, int], str]]):
    """The name of each open file by process and number."""

    def __init__(self) -> None:
        self._seen: list[tuple[float, dict[tuple[int, int], str]]] = []
        super().__init__(EVERY_S)

    def read(self, pid: int) -> dict[tuple[int, int], str] | None:
        """List the files of a process and of all that it started."""
        if not pid:
            return None
        found: dict[tuple[int, int], str] = {}
        waiting = [pid]
        while waiting:
            process = waiting.pop()
            with suppress(OSError):  # it has ended
                folder = f"/proc/{process}"
                for number in os.listdir(f"{folder}/fd"):
                    found[process, int(number)] = os.readlink(f"{folder}/fd/{number}")
                for task in os.listdir(f"{folder}/task"):
                    with open(f"{folder}/task/{task}/children") as file:
                        waiting += map(int, file.read().split())
        return found

    def name(self, process: int, number: int, at_ns: int) -> str:
        """What a file was when it was first looked at after a time; `fd N` where it was not seen from then on."""
        for looked_s, seen in self._seen:
            if looked_s * 1e9 >= at_ns and (process, number) in seen:
                return _words(seen[process, number])
        return f"fd {number}"

    def settle(self) -> None:
        """Take what was seen in the run just ended."""
        self._seen = self.samples()


def _words(link: str) -> str:
    """What a link of /proc/PID/fd says."""
    if UNNAMED.search(link):
        return f"an unnamed file in {UNNAMED.sub('', link)}"
    if link.endswith(DELETED):
        return f"{link.removesuffix(DELETED)}, since deleted"
    return NUMBERED.sub("", link)
