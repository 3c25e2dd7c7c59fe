"""What may be answered where a change waits for a yes, what an answer records, and which later questions it covers.

A system change is whatever goes beyond the program: every scope but `process`, and every step that a person takes,
but for a change of the program's code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..tools.case import changes_system
from ..tools.record import DENY_SYSTEM
from ..tools.subject import NO_MORE

if TYPE_CHECKING:
    from .transcript import Approval, Decision, Standing

GRANT_PROCESS = "grant process"
LONGEST_REASON = 500


@dataclass(frozen=True)
class ConsentOption:
    """One of the answers."""

    key: str
    """As a program names it."""
    label: str
    """As a person reads it."""
    granted: bool
    said: str
    """The reason that is recorded where the user gives none."""
    words: str
    """Regular expression of what else is read as this answer, where lines are typed; never a part of a line."""
    standing: Standing = ""
    """What else it answers, for the rest of the diagnosis."""


ONCE = ConsentOption("once", "This once", True, "this once", "yes|y|this once")
PROCESS = ConsentOption(
    "process",
    "This, and all that need no system change",
    True,
    "this, and all that need no system change",
    "this,? and all that need no system change",
    "grant process",
)
NO_SYSTEM = ConsentOption(
    "no-system",
    "Not this, and no system change at all in this diagnosis",
    False,
    "no system change at all in this diagnosis",
    "(?:not this,? and )?no system changes?(?: at all)?(?: in this diagnosis)?",
    "deny system",
)
NO = ConsentOption("no", "Not this", False, "not this", "n|not this")
FOUR = (ONCE, PROCESS, NO_SYSTEM, NO)
BY_HAND = (
    ConsentOption("done", "Done: I have done it", True, "done by hand", ""),
    ConsentOption("skip", "Not this", False, "skipped", "no|n|not this"),
    ConsentOption("never", "Stop asking", False, NO_MORE, "stop asking"),
)
ENDED = "not this: the input has ended, and nobody is there to answer"
_BECAUSE = re.compile(r"(?P<answer>.+?)[,:]? because (?P<reason>.+)", re.IGNORECASE)


def answers_to(question: Mapping[str, Any]) -> tuple[ConsentOption, ...]:
    """List the answers that a question takes, in the order of their numbers."""
    if question.get("steps"):
        return BY_HAND
    wanted = question.get("answers")
    return tuple(one for one in FOUR if wanted is None or one.key in wanted)


def choices(question: Mapping[str, Any]) -> list[str]:
    """Put the answers in lines, each with its number and its word."""
    answers = answers_to(question)
    wide = max(len(one.label) for one in answers)
    return [f"  {number}. {one.label:<{wide}}  ({one.key})" for number, one in enumerate(answers, 1)]


def numbered(line: str, question: Mapping[str, Any]) -> dict[str, Any] | None:
    """Read the number of an answer, as `2` or `4 because others use it`; None where the line is anything else."""
    return _read(line, {str(number): one for number, one in enumerate(answers_to(question), 1)})


def typed(line: str, question: Mapping[str, Any]) -> dict[str, Any] | None:
    """Read an answer by its number, its key or its words; None where the whole line is none, as a question is."""
    found = numbered(line, question)
    for one in answers_to(question):
        for words in (one.key, one.words) if one.words else (one.key,):
            found = found or _read(line, {words: one})
    return found


def _read(line: str, answers: Mapping[str, ConsentOption]) -> dict[str, Any] | None:
    text = " ".join(line.split()).rstrip(".!")
    because = _BECAUSE.fullmatch(text)
    for pattern, one in answers.items():
        if re.fullmatch(pattern, text, re.IGNORECASE):
            return {"answer": one.key, "reason": ""}
        if because and not one.granted and re.fullmatch(pattern, because["answer"], re.IGNORECASE):
            return {"answer": one.key, "reason": because["reason"]}
    return None


def recorded(question: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Make what an approval records of `{"answer": KEY, "reason": WORDS}`; ValueError where there is no such answer."""
    found = next((one for one in answers_to(question) if one.key == given.get("answer")), None)
    if found is None:
        keys = ", ".join(one.key for one in answers_to(question))
        raise ValueError(f"an answer is one of {keys}")
    reason = str(given.get("reason") or found.said)[:LONGEST_REASON]
    answer = {"granted": found.granted, "by": "user", "reason": reason}
    return answer | ({"standing": found.standing} if found.standing else {})


def refusal(question: Mapping[str, Any]) -> str:
    """Name the answer that refuses this once, and nothing else."""
    return next(one.key for one in answers_to(question) if not one.granted and not one.standing)


def label_of(question: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """Name an answer that was given as a person reads it."""
    return next(one.label for one in answers_to(question) if one.key == given["answer"])


def unanswered(reason: str = ENDED) -> dict[str, Any]:
    """Make what is recorded where nobody answers."""
    return {"granted": False, "by": "policy", "reason": reason}


def covered(
    approvals: Sequence[Approval], decisions: Mapping[str, Decision], decision: Decision, scope: str, own: bool = False
) -> dict[str, Any] | None:
    """Give the answer that the user has given already; None where the question is to be asked.

    The refusal of every system change comes first, for it is the last word. `own`: only a yes to this very mitigation
    counts, since it changes what the program promises. A yes to a mitigation is one to its second batch.
    """
    denied = next((one for one in approvals if one.standing == DENY_SYSTEM), None)
    if denied and changes_system(scope):
        return {"granted": False, "by": "user", "reason": f"{denied.reason}, as answered to {denied.call_id}"}
    for one in approvals:
        same = decisions[one.call_id].arguments.get("mitigation") == decision.arguments.get("mitigation")
        wider = one.standing == GRANT_PROCESS and not changes_system(scope) and not own
        if one.granted and (same or wider):
            return {"granted": True, "by": one.by, "reason": f"{one.reason}, as answered to {one.call_id}"}
    return None
