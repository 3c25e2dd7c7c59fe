"""chat: the terminal app; talk, look, decide."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ...knowledge.errors import VgoError
from .options import add_program, add_settings, add_voice

if TYPE_CHECKING:
    from ..chat.session import ChatSession
    from ..desk.desk import Desk
    from ..session import Request
    from ..settings import Settings

EPILOG = """\
examples:
  vgo-agent chat ./bench.sh
  vgo-agent chat --metric 'time: ([0-9.]+) ms' --unit ms -- python bench.py
  vgo-agent chat vgo-runs/20250314-092653-bench.sh

Words and slash commands do the same; /help lists them. The diagnosis runs in a process of its own: it goes on when the
terminal is lost, and `vgo-agent chat RUN` is there again. Without a COMMAND or RUN it begins with the runs so far.
"""
THEMES = ("dark", "light", "high-contrast")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = f"{parser.prog} [OPTIONS] [--] [COMMAND [ARGS...] | RUN]"
    parser.epilog = EPILOG
    add_program(parser)
    add_settings(parser)
    app = parser.add_argument_group("the app")
    app.add_argument("--step", action="store_true", help="begin nothing: every step waits for you")
    app.add_argument("--theme", choices=THEMES, default="dark", help="colours (default dark)")
    add_voice(parser)


def run(arguments: argparse.Namespace) -> int:
    """Open the app."""
    from ..settings import effective

    settings, _ = effective(vars(arguments))
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise VgoError("chat needs a terminal; use --plain, or `vgo-agent diagnose` where there is none.")
    from ..desk.desk import Desk

    with Desk() as desk:
        session = session_of(arguments, settings, desk)
        from ..terminal import speaks_unicode
        from ..tui.app import ChatApp

        begin = session.request is not None and not arguments.step
        app = ChatApp(session, arguments.theme, speaks_unicode(sys.stdout), begin)
        app.run()
        session.close()
    return app.return_code or 0


def session_of(arguments: argparse.Namespace, settings: Settings, desk: Desk) -> ChatSession:
    """Make the session that the words name: a run, or a program."""
    from ..chat.session import ChatSession
    from .meant import run_meant

    words = [word for word in arguments.command if word != "--"]
    if not words:
        return ChatSession(desk)
    if len(words) == 1 and _names_run(words[0], settings.out):
        session = ChatSession(desk)
        session.open(run_meant(words[0], settings.out))
        return session
    return ChatSession(desk, request_of(arguments, settings))


def _names_run(word: str, out: Path) -> bool:
    return any(os.path.isfile(place / "request.json") for place in (Path(word), Path(word).parent, out / word))


def request_of(arguments: argparse.Namespace, settings: Settings) -> Request:
    """Read the options as `diagnose` does."""
    from ..model.chosen import who_decides
    from ..session import Request
    from .subject import short_name, subject_of

    subject = subject_of(arguments, settings)
    planner, model = who_decides(settings)
    name = short_name(subject.command, subject.shell)
    return Request(subject, settings.limits(), settings.out, name, planner, model=model)
