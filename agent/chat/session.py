"""One conversation: a run that is followed, the worker that runs it, and the desk that answers."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from ...knowledge.errors import VgoError
from ...tools.ending_signals import held
from ...tools.mitigation.restore import restore
from ...tools.subject import TrialPlan
from ..desk.desk import Desk
from ..diagnosis import DiagnosisRequest, NewDiagnosis
from ..history import is_held
from ..run_folder import RunFolder
from ..session_view.following import Following
from ..session_view.view import EMPTY, SessionView
from ..worker.link import Mode, WorkerConnection, WorkerState, last_words, started

RunControl = Literal["none", "ours", "watching", "elsewhere", "still"]
"""none: no run; ours: a worker that obeys us; watching: another app commands it; elsewhere: a one-shot command has it;
still: nobody works on it."""
RUNS_AT = Path("vgo-runs")
NO_PROGRAM = "There is no program yet: `vgo-agent chat COMMAND`, or choose a run with /runs."
NO_QUESTION = "Nothing waits for an answer."
READ_ONLY = "Another vgo-agent works on this run; here you can only watch."


class ChatSession:
    """All of it may be called from any thread."""

    def __init__(
        self,
        desk: Desk,
        new: NewDiagnosis | None = None,
        out: Path = RUNS_AT,
        asking: Callable[[Sequence[str]], NewDiagnosis] | None = None,
    ) -> None:
        """Begin with a program to diagnose, or without one; `out` is where runs are kept.

        `asking` makes a request of a command line, with the options that the session was begun with.
        """
        self.asking = asking
        self.desk = desk
        self.new = new
        self.out = out
        self.folder: RunFolder | None = None
        self.view: SessionView = EMPTY
        self.files: Mapping[str, Any] | None = None
        """Recorded files that are looked at, as the desk describes them; None: a run, or nothing."""
        self.failure = ""
        """Why the run cannot be read, or could not begin."""
        self.speaks = ""
        """The wish for a language model that chooses what is said, as JSON; empty: templates."""
        self.stopping = False
        """It was told to stop, and has not ended."""
        self._put_back: tuple[str, ...] = ()
        self.wished = 0
        """Steps that were asked for, over all runs."""
        self._following: Following | None = None
        self._link: WorkerConnection | None = None
        self._worker: subprocess.Popen[bytes] | None = None
        """It works on the run that is open; one that was left goes on, and is found by its link."""
        self._waiting: list[tuple[str, dict[str, Any]]] = []
        """Commands for a worker that has not said yet whom it obeys."""
        self._seen: RunControl = "none"
        self._lock = threading.RLock()

    def begin(self, mode: Mode = "auto") -> None:
        """Start the run that was asked for, or go on with the one that is open."""
        with self._lock:
            if self.place in ("watching", "elsewhere"):
                raise VgoError(READ_ONLY)
            if self.folder is None:
                if self.new is None:
                    raise VgoError(NO_PROGRAM)
                self.open(self.new.opened())
            assert self.folder is not None
            self.failure = ""
            self._put_back = tuple(restore())
            with held():  # a worker that nobody knows of would never be stopped
                self._worker = started(self.folder, mode)

    def begin_with(self, words: Sequence[str]) -> None:
        """Begin a run of another program."""
        with self._lock:
            if self.place not in ("none", "still"):
                raise VgoError("This run goes on; /stop ends it first.")
            if self.asking is None:
                raise VgoError("No other program can be begun here; start another `vgo-agent chat COMMAND`.")
            self.new = self.asking(words)
            self.leave()
            self.begin()

    def again(self, plan: TrialPlan | None = None) -> None:
        """Begin a new run of the program that is open; with a plan, of that and nothing else."""
        from ..session import read_request

        with self._lock:
            if self.place not in ("none", "still"):
                raise VgoError("This run goes on; /stop ends it first.")
            if self.folder is None and self.new is None:  # before what is looked at is left
                raise VgoError(NO_PROGRAM)
            if self.folder is not None:
                asked = read_request(self.folder.path, DiagnosisRequest)
                name = self.folder.path.name.partition("-")[2].partition("-")[2] or "command"
                planner, model = ("fixed", None) if plan else (asked.planner, asked.model)
                again = {"planner": planner, "model": model, "plan": plan or asked.plan, "after": ""}
                self.new = NewDiagnosis(asked.model_copy(update=again), self.folder.path.parent, name)
            self.leave()
            self.begin()

    def open(self, folder: RunFolder) -> None:
        """Follow a run, and attach to its worker where it has one."""
        with self._lock:
            same = self.folder is not None and self.folder.path == folder.path
            worker = self._worker if same else None
            self.leave()
            self._worker = worker
            self.folder, self._following, self.failure = folder, Following(folder), ""
            self._link = WorkerConnection.to(folder)
            self.look()

    def leave(self) -> None:
        """Let the run go on alone."""
        with self._lock:
            if self._link:
                self._link.close()
            self.folder = self._following = self._link = self.files = self._worker = None
            self._waiting.clear()
            self.stopping, self.failure = False, ""
            self.view = EMPTY

    def look(self) -> bool:
        """Read what is new; tell whether anything changed."""
        with self._lock:
            if self._following is None or self.folder is None:
                return False
            changed = self._look_at_worker()
            try:
                grown = self._following.look()
            except VgoError as error:
                changed, grown = changed or not self.failure, not self.failure
                self.failure = str(error)
            if grown:
                self.view = self._following.view()
            self.stopping = self.stopping and self.place == "ours"
            return changed or grown

    @property
    def state(self) -> WorkerState:
        """What the worker last told."""
        return self._link.state if self._link and self._link.open else WorkerState(doing="")

    @property
    def restored(self) -> tuple[str, ...]:
        """What a dead process had left changed, and was put back before anything was measured."""
        return (*self._put_back, *self.state.restored)

    @property
    def place(self) -> RunControl:
        """Say who works on the run."""
        with self._lock:
            if self.folder is None:
                return "none"
            if self._link and self._link.open:  # until the worker has said who commands, wishes wait
                return "ours" if self._link.state.in_charge or not self._link.heard else "watching"
            if self._worker is not None:
                return "ours"
            if self.view.status == "finished":
                return "still"
            return "elsewhere" if is_held(self.folder.path) else "still"

    def tell(self, do: str, **more: Any) -> None:
        """Command the worker; VgoError where there is none, or another app commands it."""
        with self._lock:
            place = self.place
            if place in ("watching", "elsewhere"):
                raise VgoError(READ_ONLY)
            linked = self._link is not None and self._link.open
            if self._link is not None and linked and self._link.heard:
                self._link.tell(do, **more)
            elif self._worker is None and not linked:
                raise VgoError("Nothing goes on; /diagnose begins, /resume goes on with a run that was cut off.")
            elif self._worker is not None and do == "stop":
                self._worker.terminate()
            else:
                self._waiting.append((do, more))
            self.stopping |= do == "stop"
            self.wished += do == "wish"

    def answer(self, answer: str, reason: str = "") -> None:
        """Answer the question that is open, by the key of one of its answers."""
        question = self.state.question
        if question is None:
            raise VgoError(NO_QUESTION)
        self.tell("answer", number=question["number"], answer={"answer": answer, "reason": reason})

    def about(self, question: Mapping[str, Any], line: str) -> list[str]:
        """Answer what is asked about a change that waits for a yes: from the question, else from what is known."""
        from ..answers.conversation import facts_for
        from ..desk.markdown import unmarked

        found = facts_for(question, line)
        return found or unmarked(self.desk.ask("ask", question=f"{question['mitigation']}: {line}")["markdown"])

    def close(self) -> None:
        """Leave the run, and end the desk."""
        self.leave()
        self.desk.close()

    def _look_at_worker(self) -> bool:
        assert self.folder is not None
        changed = False
        if self._link is None or not self._link.open:
            working = self._worker is not None or self.place == "elsewhere"  # one that was just started may listen soon
            fresh = WorkerConnection.to(self.folder) if working else None
            self._link, changed = fresh or self._link, fresh is not None
        changed |= bool(self._link and self._link.look())
        while self._waiting and self._link and self._link.open and self._link.state.in_charge:
            do, more = self._waiting.pop(0)
            self._link.tell(do, **more)
        if self._waiting and self.place == "watching":
            self._waiting.clear()
            self.failure = READ_ONLY
        ended, before, self._seen = self._worker_ended(), self._seen, self.place
        return ended or changed or before != self._seen

    def _worker_ended(self) -> bool:
        if self._worker is None or self._worker.poll() is None or (self._link and self._link.open):
            return False
        code, self._worker = self._worker.returncode, None
        self._waiting.clear()
        assert self.folder is not None
        if code and not self.failure:
            self.failure = last_words(self.folder) if code == 1 else ""
        return True
