"""Lines that come in, from a terminal or a pipe, without waiting for them longer than asked."""

from __future__ import annotations

import os
import select
from collections import deque

LONGEST = 1 << 20
"""Bytes of a line without an end: more is no line."""


class LinesIn:
    """Reads a file descriptor as text goes in; what is no UTF-8 is read as far as it goes."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._held = b""
        self._lines: deque[str] = deque()
        self.ended = False
        """Nothing more will come; lines that came before may still wait."""

    def wait(self, seconds: float) -> None:
        """Wait for more, so long at most; at the end of input, that long."""
        if self.ended:
            select.select([], [], [], seconds)
            return
        ready, _, _ = select.select([self._descriptor], [], [], seconds)
        if not ready:
            return
        came = self._read()
        *whole, self._held = (self._held + came).split(b"\n")
        if not came or len(self._held) > LONGEST:
            self.ended = self.ended or not came
            whole, self._held = [*whole, self._held], b""
        self._lines += [line.decode(errors="replace").strip() for line in whole if line.strip()]

    def _read(self) -> bytes:
        try:
            came = os.read(self._descriptor, 1 << 16)
        except OSError:  # the terminal has gone
            came = b""
        self.ended = not came
        return came

    @property
    def first(self) -> str:
        """The line that waits; empty where none does."""
        return self._lines[0] if self._lines else ""

    def take(self) -> str:
        """Take the line that waits."""
        return self._lines.popleft()
