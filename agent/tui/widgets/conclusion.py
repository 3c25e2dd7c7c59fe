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
    ratio = found.get("sd_ratio")
    if ratio and ratio.get("value") is not None:
        low, high = ratio.get("low"), ratio.get("high")
        between = "" if low is None or high is None else f" [{low:.2g}, {high:.2g}]"
        text.append(Text(f"\nSD ratio: {ratio['value']:.2g}{between}", style="not bold"))
    return text
