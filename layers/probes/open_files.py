"""Which files the processes of a run have open, looked at now and then."""

from __future__ import annotations

import os
import re
from contextlib import suppress

from .sampler import SamplingProbe
from .socket_names import SOCKET, SocketNames
from .sysfs import read_once
from .task_names import words_of

EVERY_S = 0.015
EPOLL, MOST_OF_EPOLL = "anon_inode:[eventpoll]", 3
"""What the kernel calls a set of files that are waited for together; so many of them are named, addresses first."""
TARGET = re.compile(r"^tfd: +(\d+) ", re.MULTILINE)
"""A file of such a set, in its fdinfo."""
STANDARD = range(3)
"""Input, output and errors. Other numbers say nothing, and may be another one in each run."""
PIPE = re.compile(r"pipe:\[\d+\]$")
UNNAMED, DELETED = re.compile(r"#\d+ \(deleted\)$"), " (deleted)"
"""What the kernel puts after the folder of a file that never had a name, and after a name that was taken away."""


class OpenFiles(SamplingProbe[dict[tuple[int, int], str]]):
    """The name of each open file by process and number, and what those processes were started with."""

    def __init__(self) -> None:
        self._seen: list[tuple[float, dict[tuple[int, int], str]]] = []
        self._sockets = SocketNames()
        self.commands: dict[int, tuple[str, ...]] = {}
        """Command lines by process."""
        super().__init__(EVERY_S)

    def before(self) -> None:
        """Forget the run before."""
        self._sockets, self.commands = SocketNames(), {}
        super().before()

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
                if words := words_of(read_once(f"{folder}/cmdline") or b""):
                    self.commands[process] = words
                for number in os.listdir(f"{folder}/fd"):
                    found[process, int(number)] = link = os.readlink(f"{folder}/fd/{number}")
                    if link == EPOLL:
                        targets = TARGET.findall((read_once(f"{folder}/fdinfo/{number}") or b"").decode())
                        found[process, int(number)] += " ".join(targets)
                for task in os.listdir(f"{folder}/task"):
                    with open(f"{folder}/task/{task}/children", "rb", buffering=0) as file:
                        waiting += map(int, file.readall().split())
        self._sockets.learn((process, number, link) for (process, number), link in found.items())
        return found

    def name(self, process: int, number: int, at_ns: int) -> str:
        """What a file was when it was first looked at after a time; empty where it was not seen from then on."""
        for looked_s, seen in self._seen:
            if looked_s * 1e9 >= at_ns and (process, number) in seen:
                link = seen[process, number]
                if not link.startswith(EPOLL):
                    return self._words(link)
                files = {self._words(seen.get((process, int(one)), "")) for one in link.removeprefix(EPOLL).split()}
                return " or ".join(sorted(files - {""}, key=lambda name: (" " not in name, name))[:MOST_OF_EPOLL])
        return f"fd {number}" if number in STANDARD else ""

    def settle(self) -> None:
        """Take what was seen in the run just ended."""
        self._seen = self.samples()

    def _words(self, link: str) -> str:
        """What a link of /proc/PID/fd says, without the numbers that say nothing and differ from run to run."""
        if found := SOCKET.match(link):
            return self._sockets.name(int(found[1]))
        if UNNAMED.search(link):
            return f"an unnamed file in {UNNAMED.sub('', link)}"
        if link.endswith(DELETED):
            return f"{link.removesuffix(DELETED)}, since deleted"
        return PIPE.sub("pipe", link)
