"""Generic netlink, as much of it as one kernel family needs: find it, ask it something, read what it sends."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack, suppress

NETLINK_GENERIC = 16
REQUEST, ACK = 1, 4
"""Flags of a message."""
ERROR, CONTROL = 2, 0x10
"""Types of a message: an answer with an error number (0: all is well), and the family that knows the others."""
GET_FAMILY = 3
FAMILY_ID, FAMILY_NAME = 1, 2
"""Command and attributes of the family `nlctrl`."""
SO_RCVBUFFORCE = 33
HEADER = struct.Struct("=IHHII")
GENERIC = struct.Struct("=BBH")
ATTRIBUTE = struct.Struct("=HH")
NUMBER = struct.Struct("=i")
TYPE_MASK = 0x3FFF
"""The two highest bits of an attribute's type are flags."""
ROOM = 1 << 16


class Family:
    """A socket to one family of generic netlink."""

    def __init__(self, name: str, buffer: int) -> None:
        """Find the family; `buffer` bytes may wait to be read. OSError where this kernel or this user may not."""
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, NETLINK_GENERIC)
        with ExitStack() as failing:
            failing.callback(self._socket.close)
            self._socket.bind((0, 0))
            # A user without the right to exceed the limit keeps what the limit allows.
            with suppress(PermissionError):
                self._socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, buffer)
            answer = self._exchange(CONTROL, GET_FAMILY, ((FAMILY_NAME, name.encode() + b"\0"),))
            self._number = int.from_bytes(dict(attributes_of(answer))[FAMILY_ID], "little")
            failing.pop_all()
        self._socket.setblocking(False)

    def ask(self, command: int, *attributes: tuple[int, bytes]) -> None:
        """Send a command and wait until the kernel says that it is done; OSError where it refuses."""
        self._socket.setblocking(True)
        try:
            self._exchange(self._number, command, attributes)
        finally:
            self._socket.setblocking(False)

    def waiting(self) -> Iterator[bytes]:
        """Read the attributes of each message that has come; OSError ENOBUFS where some were lost."""
        while True:
            try:
                received = self._socket.recv(ROOM)
            except BlockingIOError:
                return
            yield from (body[GENERIC.size :] for kind, body in messages(received) if kind == self._number)

    def close(self) -> None:
        """Close the socket, which ends whatever it was registered for."""
        self._socket.close()

    def _exchange(self, kind: int, command: int, attributes: tuple[tuple[int, bytes], ...]) -> bytes:
        """Send a message; return the attributes of its answer, if there was one besides the acknowledgement."""
        body = GENERIC.pack(command, 1, 0) + b"".join(attribute(number, value) for number, value in attributes)
        self._socket.send(HEADER.pack(HEADER.size + len(body), kind, REQUEST | ACK, 0, 0) + body)
        answer = b""
        while True:
            for of, content in messages(self._socket.recv(ROOM)):
                if of == ERROR:
                    (code,) = NUMBER.unpack_from(content)
                    if code:
                        raise OSError(-code, os.strerror(-code))
                    return answer
                if of == kind:
                    answer = content[GENERIC.size :]


def messages(received: bytes) -> Iterator[tuple[int, bytes]]:
    """Take a datagram apart: type and body of each message."""
    place = 0
    while place + HEADER.size <= len(received):
        length, kind, _, _, _ = HEADER.unpack_from(received, place)
        yield kind, received[place + HEADER.size : place + length]
        place += aligned(max(length, HEADER.size))


def attributes_of(body: bytes) -> Iterator[tuple[int, bytes]]:
    """Take a body apart: type and value of each attribute."""
    place = 0
    while place + ATTRIBUTE.size <= len(body):
        length, kind = ATTRIBUTE.unpack_from(body, place)
        yield kind & TYPE_MASK, body[place + ATTRIBUTE.size : place + length]
        place += aligned(max(length, ATTRIBUTE.size))


def attribute(kind: int, value: bytes) -> bytes:
    """Write one attribute."""
    length = ATTRIBUTE.size + len(value)
    return ATTRIBUTE.pack(length, kind) + value.ljust(aligned(length) - ATTRIBUTE.size, b"\0")


def aligned(length: int) -> int:
    """Round up to the four bytes that netlink aligns everything to."""
    return length + 3 & ~3
