"""Which files the processes of a run have open, looked at now and then, and what their sockets are called.

A socket is called by the end of its connection that stays the same from run to run, if one does. This is read from
/proc/PID/net, so in the network namespace of the process; the other end of a Unix socket is asked for by sock_diag(7).
"""

from __future__ import annotations

import ipaddress
import os
import re
import socket
import struct
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress

from .netlink import ERROR, HEADER, REQUEST, attributes_of, messages
from .sampler import SamplingProbe
from .sysfs import read_once
from .task_names import words_of

UNIX = "unix"
SOCKET = re.compile(r"socket:\[(\d+)\]$")
"""What /proc/PID/fd says of one, with its inode."""
TABLES = {"TCP": "tcp", "TCPv6": "tcp6", "UDP": "udp", "UDPv6": "udp6", "UNIX": UNIX}
"""By what the kernel calls the protocol of a socket (an attribute, xattr(7)), of a Unix one up to `-STREAM`."""
PROTOCOL = "system.sockprotoname"
LISTENING, CONNECTED = "0A", "03"
"""States of a TCP socket and of a Unix socket."""
SELDOM = 50
"""Tables are read for a fiftieth of the time at most: the kernel goes through all sockets of the machine for them."""
SOCK_DIAG, BY_FAMILY, NAME, PEER = 4, 20, 0, 2
ASKED, FOUND = struct.Struct("=BBHIIIII"), struct.Struct("=BBBBIII")
"""Netlink protocol, message, attributes; `unix_diag_req` and `unix_diag_msg` of linux/unix_diag.h."""
SHOW_NAME, SHOW_PEER, ANY = 1, 4, 0xFFFFFFFF
CHOSEN = re.compile(r"\0[0-9a-f]{5}$")
"""A name that the kernel gave."""


class SocketNames:
    """The names of sockets by inode, learnt while they are open."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._due_s = 0.0

    def learn(self, links: Iterable[tuple[int, int, str]]) -> None:
        """Look up the sockets without a name yet among open files: process, number and link of /proc/PID/fd.

        Only in the table of their protocol: of TCP the kernel walks through all that it has room for, 5 ms here.
        """
        lacking = dict[tuple[str, str], tuple[int, set[int]]]()
        if time.monotonic() < self._due_s:
            return
        for process, number, link in links:
            if (found := SOCKET.match(link)) and int(found[1]) not in self._names:
                with suppress(OSError):
                    space, table = os.readlink(f"/proc/{process}/ns/net"), _table(process, number)
                    lacking.setdefault((space, table), (process, set()))[1].add(int(found[1]))
        began_s = time.thread_time()
        for (space, table), (process, inodes) in lacking.items():
            if table == UNIX:
                here = space == os.readlink("/proc/self/ns/net")
                self._names.update(_unix(_rows(process, table), inodes, here))
            elif table:
                self._names.update(one for one in _inet(_rows(process, table), table) if one[0] in inodes)
        self._due_s = time.monotonic() + SELDOM * (time.thread_time() - began_s)

    def name(self, inode: int) -> str:
        """Name a socket; just `socket` where it was not found, or has no address."""
        return self._names.get(inode, "socket")


def _table(process: int, number: int) -> str:
    """The table that a socket stands in; empty where it has none, as those of netlink."""
    protocol = os.getxattr(f"/proc/{process}/fd/{number}", PROTOCOL).rstrip(b"\0").decode()
    return TABLES.get(protocol.partition("-")[0], "")


def _rows(process: int, table: str) -> list[list[str]]:
    """The lines of a table below its head, in words; none where the process has ended or the kernel lacks the table."""
    with suppress(OSError), open(f"/proc/{process}/net/{table}", errors="replace") as file:
        return [line.split(maxsplit=7 if table == UNIX else 9) for line in file][1:]
    return []


def _inet(rows: list[list[str]], table: str) -> Iterator[tuple[int, str]]:
    listening = {row[1].rpartition(":")[2] for row in rows if row[3] == LISTENING}
    protocol = "/udp" if table.startswith("udp") else ""
    for row in rows:
        local, remote, inode = row[1], row[2], int(row[9].split()[0])
        if remote.endswith(":0000"):
            yield inode, f"socket at {_address(local)}{protocol}"
        elif local.rpartition(":")[2] in listening:
            yield inode, f"socket of {_address(local)}{protocol} from {_address(remote).rpartition(':')[0]}"
        else:
            yield inode, f"socket to {_address(remote)}{protocol}"


def _address(coded: str) -> str:
    """Read the kernel's `0100007F:2328`, words of four bytes, as 127.0.0.1:9000."""
    words, _, port = coded.partition(":")
    each = (int(words[at : at + 8], 16).to_bytes(4, sys.byteorder) for at in range(0, len(words), 8))
    host = ipaddress.ip_address(b"".join(each))
    host = getattr(host, "ipv4_mapped", None) or host
    named = "*" if host.is_unspecified else f"[{host}]" if host.version == 6 else str(host)
    return f"{named}:{int(port, 16)}"


def _unix(rows: list[list[str]], inodes: set[int], here: bool) -> Iterator[tuple[int, str]]:
    for row in rows:
        if (inode := int(row[6])) not in inodes:
            continue
        if len(row) > 7:
            yield inode, f"socket at {row[7].rstrip()}"
        elif row[5] == CONNECTED:
            path = _path_of_peer(inode) if here else ""
            if path is not None:
                yield inode, f"socket to {path}" if path else "socket"


def _path_of_peer(inode: int) -> str | None:
    """Where the other end of a Unix socket is bound; empty where it is not, None as long as it is not accepted."""
    with suppress(OSError), socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, SOCK_DIAG) as asked:
        peer = int.from_bytes(_diag(asked, inode, SHOW_PEER, PEER), sys.byteorder)
        if not peer:
            return None
        path = _diag(asked, peer, SHOW_NAME, NAME).decode(errors="replace").rstrip("\0")
        return "" if CHOSEN.match(path) else path.replace("\0", "@", 1)
    return ""


def _diag(asked: socket.socket, inode: int, show: int, attribute: int) -> bytes:
    body = ASKED.pack(socket.AF_UNIX, 0, 0, ANY, inode, show, ANY, ANY)
    asked.send(HEADER.pack(HEADER.size + len(body), BY_FAMILY, REQUEST, 0, 0) + body)
    ((kind, content),) = messages(asked.recv(1 << 13))
    return b"" if kind == ERROR else dict(attributes_of(content[FOUND.size :])).get(attribute, b"")


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
