"""Words for people: what is safe to print, how wide, how a number is written."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

from ..knowledge.errors import VgoError
from ..tools.amount import amount as amount

WIDTH = 96
"""Of folded prose."""
BARS, ASCII_BARS = " ▁▂▃▄▅▆▇█", " .:-=+*#@"
LINES = "lines"
"""Where a program is told and answers: one JSON object a line."""
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TextIO


def printable(text: str) -> str:
    """Keep text that others wrote from steering the terminal; one line."""
    return "".join(char if char.isprintable() else " " for char in text)


def columns() -> int:
    """Width of the terminal; 80 where there is none."""
    named = os.environ.get("COLUMNS", "")
    if named.isdigit() and int(named) > 0:
        return int(named)
    for stream in (1, 2):
        try:
            return os.get_terminal_size(stream).columns or 80
        except OSError:
            continue
    return 80


def terminal_gone() -> bool:
    """Tell whether a terminal that this process writes to has been closed."""
    import select

    poll = select.poll()
    for stream in (1, 2):
        poll.register(stream, 0)
    return any(event & select.POLLHUP for _, event in poll.poll(0))


def speaks_unicode(stream: TextIO) -> bool:
    """Tell whether bars and ticks can be written."""
    return (stream.encoding or "").lower().replace("-", "") == "utf8"


def answer(values: Mapping[str, Any], text: str, as_json: bool | str) -> None:
    """Print the answer of a command on standard output: one JSON object, in one line with LINES; or words."""
    if as_json:
        import json

        text = json.dumps(values, indent=None if as_json == LINES else 2)
    else:
        encoding = sys.stdout.encoding or "utf-8"
        lines = (printable(line) for line in text.rstrip("\n").split("\n"))
        text = "\n".join(lines).encode(encoding, "replace").decode(encoding)
    raw(text)


def raw(text: str) -> None:
    """Print on standard output as it is."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        raise
    except OSError as error:
        drop_output(1)
        raise VgoError(f"Cannot write the answer ({error.strerror}); send standard output elsewhere.") from error


def drop_output(*streams: int) -> None:
    """Send what is left to nowhere: Python flushes its streams once more at its end, which would fail again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in streams:
        os.dup2(nowhere, stream)
    os.close(nowhere)


def folded(words: str) -> str:
    """Fold prose; commands, tables and trees, in which a line has two blanks together, stay as they are."""
    import textwrap

    lines = []
    for line in words.strip().split("\n"):
        indent = " " * 6 * line.startswith(("Note:", "Next:"))
        lines += [line] if "  " in line else textwrap.wrap(line, WIDTH, subsequent_indent=indent) or [""]
    return "\n".join(lines)


def table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool] = ()) -> str:
    """Lay out rows in columns, two spaces apart; `right` tells which columns stand at the right, none by default."""
    cells = [[printable(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    pads = [str.rjust if one else str.ljust for one in right or [False] * len(widths)]
    padded = ([pad(cell, width) for pad, cell, width in zip(pads, row, widths, strict=True)] for row in cells)
    return "\n".join("  ".join(row).rstrip() for row in padded)


def bar_line(counts: Sequence[int], bars: str) -> str:
    """Draw counts as bars, rounded up so that a single slow run is seen."""
    steps, most = len(bars) - 1, max(*counts, 1)
    return "".join(bars[-(-count * steps // most)] for count in counts)


def bins(outcomes: Sequence[float], low: float, high: float, count: int) -> list[int]:
    """Count outcomes in equal steps from low to high."""
    counts = [0] * count
    for value in outcomes:
        place = int((value - low) / (high - low) * count) if high > low else 0
        counts[min(max(place, 0), count - 1)] += 1
    return counts
