"""What is asked before anything beyond the program is changed: what is written where, how it is put back, the risk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import HorizontalGroup, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Static

from ....tools.plan import NO_MORE
from ...progress import asked
from ...terminal import printable

LATER = "  You may leave meanwhile: `vgo-agent chat RUN`, then /resume, asks again, after a reboot too."


class Approve(ModalScreen[dict[str, Any]]):
    """Gives what `ChatSession.answer` takes; it cannot be left without an answer."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+y", "press('once')", "Approve", priority=True),
        Binding("ctrl+d", "press('deny')", "Deny", priority=True),
    ]
    CSS = """
    Approve { align: center middle; }
    Approve > VerticalScroll { width: 90%; max-width: 100; height: auto; max-height: 90%;
        border: thick $warning; background: $surface; padding: 0 1; }
    Approve .keys { color: $text-muted; }
    Approve HorizontalGroup { height: auto; }
    Approve Button { margin: 0 1 0 0; min-width: 8; }
    """

    def __init__(self, question: Mapping[str, Any]) -> None:
        """Take the question as the diagnosis asks it."""
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        """Say it all, then ask."""
        with VerticalScroll(can_focus=False):
            yield Static(Text("\n".join(map(printable, self._words()))), id="words")
            yield Input(
                placeholder="reason, if you deny: the planner reads it", id="reason", max_length=300, compact=True
            )
            with HorizontalGroup():
                yield from self._buttons()
            yield Static("tab: next; enter: press; ctrl+y: the first; ctrl+d: deny", classes="keys")

    def _words(self) -> list[str]:
        sources = [f"  source: {one}" for one in self._question.get("sources", ())]
        return [*asked({**self._question, "later": LATER}), *sources]

    def _buttons(self) -> ComposeResult:
        if self._question.get("steps"):
            yield Button("Done", id="once", variant="success", compact=True)
            yield Button("Skip", id="deny", compact=True)
            yield Button("Stop asking", id="never", variant="error", compact=True)
            return
        yield Button("Approve once", id="once", variant="success", compact=True)
        yield Button("For this run", id="run", variant="success", compact=True)
        yield Button("Deny", id="deny", compact=True)
        yield Button("Never", id="never", variant="error", compact=True)

    def on_mount(self) -> None:
        """Nothing is approved by an enter that was meant for something else."""
        self.query_one("#deny", Button).focus()

    def action_press(self, key: str) -> None:
        """Do as the button does."""
        self._give(key)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Answer."""
        self._give(str(event.button.id))

    def _give(self, key: str) -> None:
        reason = self.query_one("#reason", Input).value.strip()
        by_hand = bool(self._question.get("steps"))
        usual = {
            "once": "done by hand" if by_hand else "approved once",
            "run": "approved for this run",
            "deny": "skipped" if by_hand else "denied",
            "never": NO_MORE if by_hand else "never in this run",
        }
        told = NO_MORE if by_hand and key == "never" else reason or usual[key]
        self.dismiss({"granted": key in ("once", "run"), "reason": told, "standing": key in ("run", "never")})
