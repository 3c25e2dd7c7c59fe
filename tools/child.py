"""A process of ours that answers requests: one line of JSON a message, over its standard input and output.

`Child` is the asking end, `serve` the answering one. Only the standard library: what asks a host stays small. A child
ends with its input, so that it never outlives who asks; what it says on standard error tells why it died.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Self

Method = Callable[..., Any]
LOOK_S = 1.0
"""Between two looks whether a child that says nothing has been stopped."""
STOPPED_S = 10.0
"""A child that has been stopped (SIGSTOP) for so long is not waited for."""
TOLD = 400
"""Characters of what a child said last, which go into the reason."""


class Refused(Exception):
    """The child cannot do what was asked, and says why; it goes on."""


class Ended(Exception):
    """There is no answer: the child has ended, or was ended because it was late. The next question starts another."""


class Child:
    """One process, started when it is first asked; questions of several threads are asked one after the other."""

    def __init__(self, argv: Sequence[str], ending_s: float = 0.0) -> None:
        """`ending_s`: seconds it has to put things in order after SIGTERM before it is killed; 0: killed at once."""
        self._argv, self._ending_s = list(argv), ending_s
        self._running: _Running | None = None
        self._turn = threading.RLock()

    @property
    def pid(self) -> int:
        """Of the process; 0 where none runs."""
        running = self._running
        return running.process.pid if running else 0

    def ask(self, method: str, params: Mapping[str, Any], timeout_s: float = float("inf")) -> Any:
        """Give what the method returns; raises Refused, or Ended where the child ends or gives no answer in time."""
        with self._turn:
            if self._running and self._running.process.poll() == 0:
                self.close()  # it had been idle for long
            running = self._running or self._start()
            assert running.process.stdin is not None
            with suppress(BrokenPipeError):  # it has ended, which is heard next
                running.process.stdin.write(json.dumps({"method": method, "params": dict(params)}).encode() + b"\n")
                running.process.stdin.flush()
            answer = json.loads(self._line(running, timeout_s))
        if "error" in answer:
            raise Refused(answer["error"])
        return answer["result"]

    def close(self) -> None:
        """End the process, whatever it does; another thread that waits for an answer hears of it."""
        running, self._running = self._running, None
        if running is None:
            return
        running.end(self._ending_s)
        with self._turn:  # who waits has read why
            running.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self) -> _Running:
        """In a session of its own: Ctrl-C and the hang-up of a terminal are for who asks."""
        said = os.memfd_create("child")
        process = subprocess.Popen(
            self._argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, start_new_session=True
        )
        self._running = _Running(process, said)
        return self._running

    def _line(self, running: _Running, timeout_s: float) -> bytes:
        process, until_s = running.process, time.monotonic() + timeout_s
        assert process.stdout is not None
        read, stopped_s = bytearray(), 0.0
        while not read.endswith(b"\n"):
            wait_s = min(LOOK_S, max(0.0, until_s - time.monotonic()))
            if _readable(process.stdout.fileno(), wait_s):
                piece = os.read(process.stdout.fileno(), 1 << 20)
                if not piece:
                    why = running.how_it_ended()
                    self.close()
                    raise Ended(why)
                read += piece
                continue
            stopped_s = stopped_s + wait_s if is_stopped(process.pid) else 0.0
            if stopped_s > STOPPED_S or time.monotonic() >= until_s:
                self.close()
                raise Ended(f"no answer within {timeout_s:g} s" if stopped_s <= STOPPED_S else "it was stopped")
        return bytes(read)


class _Running(NamedTuple):
    process: subprocess.Popen[bytes]
    said: int
    """File of what it says on standard error."""

    def end(self, ending_s: float) -> None:
        """End it, after SIGTERM with so much time; what it started goes with it where it is killed."""
        if ending_s:
            self.process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(ending_s)
        if self.process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def close(self) -> None:
        """Close the files between the two."""
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            with suppress(BrokenPipeError):
                pipe.close()
        os.close(self.said)

    def how_it_ended(self) -> str:
        """Say by what signal or with what status, and what it said last."""
        code = self.process.wait()
        words = last_words(os.pread(self.said, os.lseek(self.said, 0, os.SEEK_END), 0).decode(errors="replace"))
        how = f"its process ended {f'by {signal.Signals(-code).name}' if code < 0 else f'with {code}'}"
        return f"{how}: {words}" if words else how


def _readable(file: int, wait_s: float | None) -> bool:
    """Wait for something to read, or for the end; select(2) takes no file above 1,023."""
    waiting = select.poll()
    waiting.register(file, select.POLLIN)
    return bool(waiting.poll(None if wait_s is None else 1000 * wait_s))


def is_stopped(pid: int) -> bool:
    """Tell whether a process is stopped; one that has gone is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in ("T", "t")
    except OSError:
        return False


def last_words(said: str) -> str:
    """Make one bounded line; of a traceback, what it ends with."""
    before, traceback, _ = said.partition("Traceback (most recent call last)")
    kept = said.strip().splitlines()[-1] if traceback else before
    return " ".join(kept.split())[-TOLD:]


def serve(methods: Mapping[str, Method], refusals: tuple[type[Exception], ...], idle_s: float | None = None) -> None:
    """Answer until standard input ends, nothing comes for `idle_s`, or nobody reads the answers.

    What is printed meanwhile goes to standard error, so that only answers are answers. `refusals`: the errors that are
    told in their own words; any other ends the process with its traceback.
    """
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr  # a buffer of its own would be written after the traceback
    for line in _lines(idle_s):
        asked = json.loads(line)
        try:
            answer = {"result": methods[asked["method"]](**asked["params"])}
        except refusals as error:
            answer = {"error": str(error)}
        try:
            answers.write(json.dumps(answer).encode() + b"\n")
            answers.flush()
        except BrokenPipeError:
            return


def _lines(idle_s: float | None) -> Iterator[bytes]:
    begun = bytearray()
    while _readable(0, idle_s) and (read := os.read(0, 1 << 20)):
        *ends, rest = read.split(b"\n")
        for end in ends:
            yield bytes(begun + end)
            begun.clear()
        begun += rest
