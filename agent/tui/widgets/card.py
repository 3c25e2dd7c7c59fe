"""A step in the conversation: a folded card with reason, arguments, progress, result and time."""

from __future__ import annotations

from rich.text import Text
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Collapsible, Static

from ...session_view.step import SessionStep
from ...terminal import printable

MARKS = {"chosen": "…", "going on": "▸", "done": "✓", "failed": "✗", "denied": "–"}


class StepCard(Collapsible):
    """One step; folded until it is opened."""

    DEFAULT_CSS = """
    StepCard { padding: 0; border: none; background: $background; }
    StepCard:focus-within { background-tint: transparent; }
    StepCard > Contents { padding: 0 0 0 4; }
    StepCard > CollapsibleTitle { width: 1fr; height: 1; padding: 0; text-overflow: ellipsis; text-wrap: nowrap; }
    StepCard.-failed > CollapsibleTitle { color: $text-error; }
    StepCard.-denied > CollapsibleTitle { color: $text-warning; }
    StepCard.-going-on > CollapsibleTitle { text-style: bold; }
    """

    def __init__(self, step: SessionStep) -> None:
        super().__init__(title="", collapsed=True, classes=f"card-{step.call_id}")
        self._step = step
        self._shown: tuple[SessionStep, str] | None = None
        self._body = Static("", markup=False)

    def compose(self) -> ComposeResult:
        """Put the body below the title."""
        yield self._title
        with self.Contents():
            yield self._body

    def on_mount(self) -> None:
        """Draw it."""
        self.show(self._step)

    def show(self, step: SessionStep, progress: str = "") -> None:
        """Draw the step as it is now, where that is not what is drawn."""
        if self._shown == (step, progress):
            return
        self._shown = (step, progress)
        for state in MARKS:
            self.set_class(step.state == state, f"-{state.replace(' ', '-')}")
        told = progress or step.summary or step.why
        self._title.label = Content(printable(f"{MARKS[step.state]} {step.title}: {told}"))
        self._body.update(Text("\n".join(_lines(step, progress))))


def _lines(step: SessionStep, progress: str) -> list[str]:
    chosen = "you" if step.origin == "user" else step.origin
    lines = [f"why: {step.why} (chosen by {chosen})"]
    lines += [f"{name}: {value}" for name, value in step.arguments.items()]
    lines += [f"so far: {progress}"] if progress else []
    if step.approval is not None:
        said = "approved" if step.approval.granted else "denied"
        lines.append(f"{said} by {step.approval.by}: {step.approval.reason}")
    lines += [f"{'result' if step.state == 'done' else 'why not'}: {step.summary}"] if step.summary else []
    lines += [f"time: {step.seconds:.1f} s of the program"] if step.seconds is not None else []
    lines += [f"event: {step.seq}"] if step.seq is not None else []
    return [printable(line) for line in lines]
