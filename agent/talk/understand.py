"""From a line that was typed to the one thing that it asks for: a slash command, plain words, else a question."""

from __future__ import annotations

import difflib
import re

from .verbs import VERBS, Said

LONGEST = 10_000
"""Characters of a line; more is a mistaken paste."""
ANSWERS = {"yes": "approve", "y": "approve", "ok": "approve", "no": "deny", "n": "deny", "never": "deny"}
"""What a word means while an approval is waited for."""
_NEEDS = frozenset(name for name, verb in VERBS.items() if verb.takes and not verb.takes.startswith("["))
_THING = r"(?:me |us )?(?:the |my |its |this |that |a )*"
_CUT = r"auto|mean|median|p\d\d?|[0-9.]+\S*"
_PLAIN = tuple(
    (re.compile(rf"{pattern}[.!]*", re.IGNORECASE), verb)
    for pattern, verb in (
        (r"(?:please )?(?:diagnose|find out why) (?P<rest>.+?)(?: is slow| varies| is so slow)?", "diagnose"),
        (r"why (?:is|are) (?P<rest>\.{0,2}/\S.*?) (?:so |sometimes )*(?:slow|noisy|varying)\??", "diagnose"),
        (r"(?:please )?(?:measure|time)(?: it| again)?(?: (?P<rest>\.{0,2}/\S.*))?", "measure"),
        (r"(?:please )?profile(?: it| again)?(?: (?P<rest>\.{0,2}/\S.*))?", "profile"),
        (rf"(?:set |move |put )?(?:the )?cut (?:line )?(?:at |to )?(?P<rest>{_CUT})(?: \w+)?", "label"),
        (rf"show {_THING}tree", "tree"),
        (rf"(?:show|rank) {_THING}(?:factors|suspects|causes)", "rank"),
        (r"(?:please )?(?:try|apply|test) (?:the mitigation )?(?P<rest>[a-z0-9_./-]+)(?: please)?", "try"),
        (r"compare (?:the )?(?:last )?two(?: last)?(?: runs)?", "compare"),
        (r"compare (?P<rest>\S+) (?:and|with|to|against) (?P<more>\S+)", "compare"),
        (r"compare(?: them| baseline and mitigated)?", "compare"),
        (rf"(?:explain|tell me about) {_THING}(?P<rest>[\w ./-]+)", "explain"),
        (rf"(?:show|open|read) {_THING}report", "report"),
        (r"(?:undo|take (?:that|it) back)(?: that| it)?", "undo"),
        (rf"(?:show|list) {_THING}(?:past |last )?runs", "runs"),
        (rf"open {_THING}(?P<rest>last run|\S+)", "open"),
        (rf"(?:resume|go on with) {_THING}(?P<rest>last run|\S+)?", "resume"),
        (rf"delete {_THING}(?:run )?(?P<rest>\S+)", "delete"),
        (r"(?:pause|wait|hold)(?: it| please)?", "pause"),
        (r"(?:go on|continue|go)(?: please)?", "go"),
        (r"(?:stop|abort|end)(?: it| now| please)?", "stop"),
        (r"(?:set )?(?:the )?budget (?:to |of )?(?P<rest>.+)", "budget"),
        (r"(?:done|i have done (?:it|that))", "done"),
        (rf"copy {_THING}(?:winning )?(?:command(?: line)?|winner)", "copy"),
        (rf"save {_THING}report(?: (?:to|in|into|as) (?P<rest>\S+))?", "save"),
        (rf"(?:export|save) {_THING}(?:table|runs)(?: (?:to|in|into|as) (?P<rest>\S+))?", "export"),
        (rf"(?:take |save )?{_THING}(?:screenshot|picture)(?: (?:to|in|into|as) (?P<rest>\S+))?", "screenshot"),
        (r"(?:help|what can i say\??)", "help"),
        (r"(?:quit|exit|bye|leave)", "quit"),
    )
)


def understand(line: str, asking: bool = False) -> Said:
    """Say what a line asks for; `asking`: an approval is waited for, so yes and no are answers."""
    text = " ".join(line.split())
    if len(line) > LONGEST:
        return Said("", problem=f"That line has {len(line)} characters; say it in {LONGEST}.")
    if text.startswith("/") and not _is_path(text):
        return _slash(text[1:])
    first, _, rest = text.partition(" ")
    if asking and first.lower().strip(",.") in ANSWERS:
        return Said(ANSWERS[first.lower().strip(",.")], rest.removeprefix("because ").strip())
    return _plain(text) or Said("ask" if text else "", text)


def _is_path(text: str) -> bool:
    """Tell a program named by its path from a slash command."""
    return "/" in text.split(" ")[0][1:]


def _slash(text: str) -> Said:
    name, _, rest = text.partition(" ")
    name, rest = name.lower(), rest.strip()
    if name not in VERBS:
        close = difflib.get_close_matches(name, VERBS, n=1)
        meant = f"Did you mean /{close[0]}?" if close else "/help lists what there is."
        return Said("", problem=f"There is no /{name[:40]}. {meant}")
    return _complete(name, rest)


def _plain(text: str) -> Said | None:
    for pattern, verb in _PLAIN:
        if found := pattern.fullmatch(text):
            words = (word for word in found.groupdict().values() if word)
            return _complete(verb, " ".join(words))
    return None


def _complete(name: str, rest: str) -> Said:
    if name in _NEEDS and not rest:
        verb = VERBS[name]
        return Said("", problem=f"/{name} needs a {verb.takes.replace('|', ' or a ').lower()}: /{name} {verb.takes}.")
    return Said(name, rest)


def completions(text: str, names: tuple[str, ...] = ()) -> list[str]:
    """List the lines that begin with what is typed: verbs, and after `/try` or `/explain` the names that are known."""
    if not text.startswith("/"):
        return []
    verb, blank, rest = text[1:].partition(" ")
    if not blank:
        return [f"/{name}" for name in VERBS if name.startswith(verb.lower())]
    return [f"/{verb} {name}" for name in names if name.startswith(rest)] if verb in VERBS else []


def told(name: str = "") -> str:
    """Say what can be said: everything, or one verb."""
    verb = VERBS.get(name.removeprefix("/"))
    if verb:
        return f"{_form(*verb[:2])}: {verb.does}."
    width = max(len(_form(*verb[:2])) for verb in VERBS.values())
    lines = [f"{_form(*verb[:2]):<{width}}  {verb.does}" for verb in VERBS.values()]
    return "\n".join([*lines, "", "Plain words do the same; anything else is a question."])


def _form(name: str, takes: str) -> str:
    return f"/{name} {takes}".rstrip()
