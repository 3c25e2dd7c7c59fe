"""What is told while a diagnosis goes on: plain lines here, a live view where there is a terminal for it."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..tools.case import changes_system
from ..tools.execution.row_log import ProgressEvent, Remark, RunEnded, SettingRestored
from .consent import ENDED, answers_to, choices, recorded, typed, unanswered
from .terminal import amount, printable, raw

if TYPE_CHECKING:
    from .session_view.measured import RunArrays
    from .transcript import Decision, ToolEnd

LATER = "  You may leave meanwhile: `vgo-agent chat RUN`, then /resume, asks again, after a reboot too."
"""Of a question that the chat asks."""
PROMPT = "Its number or word, or a question about it: "
LINE_EVERY_S = 5.0
MOST_CONDITIONS = 6
"""That are told one by one while runs go on."""


class Figures(NamedTuple):
    """One condition so far."""

    condition: str
    outcomes: list[float]
    failed: int

    @property
    def median(self) -> float:
        """The middle outcome."""
        ordered = sorted(self.outcomes)
        half = len(ordered) // 2
        return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2

    @property
    def cv(self) -> float | None:
        """SD over mean; None where it is undefined."""
        runs = len(self.outcomes)
        mean = math.fsum(self.outcomes) / runs
        if runs < 2 or mean == 0:
            return None
        return math.sqrt(math.fsum((value - mean) ** 2 for value in self.outcomes) / (runs - 1)) / abs(mean)


def runs_so_far(event: RunEnded) -> str:
    """Say how many runs there are, and of how many."""
    return f"run {len(event.rows)}{f' of {event.planned}' if event.planned else ''}"


def figures(event: RunEnded) -> list[Figures]:
    """Split the rows of a call by condition, in the order in which conditions appear; none where they are many."""
    rows: dict[str, list[Mapping[str, Any]]] = {}
    for row in event.rows:
        rows.setdefault(str(row["condition"]), []).append(row)
    if len(rows) > MOST_CONDITIONS:
        return []
    split = ((name, [row["outcome"] for row in own if row["ok"] == 1], len(own)) for name, own in rows.items())
    return [Figures(name, outcomes, total - len(outcomes)) for name, outcomes, total in split]


def figures_of(measured: RunArrays) -> list[Figures]:
    """Split measured runs by condition, in the order in which conditions appear."""
    found = []
    for place, name in enumerate(measured.conditions):
        outcomes = measured.outcome(name).tolist()
        total = int((measured.condition == place).sum())
        found.append(Figures(name, outcomes, total - len(outcomes)))
    return found


def described(figure: Figures, unit: str) -> str:
    """Give the figures of one condition in words."""
    words = [f"{len(figure.outcomes)} runs"]
    if figure.outcomes:
        words.append(f"median {amount(figure.median, unit)}")
        if (cv := figure.cv) is not None:
            words.append(f"CV {100 * cv:.2g} %")
    if figure.failed:
        words.append(f"{figure.failed} failed")
    return ", ".join(words)


def named(decision: Decision) -> str:
    """Name a call as a person would: the tool, and what it is about."""
    about = decision.arguments.get("mitigation") or decision.arguments.get("factor")
    batch = ", batch 2" if decision.arguments.get("batch") == 2 else ""
    return f"{decision.tool} {about}{batch}" if about else decision.tool


Say = Callable[[str, str], None]
"""Writes a text and what ends it."""


def ask(question: Mapping[str, Any], words: Sequence[str], read: Callable[[], str], say: Say) -> dict[str, Any]:
    """Give what an approval records. An empty line answers nothing; the end of the input means: not this."""
    for line in (*words, *choices(question)):
        say(line, "\n")
    while True:
        say(PROMPT, "")
        line = read()
        if not line:
            say("", "\n")
            say(f"Taken as {ENDED}.", "\n")
            return unanswered()
        if not line.strip():
            continue
        if given := typed(line, question):
            return recorded(question, given)
        for told in (*_answer_lines(question, line), *choices(question)):
            say(told, "\n")


def ask_program(question: Mapping[str, Any], read: Callable[[], str], write: Callable[[str], None]) -> dict[str, Any]:
    """Give what an approval records, asked for and answered by one JSON object a line."""
    answers = [{"answer": one.key, "label": one.label} for one in answers_to(question)]
    write(json.dumps({"question": {**question, "answers": answers}}))
    while line := read():
        if not line.strip():
            continue
        try:
            given = dict(json.loads(line))
            if "ask" not in given:
                return recorded(question, given)
            write(json.dumps({"told": list(_answer_lines(question, str(given["ask"])))}))
        except (ValueError, TypeError) as error:
            write(json.dumps({"error": f'not understood ({error}): write {{"answer": KEY}} or {{"ask": WORDS}}'}))
    return unanswered()


def _answer_lines(question: Mapping[str, Any], line: str) -> Sequence[str]:
    from .answers.conversation import facts_for

    return facts_for(question, line) or facts_for(question, "what is it, what does it change, and is it safe?")


class Lines:
    """One line a decision and an end, and now and then one for the runs; also what a live view builds on."""

    def __init__(self, unit: str, quiet: bool = False, verbose: bool = False) -> None:
        self.unit = unit
        self.quiet = quiet
        self.verbose = verbose
        self.folder: Path | None = None
        self._told_s = time.monotonic()

    def say(self, text: str) -> None:
        """Tell one line, unless quiet."""
        if not self.quiet:
            print(printable(text), file=sys.stderr, flush=True)

    def trying(self, command: str) -> None:
        """Say what is run: should it hang, this line stands there."""
        self.say(f"trial run: {command}")

    def loading(self, command: str, folder: str) -> None:
        """Say what is diagnosed and where it is kept."""
        self.folder = Path(folder)
        self.say(f"{command}: kept in {folder}")

    def decided(self, decision: Decision) -> None:
        """Say what comes next, and why."""
        self._told_s = time.monotonic()
        self.say(f"{named(decision)}: {decision.why}")
        if self.verbose:
            self.say(f"  chosen by {decision.origin} among {', '.join(decision.legal)}; {decision.arguments}")

    def progressed(self, event: ProgressEvent) -> None:
        """Say what is told, and at most every few seconds where the runs are."""
        match event:
            case SettingRestored(words):
                self.say(f"put back, left by a vgo-agent that was killed: {words}")
            case Remark(words):
                self.say(words)
            case RunEnded() if time.monotonic() - self._told_s >= LINE_EVERY_S:
                self._told_s = time.monotonic()
                split = figures(event)
                for figure in split:
                    name = f"{figure.condition}: " if len(split) > 1 else ""
                    self.say(f"  {runs_so_far(event)}: {name}{described(figure, self.unit)}")
                if not split:
                    self.say(f"  {runs_so_far(event)}, {sum(row['wall_s'] for row in event.rows):.0f} s of the program")

    def ended(self, decision: Decision, end: ToolEnd) -> None:
        """Say what a call gave."""
        self.say(f"  {ended_words(end)}")

    def approve(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Ask whoever sits at the terminal; where nobody does, the answer is no."""
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            return unanswered(_nobody(question))
        return ask(question, asked(question), sys.stdin.readline, _on_stderr)

    def close(self) -> None:
        """Leave the terminal as it was."""


