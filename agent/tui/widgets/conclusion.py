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
        super().__init__(concluded(verdict))


def concluded(verdict: Verdict) -> Text:
    """Put the verdict in words."""
    text = Text(f"Verdict: {title(verdict)}", style="bold")
    lines = [headline(verdict)]
    if proof := confirmed(verdict):
        lines.append(f"by hand: {proof.command}")
    for line in lines:
        text.append(Text(f"\n{printable(line)}", style="not bold"))
    return text
