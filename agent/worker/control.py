"""The worker: a thread that listens at its end of the wire, and the diagnosis of one folder that asks it."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any

from pydantic import ValidationError

from ...knowledge.errors import VgoError
from ...tools.case import Slot
from ...tools.execution.row_log import ProgressEvent, Remark, RunEnded, SettingRestored
from ...tools.subject import Limits
from ..began import process_began_s
from ..clock import BudgetClock
from ..consent import recorded
from ..diagnosis import go_on
from ..planners.base import Choice, View
from ..run_folder import RunFolder
from ..session import held
from ..steering import Steering
from ..transcript import Decision, ToolEnd
from .link import LOG, LONGEST, SOCKET, Mode, WorkerState, line_of, listening

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


ASKED = "you asked for it"


class Steered(Steering):
    """One diagnosis, steered through a control."""

    def __init__(self, control: Control) -> None:
        self._control = control
        self._questions = 0

    def trying(self, command: str) -> None:
        """Say what is run."""
        self._control.tell(doing=f"trial run: {command}")

    def loading(self, command: str, folder: str) -> None:
        """Say that libraries load."""
        self._control.tell(doing="loading, with trial runs")

    def decided(self, decision: Decision) -> None:
        """The step stands in the transcript."""
        self._control.tell(doing="")

    def progressed(self, event: ProgressEvent) -> None:
        """Say what is told; after a run, wait where the user has paused: the rows stand in the run folder."""
        match event:
            case RunEnded():
                self._control.wait_while_paused()
            case SettingRestored(words):
                self._control.tell(restored=(*self._control.state.restored, words))
            case Remark(words):
                self._control.tell(doing=words)

    def ended(self, decision: Decision, end: ToolEnd) -> None:
        """The end stands in the transcript."""
        self._control.tell(doing="choosing the next step")

    def approve(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Ask, and wait for the answer as long as somebody watches."""
        self._questions += 1
        number, control = self._questions, self._control
        control.tell(question={**question, "number": number})
        control.wait_until(lambda: number in control.answers)
        control.tell(question=None)
        return control.answers.pop(number)

    def limits(self, decisions: int, now: Limits) -> Limits:
        """Give those that the user set; what they may not be stays as it was."""
        wanted = self._control.state.limits
        if not wanted:
            return now
        self._control.tell(limits={})
        try:
            return Limits.model_validate({**now.model_dump(), **wanted})
        except ValidationError:
            return now

    def wish(self, view: View) -> Choice | None:
        """Give what the user wishes; in step mode, wait for a wish."""
        control = self._control
        control.wait_while_paused()
        if control.state.mode == "step" and not control.wishes:
            control.tell(waiting=True, doing="waiting for you")
            control.wait_until(lambda: control.wishes or control.state.mode == "auto")
            control.tell(waiting=False)
        if not control.wishes:
            return None
        wish = control.wishes.popleft()
        control.tell(wishes=tuple(str(one.get("tool")) for one in control.wishes))
        return _choice(wish, view)


def _choice(wish: Mapping[str, Any], view: View) -> Choice | None:
    """Fill in what the user left open: the first choice of the menu."""
    tool, given = str(wish.get("tool")), dict(wish.get("arguments") or {})
    return Choice(tool, {**usual(tool, given, view), **given}, str(wish.get("why") or ASKED))


def usual(tool: str, given: Mapping[str, Any], view: View) -> dict[str, Any]:
    """Give the arguments that a call has when nobody names others."""
    from ..planners.base import menu

    slots = menu(view).get(tool, ())  # without any it is refused, and says what could be asked for
    return {name: value for slot in slots for name, value in zip(slot.names, _first(slot, given), strict=True)}


def _first(slot: Slot, given: Mapping[str, Any]) -> tuple[Any, ...]:
    """The first choice that agrees with what is given; where none does, the first."""
    agreeing = (
        choice
        for choice in slot.choices
        if all(given.get(name, value) == value for name, value in zip(slot.names, choice, strict=True))
    )
    return next(agreeing, slot.choices[0])


def main(folder: RunFolder, mode: Mode, unwatched_s: float = UNWATCHED_S) -> int:
    """Work, and leave nothing of the wire behind; what went wrong is the last line of the log."""
    try:
        with held(folder):
            control = Control(folder, mode, unwatched_s)
            steered = Steered(control)
            try:
                clock = BudgetClock(process_began_s(), now_s=control.now_s)
                go_on(folder, steered, clock, steering=steered, is_held=True)
            finally:
                control.close()
    except VgoError as error:
        print(error, file=sys.stderr)
        return 1
    (folder.path / LOG).unlink(missing_ok=True)
    return 0
