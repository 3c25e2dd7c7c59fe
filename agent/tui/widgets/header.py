"""Two lines at the top: what is diagnosed and how far it is, and what went wrong."""

from __future__ import annotations

from rich.text import Text
from textual.widgets import Static

from ...chat.session import Place
from ...session_view.view import SessionView
from ...terminal import printable
from ...worker.wire import State


class Header(Static):
    """Never more than it has room for."""

    DEFAULT_CSS = """
    Header { height: auto; max-height: 3; background: $panel; padding: 0 1; dock: top; }
    """

    def show(self, view: SessionView, state: State, place: Place, failure: str) -> None:
        """Draw it."""
        text = Text(no_wrap=True, overflow="ellipsis")
        text.append(printable(view.command or "vgo-agent chat"), style="bold")
        text.append(f"\n{_status(view, state, place)}")
        if failure:
            text.append(f"\n{printable(failure)}", style="bold reverse")
        self.update(text)


def _status(view: SessionView, state: State, place: Place) -> str:
    words = [_doing(view, state, place)]
    if view.runs:
        words.append(f"{view.runs} runs, {view.spent_s:.0f} of {view.limits.budget_s:.0f} s")
    if place in ("watching", "elsewhere"):
        words.append("read-only: another vgo-agent works on it")
    words += [f"next: {', '.join(state.wishes)}"] if state.wishes else []
    words += [f"put back: {'; '.join(state.restored)}"] if state.restored else []
    return printable(" | ".join(words))


def _doing(view: SessionView, state: State, place: Place) -> str:
    if place == "none":
        return "no run yet"
    if view.status in ("finished", "interrupted", "failed") and place == "still":
        return view.verdict if view.status == "finished" else f"{view.status}: {view.reason}"
    if state.paused:
        return "PAUSED"
    if state.question is not None:
        return "waits for your answer"
    current = view.current
    if current is not None and current.state == "going on":
        return current.title
    return state.doing or ("cut off: /resume goes on" if place == "still" else "starting")
