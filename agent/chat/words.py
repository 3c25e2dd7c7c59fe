"""What a line means: a slash command, plain words for the same, or a question."""

from __future__ import annotations

import re
from typing import NamedTuple


class Command(NamedTuple):
    """A slash command."""

    name: str
    usage: str
    words: str
    """What it does, for help and completion."""
    plain: str = ""
    """Regular expression of plain words for it; its first group is the argument."""


class Meant(NamedTuple):
    """What a line asks for."""

    name: str
    """Of the command; `ask` for a question."""
    argument: str


COMMANDS = {
    command.name: command
    for command in (
        Command(
            "diagnose",
            "/diagnose [COMMAND]",
            "let the planner take the steps, up to the verdict",
            r"diagnose (?!it$)(\S.*)|(?:diagnose(?: it)?|go|find (?:out )?(?:the cause|why).*|do (?:it )?all)",
        ),
        Command("measure", "/measure", "run until the spread is known", r"(?:please )?(?:measure|run)(?: it| again)?"),
        Command("profile", "/profile", "run with counters beside", r"(?:please )?(?:profile|explore|count)(?: it)?"),
        Command(
            "label",
            "/label [CUT]",
            "split slow from fast, at CUT or where it finds one",
            r"(?:label|cut)(?: (?:it )?(?:at )?(\S+))?",
        ),
        Command(
            "tree",
            "/tree",
            "fit a shallow tree that explains slow and fast",
            r"(?:fit|show|draw)?(?: me)? ?(?:a|the)? ?tree",
        ),
        Command(
            "rank",
            "/rank",
            "rank the factors that go with slow runs",
            r"(?:rank|show)(?: me)?(?: the)? factors|what goes with slow(?: runs)?",
        ),
        Command("lookup", "/lookup FACTOR", "see what is known of a factor, and what may help", r"look up (\S+)"),
        Command("try", "/try MITIGATION", "apply a mitigation, prove it, compare in pairs", r"(?:try|apply) (\S+)"),
        Command(
            "compare",
            "/compare [RUN RUN]",
            "judge the pairs, or two runs",
            r"compare(?: (?:it|them|(?:the )?(last two)(?: runs)?|(\S+ (?:and|with) \S+)))?",
        ),
        Command("explain", "/explain NAME", "say what is known of a factor, a mitigation or a column", r"explain (.+)"),
        Command("runs", "/runs", "list the runs so far", r"(?:show|list)(?: me)?(?: the)?(?: past| last)? runs"),
        Command(
            "open",
            "/open RUN or FILES",
            "open a run, or recorded runs side by side",
            r"open (?:the )?(?:run )?(last|\S+)(?: run)?",
        ),
        Command("delete", "/delete RUN", "delete a run, after a question", r"delete (?:the )?(?:run )?(\S+)"),
        Command("report", "/report", "conclude, and show the report", r"(?:show )?(?:the )?report|conclude"),
        Command(
            "status",
            "/status",
            "say how far it is, and what waits for you",
            r"status|how far(?: is it| are you| along.*)?|what(?: is|s) going on|where are we",
        ),
        Command("answer", "/answer", "see the question that waits for your answer", r"(?:show )?(?:the )?question"),
        Command("undo", "/undo", "take back what you asked for and has not begun", r"undo|never mind"),
        Command("pause", "/pause", "wait after the run that goes on", r"pause|wait"),
        Command("resume", "/resume [RUN]", "go on", r"(?:resume|go on|continue)(?: with (\S+))?"),
        Command("stop", "/stop", "end it, and put every setting back", r"stop|abort"),
        Command("budget", "/budget [MINUTES] [RUNS]", "change how far to go", r"budget(?: (.+))?"),
        Command("step", "/step", "choose every step yourself", r"step by step"),
        Command("again", "/again", "begin another run of the same program", r"again|once more"),
        Command(
            "copy",
            "/copy",
            "copy the command line that won",
            r"copy(?: the)?(?: winning)? (?:command(?: line)?|winner)",
        ),
        Command("save", "/save [FOLDER]", "save the report there", r"save (?:the )?report(?: (?:to|in|into) (\S+))?"),
        Command(
            "export",
            "/export [FILE]",
            "save the table of runs, as CSV or Parquet",
            r"(?:export|save) (?:the )?(?:table|runs)(?: (?:to|in|into|as) (\S+))?",
        ),
        Command(
            "screenshot",
            "/screenshot [FILE]",
            "save a picture of the screen, as SVG or PNG",
            r"(?:take |save )?(?:a |the )?screenshot(?: (?:to|in|into|as) (\S+))?",
        ),
        Command("help", "/help", "list what you can say", r"help|what can (?:i|you) (?:do|say)"),
        Command("quit", "/quit", "leave; the run goes on", r"quit|exit|bye"),
    )
}
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


def completed(start: str) -> list[Command]:
    """List the commands that a beginning may become."""
    if not start.startswith("/") or " " in start:
        return []
    return [command for command in COMMANDS.values() if command.name.startswith(start[1:])]
