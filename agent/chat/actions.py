"""What each command does; every one gives a reply, and whatever it changes is seen in the run."""

from __future__ import annotations

import difflib
import math
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from ...knowledge.errors import VgoError
from ...tools.case import changes_system
from ...tools.record import DENY_SYSTEM
from ...tools.subject import TrialPlan
from ..session_view.step import in_words
from .past_runs import PAST, TAKEN, answered_by_experiment, compared, open_run, split
from .session import NO_QUESTION, READ_ONLY, ChatSession
from .status import status_lines
from .words import COMMANDS, ChatReply, meant

Action = Callable[[ChatSession, str], ChatReply]
CONCLUDING = ("chosen", "going on", "done")
"""States of the last step of a run: no call is taken after it."""


def do(session: ChatSession, line: str) -> ChatReply:
    """Do what a line asks for; what cannot be done is said."""
    asked = meant(line)
    try:
        return ACTIONS[asked.name](session, asked.argument)
    except VgoError as error:
        return ChatReply(str(error), failed=True)


def _wish(session: ChatSession, tool: str, arguments: Mapping[str, Any] | None = None) -> ChatReply:
    """Ask for a call; where nothing goes on yet, begin, and take the steps one by one."""
    if session.place in ("none", "still"):
        _refuse_ended(session)
        session.begin("step")
    elif any(step.tool == "conclude" and step.state in CONCLUDING for step in session.view.steps):
        raise VgoError("This run has its verdict, and its report is being written; say it again in a moment.")
    session.tell("wish", tool=tool, arguments=arguments or {}, why="you asked for it")
    return ChatReply(f"{in_words(tool)}: next.")


def _refuse_ended(session: ChatSession) -> None:
    if session.files is not None:
        raise VgoError("Recorded files can be looked at, and not be run; /diagnose COMMAND begins a run.")
    if session.view.status == "finished":
        raise VgoError("This run has its verdict, and no step can be added; /again begins another one.")


def _step(tool: str) -> Action:
    """A command that is one call without a choice."""
    return lambda session, argument: _wish(session, tool)


def _label(session: ChatSession, argument: str) -> ChatReply:
    if not argument:
        return _wish(session, "label")
    try:
        cut = float(argument)
    except ValueError:
        cut = math.nan
    if session.files is not None and math.isfinite(cut):
        paths, metric = session.files["paths"], session.files["metric"]
        path = shlex.quote(paths[0]) if len(paths) == 1 else "FILE"
        judged = f" --outcome {shlex.quote(metric)}" if metric else ""
        raise VgoError(f"A cut is recorded in a run; of files: vgo-agent analyze {path}{judged} --cut {cut:.6g}")
    if not math.isfinite(cut):
        raise VgoError(
            f"{argument!r} is no number: write /label 0.42, in {session.view.unit or 'the unit of the outcome'}."
        )
    return _wish(session, "label", {"cut": cut})


def _try(session: ChatSession, argument: str) -> ChatReply:
    if not argument:
        raise VgoError("Name the mitigation: /try pin_to_cpu; `vgo-agent mitigations` lists them.")
    named = session.desk.ask("named", word=argument)
    if session.view.status == "finished":
        session.again(TrialPlan(mitigation=named["key"], by_hand=named["by_hand"]))
        return ChatReply(f"A new run of the same program begins, to try {named['key']} and nothing else.")
    refused = (step for step in session.view.steps if step.approval and step.approval.standing == DENY_SYSTEM)
    if changes_system(named["scope"]) and (said := next(refused, None)):
        raise VgoError(
            f"{named['key']} changes the system, and you wanted no system change in this diagnosis ({said.title}); "
            "/stop ends it, and /again begins another one, in which it is asked about."
        )
    return _wish(session, "apply_mitigation", {"mitigation": named["key"]})


def _diagnose(session: ChatSession, argument: str) -> ChatReply:
    if argument:
        session.begin_with(split(argument))
        return ChatReply("It begins: first a trial run, then the baseline.", opens="run")
    if session.place == "ours":
        session.tell("mode", mode="auto")
        return ChatReply("The planner takes the steps from here on; what you ask for still comes first.")
    _refuse_ended(session)
    session.begin("auto")
    return ChatReply("It begins: first a trial run, then the baseline.")


def _again(session: ChatSession, argument: str) -> ChatReply:
    session.again()
    return ChatReply("A new run of the same program begins.")


def _resume(session: ChatSession, argument: str) -> ChatReply:
    opens = open_run(session, argument).opens if argument else ""
    if session.place == "ours":
        session.tell("go")
        return ChatReply("It goes on.", opens=opens)
    _refuse_ended(session)
    session.begin("auto")
    return ChatReply("It goes on where it was cut off.", opens=opens)


