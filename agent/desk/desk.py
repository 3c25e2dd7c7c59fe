"""The asking end: one process, started when first needed, asked from any thread, one question at a time."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from typing import Any

from ...knowledge.errors import VgoError


class Desk:
    """Use it in `with`, or close it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def ask(self, duty: str, **wanted: Any) -> Any:
        """Wait for what a duty gives; VgoError with its sentence where it is refused."""
        with self._lock:
            answer = self._exchange(json.dumps({"duty": duty, "wanted": wanted}).encode() + b"\n")
        if "error" in answer:
            raise VgoError(answer["error"])
        return answer["given"]

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def __enter__(self) -> Desk:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _exchange(self, line: bytes) -> dict[str, Any]:
        process = self._running()
        assert process.stdin and process.stdout
        try:
            process.stdin.write(line)
            process.stdin.flush()
            said = process.stdout.readline()
        except OSError:
            said = b""
        if not said:
            self.close()
            return {"error": "The process that answers has ended; ask again."}
        answer: dict[str, Any] = json.loads(said)
        return answer

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", str(__package__)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        return self._process