class JsonLines(Lines):
    """Lines for people on standard error; questions are put to the program that reads standard output."""

    def approve(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Ask the program."""
        return ask_program(question, sys.stdin.readline, raw)


def _nobody(question: Mapping[str, Any]) -> str:
    """Say why there is no yes where nobody can be asked."""
    if question.get("steps"):
        return "nobody sits at the terminal"
    if promise := question.get("changes_promise"):
        return f"it changes what the program promises ({promise}); --accept {question['accept']} would allow it"
    if not changes_system(question["scope"]):
        return "it needs a yes, and nobody sits at the terminal"
    return "it changes the system, and --allow system was not given"


def _on_stderr(text: str, end: str) -> None:
    print(printable(text), end=end, file=sys.stderr, flush=True)


def ended_words(end: ToolEnd) -> str:
    """Give the result of a call in one sentence."""
    return end.error if end.result is None else str(end.result.get("summary", ""))


def asked(question: Mapping[str, Any]) -> list[str]:
    """Put the question of an approval in words."""
    would = [f"  {line}" for line in question.get("would", ())]
    risk = [f"  risk: {question['hurts']}"] if question.get("hurts") else []
    if question.get("steps"):
        steps = [f"  {number}. {step}" for number, step in enumerate(question["steps"], 1)]
        later = question.get("later", "  Ctrl-C leaves here; `vgo-agent resume` asks again, after a reboot too.")
        return [f"{question['mitigation']} is for you to do (scope {question['scope']}):", *steps, *risk, later]
    how_far = "changes more than the program" if changes_system(question["scope"]) else "changes only the program"
    if promise := question.get("changes_promise"):
        how_far = f"changes what the program promises, {promise}"
    title = f"{question['mitigation']} {how_far} (scope {question['scope']}):"
    return [title, *would, *risk, "  It is put back after its runs."]
