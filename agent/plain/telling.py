"""What is new since the last look, in lines: each thing is told once, and never taken back."""

from __future__ import annotations

import time
from collections.abc import Iterator

from ...tools.verdict import confirmed, title
from ...tools.verdict_words import headline
from ..chat.session import ChatSession
from ..consent import choices
from ..progress import LATER, asked, described, figures_of
from ..session_view.step import SessionStep

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
            yield f"Verdict: {title(verdict)}. {headline(verdict)}"
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
