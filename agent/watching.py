"""How a diagnosis is told while it goes on: a live view where there is a terminal for it, else plain lines."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from .progress import JsonLines, Lines
from .terminal import LINES, speaks_unicode


def has_live_view(quiet: bool, as_json: bool) -> bool:
    """Tell whether standard error is a terminal that can redraw, and whether that is wanted."""
    return sys.stderr.isatty() and not quiet and not as_json and os.environ.get("TERM", "dumb") != "dumb"


@contextmanager
def watching(quiet: bool, arguments: argparse.Namespace, unit: str) -> Iterator[Lines]:
    """Choose how to tell."""
    quiet = quiet and not arguments.verbose  # the flag goes before the settings file
    lines: Lines
    if has_live_view(quiet, arguments.json):
        from .live_view import LiveView  # rich costs 80 ms

        lines = LiveView(unit, speaks_unicode(sys.stderr), verbose=arguments.verbose)
    else:
        kind = JsonLines if arguments.json == LINES else Lines
        lines = kind(unit, quiet=quiet, verbose=arguments.verbose)
    try:
        yield lines
    finally:
        lines.close()
