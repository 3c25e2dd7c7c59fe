"""The worker's end of the wire: a thread that listens, and what the diagnosis asks of it between runs."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from ..consent import recorded
from ..run_folder import RunFolder
from .link import LONGEST, SOCKET, Mode, WorkerState, line_of, listening

UNWATCHED_S = 3600.0
"""How long a question, a pause or a step by hand waits while nobody watches."""


class Control:
    """Holds the state, tells it to every watcher, and takes commands of the first of them."""

    def __init__(self, folder: RunFolder, mode: Mode, unwatched_s: float = UNWATCHED_S) -> None:
        """Listen at once; `unwatched_s`: how long it waits for a user while nobody watches."""
        self._unwatched_s = unwatched_s
        self._alone_since = time.monotonic()
        self._waited_s = 0.0
        self.state = WorkerState(mode=mode)
        self.changed = threading.Condition()
        self.wishes: deque[dict[str, Any]] = deque()
        self.answers: dict[int, dict[str, Any]] = {}
        """By the number of the question: what an approval records."""
        self._folder = folder
        self._socket = listening(folder)
        self._watchers: dict[socket.socket, bytes] = {}
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._socket, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def tell(self, **changes: Any) -> None:
        """Change the state, and tell whoever watches."""
        with self.changed:
            self.state = replace(self.state, **changes)
            self.changed.notify_all()
            self._send()

    def now_s(self) -> float:
        """Give the time on a clock that stands still while it waits for the user."""
        return time.monotonic() - self._waited_s

    def wait_while_paused(self) -> None:
        """Return at once most times."""
        self.wait_until(lambda: not self.state.paused)

    def wait_until(self, holds: Callable[[], object]) -> None:
        """Wait for the user; where nobody watches for long, leave as after SIGTERM, which puts every setting back."""
        began = time.monotonic()
        with self.changed:
            while not holds():
                alone_since = max(began, self._alone_since)
                left = None if self._watchers else alone_since + self._unwatched_s - time.monotonic()
                if left is not None and left <= 0:
                    end = SystemExit(128 + signal.SIGTERM)
                    end.add_note(f"nobody has watched for {self._unwatched_s / 60:.2g} minutes")
                    raise end
                self.changed.wait(left)
        self._waited_s += time.monotonic() - began

    def close(self) -> None:
        """Take the socket away."""
        (self._folder.path / SOCKET).unlink(missing_ok=True)

    def _send(self) -> None:
        for place, watcher in enumerate(list(self._watchers)):
            try:
                watcher.sendall(line_of(asdict(replace(self.state, in_charge=place == 0))))
            except OSError:  # it has gone, or does not read; the thread that listens will see the end
                with contextlib.suppress(OSError):
                    watcher.shutdown(socket.SHUT_RDWR)

    def _serve(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._socket:
                    self._welcome()
                else:
                    assert isinstance(key.fileobj, socket.socket)
                    self._read(key.fileobj)

    def _welcome(self) -> None:
        watcher, _ = self._socket.accept()
        watcher.setblocking(False)
        with self.changed:
            self._watchers[watcher] = b""
            self.changed.notify_all()
            self._selector.register(watcher, selectors.EVENT_READ)
            self._send()

    def _read(self, watcher: socket.socket) -> None:
        try:
            came = watcher.recv(1 << 16)
        except OSError:
            came = b""
        held = self._watchers[watcher] + came
        if not came or len(held) > LONGEST:
            self._farewell(watcher)
            return
        *lines, self._watchers[watcher] = held.split(b"\n")
        for line in lines:
            if watcher is next(iter(self._watchers)):
                self._take(line)

    def _farewell(self, watcher: socket.socket) -> None:
        with self.changed:
            self._selector.unregister(watcher)
            self._watchers.pop(watcher)
            watcher.close()
            self._alone_since = time.monotonic()
            self.changed.notify_all()
            self._send()

    def _take(self, line: bytes) -> None:
        with contextlib.suppress(ValueError, KeyError, TypeError):  # of another version
            command = json.loads(line)
            self._obey(command["do"], command)

    def _obey(self, kind: str, command: dict[str, Any]) -> None:
        match kind:
            case "pause" | "go":
                self.tell(paused=kind == "pause")
            case "mode":
                self.tell(mode="step" if command.get("mode") == "step" else "auto")
            case "limits":
                self.tell(limits={**self.state.limits, **command.get("limits", {})})
            case "wish":
                self.wishes.append(command)
                self.tell(wishes=tuple(str(one.get("tool")) for one in self.wishes), mode=self.state.mode)
            case "unwish":
                self.wishes.clear()
                self.tell(wishes=())
            case "answer" if self.state.question and self.state.question["number"] == command["number"]:
                self.answers[command["number"]] = recorded(self.state.question, dict(command["answer"]))
                self.tell()
            case "stop":
                os.kill(os.getpid(), signal.SIGTERM)
