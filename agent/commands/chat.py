"""chat: the terminal app; talk, look, decide."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ...knowledge.errors import VgoError
from ...tools.ending_signals import hear_hangup
from .options import OfProgram, OnHosts, option
from .setting_options import EVERY

if TYPE_CHECKING:
    from ..chat.session import ChatSession
    from ..desk.desk import Desk
    from ..diagnosis import NewDiagnosis
    from ..settings import UserSettings

FRONT_DOOR = (sys.executable, "-P", "-c", "import sys; from vgo_agent.agent.start import main; sys.exit(main())")
THEMES = ("dark", "light", "high-contrast")


@dataclass(frozen=True, kw_only=True)
class ChatCommand(OfProgram, OnHosts):
    """The terminal app; talk, look, decide."""

    EPILOG = """\
examples:
  vgo-agent chat ./bench.sh
  vgo-agent chat --metric 'time: ([0-9.]+) ms' --unit ms -- python bench.py
  vgo-agent chat vgo-runs/20250314-092653-bench.sh
  vgo-agent chat --metric time_s before.csv after.csv
  vgo-agent chat --plain ./bench.sh < lines.txt
  vgo-agent chat --on tcp://10.0.0.1:8786 ./bench.sh
  vgo-agent chat --web --port 8765 ./bench.sh

Words and slash commands do the same; /help lists them. The diagnosis runs in a process of its own: it goes on when the
terminal is lost, and `vgo-agent chat RUN` is there again. Without a COMMAND or RUN it begins with the runs so far.
"""
    USAGE = "[OPTIONS] [--] [COMMAND [ARGS...] | RUN | FILE ...]"
    GROUP = "the app"
    SETTINGS = EVERY
    REQUIRES = {"on": "mixed", "web": "port"}
    CONFLICTS = {"plain": "web theme"}

    step: bool = option("begin nothing: every step waits for you", False)
    plain: bool = option("line by line, for screen readers, pipes and logs", False)
    web: bool = option("in a browser of this machine; the address is printed", False)
    port: int = option("port of --web (default: a free one)", 0, metavar="N")
    theme: str = option("colours (default dark)", "dark", choices=THEMES)

    def run(self) -> int:
        """Open the app."""
        from ..ending import goes_on_with

        settings = self.in_force()
        if self.web:
            return _in_browser(self, settings)
        drawn = "TEXTUAL_DRIVER" in os.environ  # by a page of --web
        if not (self.plain or drawn):
            _refuse_terminal()
            hear_hangup()
        from ..desk.desk import Desk

        with Desk() as desk:
            session = session_of(self, settings, desk)
            session.speaks = _speaker(settings)
            first = first_line(session, self)
            try:
                with goes_on_with(lambda: _again(session)):
                    return _line_by_line(session, first) if self.plain else _on_screen(session, self, first)
            finally:
                session.close()


def first_line(session: ChatSession, command: ChatCommand) -> str:
    """Say what is to be done at once: begin, open what is named, or list the runs."""
    if session.new is not None:
        return "" if command.step else "/diagnose"
    if session.folder is not None:
        return ""
    words = command.command
    judged = ["--metric", command.metric] if command.metric else []
    return f"/open {shlex.join([*words, *judged])}" if words else "/runs"


def _on_screen(session: ChatSession, command: ChatCommand, first: str) -> int:
    from ..tui.app import ChatApp

    app = ChatApp(session, command.theme, first)
    app.run()
    if left := _where_left(session):
        print(left, file=sys.stderr)
    return app.return_code or 0


def _line_by_line(session: ChatSession, first: str) -> int:
    from ..plain.lines import LinesIn
    from ..plain.plain import Plain
    from ..terminal import answer

    def say(line: str) -> None:
        answer({}, line, False)

    plain = Plain(session, LinesIn(sys.stdin.fileno()), say, patient=not sys.stdin.isatty())
    try:
        plain.converse(first)
    except KeyboardInterrupt:
        plain.stop()
        raise
    return 1 if session.failure else 0


def _in_browser(command: ChatCommand, settings: UserSettings) -> int:
    """Begin the run here, once, and let every page follow it: a page that is loaded again begins no other run."""
    from ..desk.desk import Desk
    from ..ending import goes_on_with
    from ..tui.web.server import serve

    def tell(line: str) -> None:
        print(line, flush=True)

    with Desk() as desk:
        session = session_of(command, settings, desk)
        if session.new is not None:
            session.begin("step" if command.step else "auto")
        named = [str(session.folder.path.resolve())] if session.folder else command.command
        options = ["--theme", command.theme, "--out", str(settings.out)]
        if session.folder is None and command.metric:  # of recorded files
            options += ["--metric", command.metric]
        words = [*options, "--", *named]
        with goes_on_with(lambda: _again(session)):
            serve([*FRONT_DOOR, "chat", *words], command.port, tell)
        if session.place == "ours" and session.folder:
            tell(f"The run goes on: vgo-agent chat {session.folder.path}")
    return 0


def _speaker(settings: UserSettings) -> str:
    """Name the model that is to choose what is said; refused here where it cannot be used."""
    if not settings.model:
        return ""
    from ..model.chosen import model_choice

    return model_choice(settings.model, settings).model_dump_json()


def _refuse_terminal() -> None:
    from ..terminal import speaks_unicode

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise VgoError("chat needs a terminal; use --plain, or `vgo-agent diagnose` where there is none.")
    if os.environ.get("TERM", "dumb") in ("dumb", ""):
        raise VgoError("This terminal (TERM=dumb) cannot redraw a screen; use --plain.")
    if not speaks_unicode(sys.stdout):
        raise VgoError("This locale is not UTF-8, which the screen is drawn with; set LC_ALL=C.UTF-8, or use --plain.")


def _where_left(session: ChatSession) -> str:
    if session.folder is None:
        return ""
    goes_on = session.place in ("ours", "watching", "elsewhere")
    how = "It waits for your answer" if session.state.question else "It goes on" if goes_on else "It is kept"
    return f"{how}: {_again(session)}"


def _again(session: ChatSession) -> str:
    return f"vgo-agent chat {shlex.quote(str(session.folder.path))}" if session.folder else ""


def session_of(command: ChatCommand, settings: UserSettings, desk: Desk) -> ChatSession:
    """Make the session that the words name: a run, or a program."""
    from ..chat.session import ChatSession
    from ..run_folder import run_meant
    from .diagnose import diagnosis_of

    def asking(line: Sequence[str]) -> NewDiagnosis:
        return diagnosis_of(replace(command, command=tuple(line)), settings)

    words = command.command
    if not words or _are_recorded(words, settings.out):
        return ChatSession(desk, None, settings.out, asking)
    if len(words) == 1 and _names_run(words[0], settings.out):
        session = ChatSession(desk, None, settings.out, asking)
        session.open(run_meant(words[0], settings.out))
        return session
    return ChatSession(desk, diagnosis_of(command, settings), settings.out, asking)


def _names_run(word: str, out: Path) -> bool:
    return any(os.path.isfile(place / "request.json") for place in (Path(word), Path(word).parent, out / word))


def _are_recorded(words: Sequence[str], out: Path) -> bool:
    """Tell files of recorded runs, and several runs, from a program: a program can be executed."""
    from ..run_folder import experiment_in, place_meant

    if len(words) == 1 and _names_run(words[0], out):
        return False
    return all(
        _names_run(word, out)
        or (os.path.isfile(word) and not os.access(word, os.X_OK))
        or bool(experiment_in(place_meant(word, out)))
        for word in words
    )
