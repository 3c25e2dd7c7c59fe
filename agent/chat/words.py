"""What a line means (a slash command, plain words for the same, or a question), and what is said back."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import starmap
from typing import Any, NamedTuple

from ..run_folder import TALK, RunFolder


class SlashCommand(NamedTuple):
    """A slash command."""

    usage: str
    words: str
    """What it does, for help and completion."""
    plain: str = ""
    """Regular expression of plain words for it; its first group is the argument."""

    @property
    def name(self) -> str:
        """Without the slash and the argument."""
        return self.usage.split()[0][1:]


class Meant(NamedTuple):
    """What a line asks for."""

    name: str
    """Of the command; `ask` for a question."""
    argument: str


_COMMANDS = (
    (
        "/diagnose [COMMAND]",
        "let the planner take the steps, up to the verdict",
        r"diagnose (?!it$)(\S.*)|(?:diagnose(?: it)?|go|find (?:out )?(?:the cause|why).*|do (?:it )?all)",
    ),
    ("/measure", "run until the spread is known", r"(?:please )?(?:measure|run)(?: it| again)?"),
    ("/profile", "run with counters beside", r"(?:please )?(?:profile|explore|count)(?: it)?"),
    ("/label [CUT]", "split slow from fast, at CUT or where it finds one", r"(?:label|cut)(?: (?:it )?(?:at )?(\S+))?"),
    ("/tree", "fit a shallow tree that explains slow and fast", r"(?:fit|show|draw)?(?: me)? ?(?:a|the)? ?tree"),
    (
        "/rank",
        "rank the factors that go with slow runs",
        r"(?:rank|show)(?: me)?(?: the)? factors|what goes with slow(?: runs)?",
    ),
    ("/lookup FACTOR", "see what is known of a factor, and what may help", r"look up (\S+)"),
    ("/try MITIGATION", "apply a mitigation, prove it, compare in pairs", r"(?:try|apply) (\S+)"),
    (
        "/compare [RUN RUN]",
        "judge the pairs, or two runs",
        r"compare(?: (?:it|them|(?:the )?(last two)(?: runs)?|(\S+ (?:and|with) \S+)))?",
    ),
    ("/explain NAME", "say what is known of a factor, a mitigation or a column", r"explain (.+)"),
    ("/runs", "list the runs so far", r"(?:show|list)(?: me)?(?: the)?(?: past| last)? runs"),
    ("/open RUN or FILES", "open a run, or recorded runs side by side", r"open (?:the )?(?:run )?(last|\S+)(?: run)?"),
    ("/delete RUN", "delete a run, after a question", r"delete (?:the )?(?:run )?(\S+)"),
    ("/report", "conclude, and show the report", r"(?:show )?(?:the )?report|conclude"),
    (
        "/status",
        "say how far it is, and what waits for you",
        r"status|how far(?: is it| are you| along.*)?|what(?: is|s) going on|where are we",
    ),
    ("/answer", "see the question that waits for your answer", r"(?:show )?(?:the )?question"),
    ("/undo", "take back what you asked for and has not begun", r"undo|never mind"),
    ("/pause", "wait after the run that goes on", r"pause|wait"),
    ("/resume [RUN]", "go on", r"(?:resume|go on|continue)(?: with (\S+))?"),
    ("/stop", "end it, and put every setting back", r"stop|abort"),
    ("/budget [MINUTES] [RUNS]", "change how far to go", r"budget(?: (.+))?"),
    ("/step", "choose every step yourself", r"step by step"),
    ("/again", "begin another run of the same program", r"again|once more"),
    ("/copy", "copy the command line that won", r"copy(?: the)?(?: winning)? (?:command(?: line)?|winner)"),
    ("/save [FOLDER]", "save the report there", r"save (?:the )?report(?: (?:to|in|into) (\S+))?"),
    (
        "/export [FILE]",
        "save the table of runs, as CSV or Parquet",
        r"(?:export|save) (?:the )?(?:table|runs)(?: (?:to|in|into|as) (\S+))?",
    ),
    (
        "/screenshot [FILE]",
        "save a picture of the screen, as SVG or PNG",
        r"(?:take |save )?(?:a |the )?screenshot(?: (?:to|in|into|as) (\S+))?",
    ),
    ("/help", "list what you can say", r"help|what can (?:i|you) (?:do|say)"),
    ("/quit", "leave; the run goes on", r"quit|exit|bye"),
)
COMMANDS = {command.name: command for command in starmap(SlashCommand, _COMMANDS)}
"""In the order of help."""
LONGEST = 4000
"""Characters of a line that are read."""


def meant(line: str) -> Meant:
    """Read a line; what is no command is a question, and an unknown slash command is `unknown`."""
    text = " ".join(line[:LONGEST].split())
    if text.startswith("/"):
        name, _, argument = text[1:].partition(" ")
        return Meant(name, argument.strip()) if name in COMMANDS else Meant("unknown", name)
    plain = text.rstrip(".!").lower()
    for command in COMMANDS.values():
        found = re.fullmatch(command.plain, plain) if command.plain else None
        if found:
            return Meant(command.name, next(filter(None, found.groups()), ""))
    return Meant("ask", text)


def completed(start: str) -> list[SlashCommand]:
    """List the commands that a beginning may become."""
    if not start.startswith("/") or " " in start:
        return []
    return [command for command in COMMANDS.values() if command.name.startswith(start[1:])]


@dataclass(frozen=True)
class ChatReply:
    """One answer in the conversation."""

    text: str
    """Markdown; a link `source:TAG` opens a reference."""
    sources: Sequence[Mapping[str, Any]] = ()
    """`tag`, `about`, `calls`, `events`, `sources` of each reference."""
    next: Sequence[str] = ()
    """Commands that may come next."""
    opens: str = ""
    """A screen that is to open: `budget`, `report`, `runs`, `files`, `recorded`, `quit`, ...; empty: none."""
    about: Sequence[str] = ()
    """What that screen is about: paths, or a text to copy."""
    failed: bool = False
    """It says why something was not done."""
    brief: str = ""
    """What stands in the chat where the screen that opens shows the rest."""


MOST = 500
"""Exchanges that are read back."""


@dataclass(frozen=True)
class Exchange:
    """A line of the user and what was said back."""

    line: str
    reply: ChatReply
    after: int
    """Events that the run had then."""


def keep(folder: RunFolder, exchange: Exchange) -> None:
    """Append it; a full disk loses talk, and no run."""
    with contextlib.suppress(OSError), (folder.path / TALK).open("a") as file:
        file.write(json.dumps(asdict(exchange)) + "\n")


def kept(folder: RunFolder) -> Sequence[Exchange]:
    """Read it back; lines that are broken are left out."""
    try:
        lines = (folder.path / TALK).read_text(errors="replace").splitlines()[-MOST:]
    except OSError:
        return []
    found = []
    for line in lines:
        with contextlib.suppress(ValueError, KeyError, TypeError):
            values = json.loads(line)
            found.append(Exchange(values["line"], ChatReply(**values["reply"]), int(values["after"])))
    return found