def _pause(session: ChatSession, argument: str) -> ChatReply:
    session.tell("pause")
    return ChatReply("It waits after the run that goes on; /resume goes on.")


def _stop(session: ChatSession, argument: str) -> ChatReply:
    session.tell("stop")
    return ChatReply("It ends, and every setting is put back; /resume goes on later.")


def _mode_step(session: ChatSession, argument: str) -> ChatReply:
    if session.place != "ours":
        _refuse_ended(session)
        session.begin("step")
        return ChatReply("It begins; every step waits for you. /measure comes first.")
    session.tell("mode", mode="step")
    return ChatReply("Every step waits for you; /diagnose lets the planner go on.")


def _undo(session: ChatSession, argument: str) -> ChatReply:
    if not session.state.wishes:
        return ChatReply("Nothing waits that could be taken back; a step that has begun stands in the record.")
    session.tell("unwish")
    return ChatReply("What you asked for and had not begun is taken back.")


def _budget(session: ChatSession, argument: str) -> ChatReply:
    if not argument:
        return ChatReply("", opens="budget")
    words = argument.replace("minutes", "").replace("runs", "").replace("min", "").split()
    try:
        minutes, *runs = map(float, words)
        limits: dict[str, Any] = {"budget_s": _positive(minutes) * 60}
        limits |= {"max_runs": max(2, int(_positive(runs[0])))} if runs else {}
    except ValueError as error:
        raise VgoError(f"{argument!r} is no budget: write /budget 20 for 20 minutes, or /budget 20 300.") from error
    session.tell("limits", limits=limits)
    return ChatReply("The new budget holds from the next step on.")


def _positive(number: float) -> float:
    if not (math.isfinite(number) and number > 0):
        raise ValueError(number)
    return number


def _answer(session: ChatSession, argument: str) -> ChatReply:
    if session.state.question is None:
        raise VgoError(NO_QUESTION)
    if not session.state.in_charge:
        raise VgoError(READ_ONLY)
    return ChatReply("", opens="question")


def _report(session: ChatSession, argument: str) -> ChatReply:
    if session.view.status != "finished":
        return _wish(session, "conclude")
    assert session.folder is not None
    return ChatReply(f"The report: {session.folder.path / 'report.md'}", opens="report")


def _explain(session: ChatSession, argument: str) -> ChatReply:
    if not argument:
        raise VgoError("Name a factor, a mitigation or a column: /explain page_faults.")
    return ChatReply(session.desk.ask("explain", name=argument)["markdown"])


def _ask(session: ChatSession, argument: str) -> ChatReply:
    if not argument:
        return ChatReply("")
    if answer := answered_by_experiment(session, argument):
        return answer
    run = str(session.folder.path) if session.folder and session.view.status == "finished" else ""
    given = session.desk.ask("ask", question=argument, run=run, model=session.speaks)
    note = "" if run or session.folder is None else "\n\n*From what is known; the run has no verdict yet.*"
    return ChatReply(given["markdown"] + note, given["sources"], given["next"])


def _help(session: ChatSession, argument: str) -> ChatReply:
    text = "\n".join(f"- `{one.usage}` {one.words}" for one in COMMANDS.values())
    return ChatReply(
        f"{text}\n\nPlain words do the same, as *measure it*, *cut at 0.42*, *try pin_to_cpu*; the rest is a question."
    )


def _unknown(session: ChatSession, argument: str) -> ChatReply:
    near = difflib.get_close_matches(argument, COMMANDS, n=1)
    return ChatReply(
        f"There is no /{argument}{f'; did you mean /{near[0]}?' if near else '; /help lists what there is.'}",
        failed=True,
    )


ACTIONS: dict[str, Action] = {
    "measure": _step("measure"),
    "profile": _step("profile"),
    "tree": _step("fit_tree"),
    "rank": _step("rank_factors"),
    "diagnose": _diagnose,
    "label": _label,
    "lookup": lambda session, argument: _wish(session, "look_up", {"factor": argument} if argument else {}),
    "try": _try,
    "compare": lambda session, argument: compared(session, argument) or _wish(session, "compare"),
    "explain": _explain,
    "report": _report,
    "again": _again,
    "undo": _undo,
    "pause": _pause,
    "resume": _resume,
    "stop": _stop,
    "budget": _budget,
    "status": lambda session, _: ChatReply("\n".join(f"- {line}" for line in status_lines(session))),
    "answer": _answer,
    "step": _mode_step,
    "help": _help,
    "quit": lambda session, _: ChatReply("", opens="quit"),
    "ask": _ask,
    "unknown": _unknown,
    **PAST,
    **TAKEN,
}
