"""What a run printed, by which runs are held against each other: its lines without their numbers, as digests."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping

from .capture import ERROR_TAIL
from .launch import Run

SAID = "said"
"""Key of a row, and no column of its table: what the run printed."""
READ = 32 << 10
"""Bytes of the beginning of standard output that are read, and as many of its end."""
MOST_LINES, LONGEST = 256, 120
"""Different lines that are kept of a run, those with the least digests, so that of many runs the same; characters."""
_NUMBER = re.compile(r"\d")
_UNIT = re.compile(r"([num\u00b5]?s|secs?|seconds?|min|minutes?|[kKMG]?i?B|bytes)[.,;:)\]]*")
"""Left out behind a number, since it changes with it."""
_REPEATED = re.compile(r"([^\w\s])\1+")
"""A bar or a row of dots: how long it is says how far something was."""

LinesOfRun = Mapping[str, str]
"""Digest of a line to the line, which is empty where it was told before."""


class PrintedLines:
    """Reads what runs printed; tells each line once."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def of(self, run: Run) -> LinesOfRun:
        """Give the lines of standard output, as far as it was captured, and of standard error."""
        lines = {hashlib.blake2b(line.encode(), digest_size=8).hexdigest(): line for line in _lines(run)}
        kept = {digest: "" if digest in self._told else lines[digest] for digest in sorted(lines)[:MOST_LINES]}
        self._told |= kept.keys()
        return kept


def _lines(run: Run) -> Iterator[str]:
    output, error = run.output, run.error
    if len(output) > 2 * READ:
        head, tail = output[:READ], output[-READ:]
        output = head[: head.rfind(b"\n") + 1] + tail[tail.find(b"\n") + 1 :]
    if len(error) == ERROR_TAIL:  # its first line is a part of one
        error = error[error.find(b"\n") + 1 :]
    for text in (output, error):
        yield from filter(None, map(without_numbers, text.decode(errors="replace").splitlines()))


def without_numbers(line: str) -> str:
    """Write # for words that have a digit, and their units; empty where no letter is left."""
    words: list[str] = []
    for word in _REPEATED.sub(r"\1", line[: 4 * LONGEST]).split():
        after = words[-1:] == ["#"]
        if _NUMBER.search(word):
            words += [] if after else ["#"]
        elif not (after and _UNIT.fullmatch(word)):
            words.append(word)
    shape = " ".join(words)[:LONGEST]
    return "".join(char if char.isprintable() else "?" for char in shape) if any(map(str.isalpha, shape)) else ""
