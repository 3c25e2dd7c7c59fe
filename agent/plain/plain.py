"""The loop: look, tell what is new, do what was typed.

A person at a terminal is answered at once. Lines of a pipe wait until what goes on has ended, so that a file of lines
is a script; only what steers (`/pause`, `/stop`, ...) is done at once there too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...knowledge.errors import VgoError
from ...tools.verdict import confirmed, title
from ...tools.verdict_words import headline
from ..chat.actions import do
from ..chat.session import ChatSession
from ..chat.words import Exchange, keep, meant
from ..consent import ENDED, choices, label_of, refusal, typed
from ..desk.markdown import unmarked
from ..progress import LATER, asked, described, figures_of
from ..session_view.step import SessionStep
from .lines import LinesIn

LINE_EVERY_S = 10.0
"""Of progress: who listens to it wants to hear other things too."""
TOLD = {"done": "", "failed": "failed: ", "denied": "denied: "}


class PlainNews:
    """Remembers what was told."""

    def __init__(self, session: ChatSession) -> None:
        self._session = session
        self._folder = ""
        self._begun: set[str] = set()
        self._ended: set[str] = set()
        self._failure = ""
        self._question = 0
        self._doing = ""
        self._restored = 0
        self._status = ""
        self._progress_s = time.monotonic()

    def news(self) -> Iterator[str]:
        """Give the lines that are due."""
        yield from self._of_folder()
        yield from self._of_worker()
        for number, step in enumerate(self._session.view.steps, 1):
            yield from self._of_step(number, step)
        yield from self._of_progress()
        yield from self._of_end()
        yield from self._of_question()

    def _of_folder(self) -> Iterator[str]:
        folder = str(self._session.folder.path) if self._session.folder else ""
        if folder != self._folder:
            self._folder, self._status, self._question = folder, "", 0
            self._begun.clear()
            self._ended.clear()
            if folder:
                yield f"The run is kept in {folder}."
                yield from self._of_past()

    def _of_past(self) -> Iterator[str]:
        """Of a run that was opened, tell how many steps there are; what they gave is asked for."""
        steps = [step for step in self._session.view.steps if step.state in TOLD]
        if not steps:
            return
        self._begun |= {step.call_id for step in steps}
        self._ended |= {step.call_id for step in steps}
        count = "1 step has" if len(steps) == 1 else f"{len(steps)} steps have"
        yield f"{count} ended; the last, {steps[-1].title}: {steps[-1].summary}"

    def _of_worker(self) -> Iterator[str]:
        state = self._session.state
        for line in self._session.restored[self._restored :]:
            yield f"Put back, left by a vgo-agent that was killed: {line}"
        self._restored = len(self._session.restored)
        doing = state.doing if state.doing not in ("choosing the next step", "") else self._doing
        if doing != self._doing:
            self._doing = doing
            yield f"Now: {doing}."

    def _of_step(self, number: int, step: SessionStep) -> Iterator[str]:
        if step.call_id not in self._begun:
            self._begun.add(step.call_id)
            self._progress_s = time.monotonic()
            yield f"Step {number}, {step.title}: {step.why.rstrip('.')}."
        if step.state in TOLD and step.call_id not in self._ended:
            self._ended.add(step.call_id)
            yield f"Step {number} {TOLD[step.state] or 'done: '}{step.summary}"

    def _of_progress(self) -> Iterator[str]:
        view = self._session.view
        live = view.measured[-1] if view.measured else None
        if live is None or not live.going_on or time.monotonic() - self._progress_s < LINE_EVERY_S:
            return
        self._progress_s = time.monotonic()
        for figure in figures_of(live):
            if figure.outcomes:
                name = f"{figure.condition}, " if len(live.conditions) > 1 else ""
                yield f"Going on: {name}{described(figure, view.unit)}."

    def _of_end(self) -> Iterator[str]:
        session = self._session
        if session.failure and session.failure != self._failure:
            yield f"Error: {session.failure}"
        self._failure = session.failure
        status = session.view.status
        if status == self._status:
            return
        self._status = status
        verdict = session.view.verdict
        if status == "finished" and verdict:
            yield f"Verdict: {title(verdict)}. {session.view.plain}"
            yield f"In numbers: {headline(verdict)}"
            if proof := confirmed(verdict):
                yield f"The command line that won: {proof.command}"
            yield f"Report: {self._folder}/report.html"
        elif status in ("interrupted", "failed"):
            yield f"The run was {status}: {session.view.reason or 'it was stopped'}. /resume goes on with it."

    def _of_question(self) -> Iterator[str]:
        question = self._session.state.question
        if question is None or question["number"] == self._question:
            return
        self._question = question["number"]
        yield from self.question()

    def question(self) -> Iterator[str]:
        """Tell what waits for an answer, and the answers."""
        question = self._session.state.question or {}
        yield from asked({**question, "later": LATER})
        yield from (f"  source: {one}" for one in question.get("sources", ()))
        yield from self.choices()

    def choices(self) -> Iterator[str]:
        """Tell the answers that the question takes."""
        question = self._session.state.question
        if question is None:
            return
        if not self._session.state.in_charge:
            yield "Another vgo-agent answers it."
            return
        yield from choices(question)
        yield "Say the number or the word of an answer, or ask about it."


LOOK_EVERY_S = 0.2
STEERS = frozenset({"pause", "resume", "stop", "undo", "budget"})


class Plain:
    """One conversation."""

    def __init__(self, session: ChatSession, lines: LinesIn, say: Callable[[str], None], patient: bool) -> None:
        """Take where lines come from and go to; `patient`: each waits for the one before."""
        self._session, self._lines, self._say, self._patient = session, lines, say, patient
        self._telling = PlainNews(session)
        self._left = False
        self._awaited = 0
        """Steps that the run will have once it has taken up what was asked for last."""

    def converse(self, first: str = "") -> None:
        """Go on until `/quit`, or until input has ended and so has the run; `first` is said before all else."""
        if first:
            self._reply(first)
        while not self._left:
            self._session.look()
            self._tell()
            if self._lines.first and self._is_turn():
                self._take(self._lines.take())
            elif self._lines.ended and not self._lines.first and not self._goes_on():
                self._left = True
            else:
                self._lines.wait(LOOK_EVERY_S)

    def stop(self) -> None:
        """End the run that goes on, and wait until every setting is back."""
        if self._session.place != "ours":
            return
        self._say("Stopping; settings are put back first.")
        self._session.tell("stop")
        while self._session.place == "ours":
            self._lines.wait(LOOK_EVERY_S)
            self._session.look()
        self._tell()

    def _tell(self) -> None:
        for line in self._telling.news():
            self._say(line)

    def _is_turn(self) -> bool:
        if not self._patient or not self._goes_on():
            return True
        return meant(self._lines.first).name in STEERS

    def _goes_on(self) -> bool:
        """Whether something happens that a line should wait for; a question that nobody can answer is denied."""
        session = self._session
        if session.place != "ours":
            return session.place == "watching" and not self._lines.ended
        if session.stopping:
            return True
        state = session.state
        if state.question is not None and state.in_charge:
            if self._lines.ended and not self._lines.first:
                session.answer(refusal(state.question), ENDED)
            return not self._lines.first
        if session.view.current is not None or len(session.view.steps) < self._awaited:
            return not state.paused
        return not (state.waiting and not state.wishes) and not state.paused

    def _take(self, line: str) -> None:
        session, question = self._session, self._session.state.question
        if self._patient:
            self._say(f"> {line}")
        if question is None or not session.state.in_charge:
            self._reply(line)
        elif given := typed(line, question):
            session.answer(**given)
            self._say(f"Your answer: {label_of(question, given)}.")
            session.look()
        elif meant(line).name == "ask":
            self._explain(question, line)
        else:
            self._reply(line)

    def _explain(self, question: Mapping[str, Any], line: str) -> None:
        try:
            found = self._session.about(question, line)
        except VgoError as error:
            found = [f"Error: {error}"]
        for told in (*found, *self._telling.choices()):
            self._say(told)

    def _reply(self, line: str) -> None:
        session = self._session
        wished, steps = session.wished, len(session.view.steps)
        reply = do(session, line)
        self._awaited = steps + 1 if session.wished > wished else 0
        if reply.opens == "quit":
            self._left = True
            self._say("The run goes on without this chat." if session.place == "ours" else "Goodbye.")
            return
        for told in (*self._instead_of(reply.opens), *unmarked(reply.text)):
            self._say(f"Error: {told}" if reply.failed else told)
        for source in reply.sources:
            self._say(f"  {source['tag']}: {_rests_on(source)}")
        for following in reply.next:
            self._say(f"  next: {following}")
        if session.folder and reply.text:
            keep(session.folder, Exchange(line, reply, session.view.events))

    def _instead_of(self, screen: str) -> Iterator[str]:
        """Say in lines what a screen would show."""
        if screen == "question":
            yield from self._telling.question()
        elif screen == "screenshot":
            yield "Error: there is no screen to take a picture of; what was said here can be copied as it is."


def _rests_on(source: Mapping[str, Any]) -> str:
    """Say what a reference stands for: works, else the events of the run."""
    works = "; ".join(filter(None, source.get("sources", ())))
    events = ", ".join(str(event) for event in source.get("events", ()))
    return works or (f"events {events} of the run" if events else str(source.get("about", "")))
