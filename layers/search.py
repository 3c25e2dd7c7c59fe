"""Search text by regex in a process of its own, since a regex can take years and nothing else would end it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import weakref
from contextlib import suppress
from typing import IO

Found = tuple[str, str]
"""The name for the `*` of a column (empty without one), and the value."""


class TooLong(Exception):
    """What was to read a value took longer than it may."""


class Searcher:
    """A process that searches, started when it is first needed; it ends with this object."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[str] | None = None

    def finds(self, regex: str, text: str, filled_in: bool, limit_s: float) -> list[Found]:
        """Find every value; raise TooLong after so many seconds of CPU time."""
        child = self._started()
        try:
            print(json.dumps([regex, text, filled_in, limit_s]), file=pipe(child.stdin), flush=True)
            answer = pipe(child.stdout).readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            self.close()
            raise TooLong
        return [(name, value) for name, value in json.loads(answer)]

    def close(self) -> None:
        """End the process."""
        if self._child is not None:
            self._end()
            self._child = None

    def _started(self) -> subprocess.Popen[str]:
        if self._child is None:
            self._child = subprocess.Popen(
                [sys.executable, "-I", "-S", __file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                start_new_session=True,
            )
            self._end = weakref.finalize(self, ended, self._child)
        return self._child


def pipe(end: IO[str] | None) -> IO[str]:
    """Return an end that was asked for, so is there."""
    assert end is not None
    return end


def ended(child: subprocess.Popen[str]) -> None:
    """End a process and forget it."""
    child.kill()
    child.wait()
    for end in (child.stdin, child.stdout):
        with suppress(OSError):  # What it did not read cannot be written any more.
            pipe(end).close()


def finds(regex: str, text: str, filled_in: bool) -> list[Found]:
    """Find the first group of every match, or the whole match; of two groups the first is the name."""
    found = []
    for match in re.finditer(regex, text, re.MULTILINE):
        if filled_in:
            if match[1] and match[2] is not None:
                found.append((match[1].strip(), match[2]))
        elif (value := match[1] if match.re.groups else match[0]) is not None:
            found.append(("", value))
    return found


def serve() -> None:
    """Answer each line of standard input by one of standard output; what takes too long ends this process."""
    for line in sys.stdin:
        regex, text, filled_in, limit_s = json.loads(line)
        signal.setitimer(signal.ITIMER_PROF, limit_s)
        found = finds(regex, text, filled_in)
        signal.setitimer(signal.ITIMER_PROF, 0)
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve()
