"""What a line means: a slash command, plain words for the same, or a question."""

from __future__ import annotations

import re
from typing import NamedTuple


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


COMMANDS = {
    command.name: command
    for command in (
        SlashCommand(
            "/diagnose [COMMAND]",
            "let the planner take the steps, up to the verdict",
            r"diagnose (?!it$)(\S.*)|(?:diagnose(?: it)?|go|find (?:out )?(?:the cause|why).*|do (?:it )?all)",
        ),
        SlashCommand("/measure", "run until the spread is known", r"(?:please )?(?:measure|run)(?: it| again)?"),
        SlashCommand("/profile", "run with counters beside", r"(?:please )?(?:profile|explore|count)(?: it)?"),
        SlashCommand(
            "/label [CUT]",
            "split slow from fast, at CUT or where it finds one",
            r"(?:label|cut)(?: (?:it )?(?:at )?(\S+))?",
        ),
        SlashCommand(
            "/tree", "fit a shallow tree that explains slow and fast", r"(?:fit|show|draw)?(?: me)? ?(?:a|the)? ?tree"
        ),
        SlashCommand(
            "/rank",
            "rank the factors that go with slow runs",
            r"(?:rank|show)(?: me)?(?: the)? factors|what goes with slow(?: runs)?",
        ),
        SlashCommand("/lookup FACTOR", "see what is known of a factor, and what may help", r"look up (\S+)"),
        SlashCommand("/try MITIGATION", "apply a mitigation, prove it, compare in pairs", r"(?:try|apply) (\S+)"),
        SlashCommand(
            "/compare [RUN RUN]",
            "judge the pairs, or two runs",
            r"compare(?: (?:it|them|(?:the )?(last two)(?: runs)?|(\S+ (?:and|with) \S+)))?",
        ),
        SlashCommand("/explain NAME", "say what is known of a factor, a mitigation or a column", r"explain (.+)"),
        SlashCommand("/runs", "list the runs so far", r"(?:show|list)(?: me)?(?: the)?(?: past| last)? runs"),
        SlashCommand(
            "/open RUN or FILES",
            "open a run, or recorded runs side by side",
            r"open (?:the )?(?:run )?(last|\S+)(?: run)?",
        ),
        SlashCommand("/delete RUN", "delete a run, after a question", r"delete (?:the )?(?:run )?(\S+)"),
        SlashCommand("/report", "conclude, and show the report", r"(?:show )?(?:the )?report|conclude"),
        SlashCommand(
            "/status",
            "say how far it is, and what waits for you",
            r"status|how far(?: is it| are you| along.*)?|what(?: is|s) going on|where are we",
        ),
        SlashCommand("/answer", "see the question that waits for your answer", r"(?:show )?(?:the )?question"),
        SlashCommand("/undo", "take back what you asked for and has not begun", r"undo|never mind"),
        SlashCommand("/pause", "wait after the run that goes on", r"pause|wait"),
        SlashCommand("/resume [RUN]", "go on", r"(?:resume|go on|continue)(?: with (\S+))?"),
        SlashCommand("/stop", "end it, and put every setting back", r"stop|abort"),
        SlashCommand("/budget [MINUTES] [RUNS]", "change how far to go", r"budget(?: (.+))?"),
        SlashCommand("/step", "choose every step yourself", r"step by step"),
        SlashCommand("/again", "begin another run of the same program", r"again|once more"),
        SlashCommand(
            "/copy", "copy the command line that won", r"copy(?: the)?(?: winning)? (?:command(?: line)?|winner)"
        ),
        SlashCommand("/save [FOLDER]", "save the report there", r"save (?:the )?report(?: (?:to|in|into) (\S+))?"),
        SlashCommand(
            "/export [FILE]",
            "save the table of runs, as CSV or Parquet",
            r"(?:export|save) (?:the )?(?:table|runs)(?: (?:to|in|into|as) (\S+))?",
        ),
        SlashCommand(
            "/screenshot [FILE]",
            "save a picture of the screen, as SVG or PNG",
            r"(?:take |save )?(?:a |the )?screenshot(?: (?:to|in|into|as) (\S+))?",
        ),
        SlashCommand("/help", "list what you can say", r"help|what can (?:i|you) (?:do|say)"),
        SlashCommand("/quit", "leave; the run goes on", r"quit|exit|bye"),
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


def completed(start: str) -> list[SlashCommand]:
    """List the commands that a beginning may become."""
    if not start.startswith("/") or " " in start:
        return []
    return [command for command in COMMANDS.values() if command.name.startswith(start[1:])]
