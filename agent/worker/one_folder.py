"""The diagnosis of one folder, worked on until it ends."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from ...knowledge.errors import VgoError
from ...tools.execution.progress import ProgressEvent, Remark, RunEnded, SettingRestored
from ...tools.situation import Slot
from ...tools.subject import Limits
from ..began import process_began_s
from ..clock import BudgetClock
from ..diagnosis import go_on
from ..planners.base import Choice, View
from ..run_folder import RunFolder
from ..session import held
from ..steering import Unsteered
from ..transcript import Decision, ToolEnd
from .control import UNWATCHED_S, Control
from .link import LOG, Mode

ASKED = "you asked for it"


class Steered(Unsteered):
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
