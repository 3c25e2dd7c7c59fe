"""The live view on a terminal: ended steps, and below them the current one with its runs and their histogram.

It is drawn only when the diagnosis calls, so that nothing of ours runs while the user's program does.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from rich.console import Console
from rich.live import Live
from rich.text import Text

from ..tools.execution.row_log import ProgressEvent, RunEnded
from .progress import JsonLines, Lines, described, ended_words, figures, named, runs_so_far
from .terminal import ASCII_BARS, BARS, LINES, amount, bar_line, bins, printable, speaks_unicode

if TYPE_CHECKING:
    from .transcript import Decision, ToolEnd

DRAW_EVERY_S = 0.25
MOST_BINS = 48
LOADING = "loading, with trial runs"


class LiveView(Lines):
    """Lines that stay, above a few that change."""

    def __init__(self, unit: str, fancy: bool, verbose: bool = False, console: Console | None = None) -> None:
        """Start to draw on standard error; `fancy` where bars and ticks can be written."""
        super().__init__(unit, verbose=verbose)
        self._bars = BARS if fancy else ASCII_BARS
        self._tick, self._cross = ("✓", "✗") if fancy else ("ok", "no")
        self._overflow: Literal["ellipsis", "crop"] = "ellipsis" if fancy else "crop"
        self._console = console or Console(stderr=True, highlight=False)
        self._live = Live(
            console=self._console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
        )
        self._drawn_s = 0.0
        self._title = LOADING

    def say(self, text: str) -> None:
        """Put a line above what changes."""
        self._console.print(Text(printable(text)))

    def loading(self, command: str, folder: str) -> None:
        """Begin to draw."""
        super().loading(command, folder)
        self._live.start()
        self._draw([])

    def decided(self, decision: Decision) -> None:
        """Show the step that begins."""
        self._title = f"{named(decision)}: {decision.why}"
        self._draw([])

    def progressed(self, event: ProgressEvent) -> None:
        """Redraw, a few times a second at most; what is said stays above."""
        if not isinstance(event, RunEnded):
            super().progressed(event)
        elif time.monotonic() - self._drawn_s >= DRAW_EVERY_S:
            self._title = self._title.replace(LOADING, "running")  # where no step is chosen
            self._draw(self._lines(event))

    def ended(self, decision: Decision, end: ToolEnd) -> None:
        """Put the step among those that have ended."""
        failed = end.result is None
        mark = Text(self._cross if failed else self._tick, style="red" if failed else "green")
        words = f" {decision.tool}: {ended_words(end)}"
        self._title = "choosing the next step"
        self._draw([])
        self._console.print(mark + Text(printable(words)))
        if self.verbose:
            self.say(f"  {decision.why}; chosen by {decision.origin} among {', '.join(decision.legal)}")

    def approve(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Ask with the changing lines taken away."""
        self._live.stop()
        try:
            return super().approve(question)
        finally:
            self._live.start()

    def close(self) -> None:
        """Take the changing lines away."""
        self._live.stop()

    def _draw(self, lines: Sequence[str]) -> None:
        self._drawn_s = time.monotonic()
        shown = Text(no_wrap=True, overflow=self._overflow)
        shown.append(printable(self._title), style="bold")
        for line in lines:
            shown.append(f"\n  {printable(line)}")
        self._live.update(shown, refresh=True)

    def _lines(self, event: RunEnded) -> list[str]:
        split = [figure for figure in figures(event) if figure.outcomes]
        every = [value for figure in split for value in figure.outcomes]
        lines = [runs_so_far(event)]
        if not every:
            return lines
        low, high = min(every), max(every)
        width = min(MOST_BINS, self._console.width - 6)
        for figure in split:
            name = f"{figure.condition}: " if len(split) > 1 else ""
            bars = bar_line(bins(figure.outcomes, low, high, max(width, 1)), self._bars)
            lines += [f"{name}{described(figure, self.unit)}", bars]
        return [*lines, self._axis(low, high, width)]

    def _axis(self, low: float, high: float, width: int) -> str:
        left, right = amount(low, self.unit), amount(high, self.unit)
        return left + right.rjust(width - len(left)) if width > len(left) + len(right) else left


def has_live_view(quiet: bool, as_json: bool | str) -> bool:
    """Tell whether standard error is a terminal that can redraw, and whether that is wanted."""
    return sys.stderr.isatty() and not quiet and not as_json and os.environ.get("TERM", "dumb") != "dumb"


@contextmanager
def watching(quiet: bool, verbose: bool, as_json: bool | str, unit: str) -> Iterator[Lines]:
    """Choose how to tell."""
    quiet = quiet and not verbose  # the flag goes before the settings file
    lines: Lines
    if has_live_view(quiet, as_json):
        lines = LiveView(unit, speaks_unicode(sys.stderr), verbose=verbose)
    else:
        kind = JsonLines if as_json == LINES else Lines
        lines = kind(unit, quiet=quiet, verbose=verbose)
    try:
        yield lines
    finally:
        lines.close()
