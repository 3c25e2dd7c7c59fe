"""A model in a process of its own, asked one thing at a time; whatever ends that process is told and survived."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from .language_model import ModelFailed, ModelGone

LOAD_S = 300.0
"""Seconds to load a model: tens of gigabytes from a slow disk."""
TOLD = 400
"""Characters of what the process said last, which go into the reason."""


class ModelProcess:
    """One GGUF, loaded when it is first asked."""

    def __init__(self, path: Path, context: int, threads: int) -> None:
        self.path = path
        self._wish = {"path": str(path), "context": context, "threads": threads}
        self._process: subprocess.Popen[bytes] | None = None
        self._said = -1
        """File of what it says on standard error."""
        self._rest = b""
        self._described: dict[str, Any] = {}

    def describe(self) -> dict[str, Any]:
        """Say what is loaded, by what build, and what it takes now; raises ModelFailed where it cannot be."""
        process = self._started()
        return self._described | {"resident_bytes": _resident(process.pid)}

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Ask one thing; raises ModelFailed when it is refused, takes longer, or the process ends."""
        process = self._started()
        self._send(process, request)
        answer = self._receive(process, time.monotonic() + seconds, f"no answer within {seconds:g} s")
        if "refused" in answer:
            raise ModelFailed(str(answer["refused"]))
        return answer

    def end(self) -> None:
        """End the process at once, whatever it does: so a call is cancelled."""
        if self._process is None:
            return
        process, self._process, self._rest = self._process, None, b""
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        os.close(self._said)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is not None:
            return self._process
        self._said = os.memfd_create("model")
        process = subprocess.Popen(
            [sys.executable, "-m", f"{__package__}.served"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            process_group=0,
        )
        self._process = process
        self._send(process, self._wish)
        described = self._receive(process, time.monotonic() + LOAD_S, f"not loaded within {LOAD_S:g} s")
        if "refused" in described:
            self.end()
            raise ModelGone(str(described["refused"]))
        self._described = described
        return process

    def _send(self, process: subprocess.Popen[bytes], said: dict[str, Any]) -> None:
        assert process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended, which is heard next
            process.stdin.write(json.dumps(said).encode() + b"\n")
            process.stdin.flush()

    def _receive(self, process: subprocess.Popen[bytes], until: float, late: str) -> dict[str, Any]:
        assert process.stdout is not None
        with selectors.DefaultSelector() as ready:
            ready.register(process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._rest:
                if not ready.select(max(0.0, until - time.monotonic())):
                    self.end()
                    raise ModelGone(late)
                piece = os.read(process.stdout.fileno(), 1 << 16)
                if not piece:
                    raise ModelGone(self._ended(process))
                self._rest += piece
        line, _, self._rest = self._rest.partition(b"\n")
        found: dict[str, Any] = json.loads(line)
        return found

    def _ended(self, process: subprocess.Popen[bytes]) -> str:
        code = process.wait()
        end = os.lseek(self._said, 0, os.SEEK_END)
        words = _last_words(os.pread(self._said, end, 0).decode(errors="replace"))
        how = f"by {signal.Signals(-code).name}" if code < 0 else f"with {code}"
        self.end()
        return f"its process ended {how}: {words}" if words else f"its process ended {how}"


def _last_words(said: str) -> str:
    """Make one bounded line; of a traceback, what it ends with."""
    before, traceback, _ = said.partition("Traceback (most recent call last)")
    kept = said.strip().splitlines()[-1] if traceback else before
    return " ".join(kept.split())[-TOLD:]


def _resident(pid: int) -> int:
    """Bytes of memory that a process holds now; 0 where it has just ended."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
