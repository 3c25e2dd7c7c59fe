"""The loop: look, tell what is new, do what was typed.

A person at a terminal is answered at once. Lines of a pipe wait until what goes on has ended, so that a file of lines
is a script; only what steers (`/pause`, `/stop`, ...) is done at once there too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...knowledge.errors import VgoError
from ..chat.actions import do
from ..chat.reply import Exchange, keep
from ..chat.session import ChatSession
from ..chat.words import meant
from ..consent import ENDED, label_of, refusal, typed
from ..desk.markdown import unmarked
from .lines import LinesIn
from .telling import PlainNews

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
