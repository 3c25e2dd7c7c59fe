"""A step in the conversation: a folded card with reason, arguments, progress, result and time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Collapsible, Markdown, Static

from ....tools.verdict import Verdict, confirmed, title
from ....tools.verdict_words import headline
from ...chat.words import Exchange
from ...session_view.step import SessionStep
from ...session_view.view import SessionView
from ...terminal import printable
from ..messages import SourceAsked

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
        yield self._title
        with self.Contents():
            yield self._body

    def on_mount(self) -> None:
        """Draw what was shown last: on a busy machine a step can end before its card is mounted."""
        step, progress = self._shown or (self._step, "")
        self._shown = None
        self.show(step, progress)

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


class Conclusion(Static):
    """Words in a frame."""

    DEFAULT_CSS = """
    Conclusion { border: round $primary; height: auto; margin: 1 0 0 0; padding: 0 1; }
    """

    def __init__(self, verdict: Verdict, plain: str) -> None:
        lines = [plain, headline(verdict)]
        if proof := confirmed(verdict):
            lines.append(f"by hand: {proof.command}")
        text = Text(f"Verdict: {title(verdict)}", style="bold")
        super().__init__(text.append("".join(f"\n{printable(line)}" for line in lines), style="not bold"))


class ConversationView(VerticalScroll):
    """Grows at its end; `settle` begins another run there, `clear` begins anew."""

    DEFAULT_CSS = """
    ConversationView { height: 1fr; padding: 0 1; scrollbar-size-vertical: 1; }
    ConversationView .said { margin: 1 0 0 0; text-style: bold; }
    ConversationView .another { margin: 1 0 0 0; color: $text-muted; border-top: solid $primary; height: auto; }
    ConversationView .note { color: $text-muted; margin: 0 0 0 2; }
    ConversationView .failed { color: $text-error; margin: 0 0 0 2; }
    ConversationView Markdown { margin: 0 0 0 2; padding: 0; background: $background; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._cards: dict[str, StepCard] = {}
        self._begun: dict[str, int] = {}
        """Events before each card."""
        self._shown = 0
        self._concluded = False

    def on_mount(self) -> None:
        self.anchor()

    def clear(self) -> None:
        self._cards.clear()
        self._begun.clear()
        self._shown, self._concluded = 0, False
        self.remove_children()

    def settle(self, words: str) -> None:
        """Leave what stands here as it is, and begin another run below it: its steps have the same names."""
        for call_id, card in self._cards.items():
            card.remove_class(f"card-{call_id}")
        self._cards.clear()
        self._begun.clear()
        self._shown, self._concluded = 0, False
        self.mount(Static(Text(printable(words)), classes="another"))

    def show(self, view: SessionView, talk: Sequence[Exchange], progress: str, fresh: bool = False) -> None:
        """Add what is new, and bring the cards up to date; a fresh reply is streamed."""
        for step in view.steps:
            if step.call_id in self._cards:
                self._cards[step.call_id].show(step, progress if step is view.current else "")
                continue
            self._say_until(talk, step.begun, fresh)
            card = self._cards[step.call_id] = StepCard(step)
            self._begun[step.call_id] = step.begun
            self.mount(card)
        if view.verdict and not self._concluded:
            self._say_until(talk, view.steps[-1].begun, fresh)
            self._concluded = True
            self.mount(Conclusion(view.verdict, view.plain))
        self._say_until(talk, view.events, fresh)

    def _say_until(self, talk: Sequence[Exchange], event: int, fresh: bool) -> None:
        while self._shown < len(talk) and talk[self._shown].after <= event:
            self._say(talk[self._shown], fresh)
            self._shown += 1

    def _say(self, exchange: Exchange, fresh: bool) -> None:
        """Put it above the steps that began after it: a quick step is there before its reply."""
        later = next((self._cards[call] for call, begun in self._begun.items() if begun >= exchange.after), None)
        self.mount_all(self._words(exchange, fresh), before=later)

    def _words(self, exchange: Exchange, fresh: bool) -> Iterator[Widget]:
        if exchange.line:
            yield Static(Text(f"> {printable(exchange.line)}"), classes="said")
        reply = exchange.reply
        if reply.failed:
            yield Static(Text(f"✗ {printable(reply.text)}"), classes="failed")
        elif reply.text:
            shown = Markdown("" if fresh else reply.text, open_links=False)
            yield shown
            if fresh:
                self._stream(shown, reply.text)
        if reply.next:
            yield Static(Text("\n".join(("next:", *map(printable, reply.next)))), classes="note")

    @work(group="stream")
    async def _stream(self, shown: Markdown, text: str) -> None:
        """Write line by line: a long answer is read while the rest is laid out."""
        stream = Markdown.get_stream(shown)
        for line in text.splitlines(keepends=True):
            await stream.write(line)
        await stream.stop()

    def on_markdown_link_clicked(self, event: Markdown.LinkClicked) -> None:
        event.stop()
        if event.href.startswith("source:"):
            self.post_message(SourceAsked(event.href.removeprefix("source:")))
