"""The verdict at the end of a run: what it is, why, and what reproduces it."""

from __future__ import annotations

from rich.text import Text
from textual.widgets import Static

from ...session_view.view import SessionView
from ...terminal import printable


class Conclusion(Static):
    """Words in a frame."""

    DEFAULT_CSS = """
    Conclusion { border: round $primary; height: auto; margin: 1 0 0 0; padding: 0 1; }
    """

    def __init__(self, view: SessionView) -> None:
        """Take the view of a run that has its verdict."""
        super().__init__(concluded(view))


def concluded(view: SessionView) -> Text:
    """Put the verdict in words."""
    found = view.conclusion
    text = Text(f"Verdict: {printable(view.verdict)}", style="bold")
    text.append(Text(f"\n{printable(str(found.get('reason', '')))}", style="not bold"))
    for name, words in (("factor", "factor"), ("mitigation", "mitigation"), ("command", "by hand")):
        if found.get(name):
            text.append(Text(f"\n{words}: {printable(str(found[name]))}", style="not bold"))
    spread = found.get("spread")
    if spread and spread.get("ratio") is not None:
        low, high = spread["low"], spread["high"]
        between = "" if high is None else f" [{low:.2g}, {high:.2g}]"
        text.append(Text(f"\nspread ratio: {spread['ratio']:.2g}{between}", style="not bold"))
    return text
