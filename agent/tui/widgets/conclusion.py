"""The verdict at the end of a run: what it is, why, and what reproduces it."""

from __future__ import annotations

from rich.text import Text
from textual.widgets import Static

from ....tools.verdict import Verdict, confirmed, title
from ....tools.verdict_words import headline
from ...terminal import printable


class Conclusion(Static):
    """Words in a frame."""

    DEFAULT_CSS = """
    Conclusion { border: round $primary; height: auto; margin: 1 0 0 0; padding: 0 1; }
    """

    def __init__(self, verdict: Verdict) -> None:
        lines = [headline(verdict)]
        if proof := confirmed(verdict):
            lines.append(f"by hand: {proof.command}")
        text = Text(f"Verdict: {title(verdict)}", style="bold")
        super().__init__(text.append("".join(f"\n{printable(line)}" for line in lines), style="not bold"))
