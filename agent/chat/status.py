"""What goes on, in two lines: the program, and how far its diagnosis is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ...tools.verdict import title
from ..progress import described, figures_of
from ..session_view.step import in_words
from ..session_view.view import SessionView
from .session import ChatSession


def progress_of(view: SessionView) -> str:
    """Describe the runs of each condition; empty where no step is measuring."""
    live = view.measured[-1] if view.measured else None
    if live is None or not live.going_on:
        return ""
    figures = figures_of(live)
    names = len(figures) > 1
    return "; ".join(f"{one.condition + ': ' if names else ''}{described(one, view.unit)}" for one in figures)


def lines_of(session: ChatSession) -> tuple[str, str]:
    """Give the title and the status."""
    view, state = session.view, session.state
    if session.files is not None:
        return ", ".join(Path(path).name for path in session.files["paths"]), f"recorded: {session.files['headline']}"
    command = view.command or (" ".join(session.new.request.subject.command) if session.new else "vgo-agent chat")
    words = [_doing(session)]
    if view.runs:
        words.append(_used(view))
    if session.place in ("watching", "elsewhere"):
        words.append("read-only: another vgo-agent works on it")
    words += [f"next: {', '.join(state.wishes)}"] if state.wishes else []
    words += ["other limits from the next step on"] if state.limits else []
    restored = "; ".join(session.restored)
    words += [f"put back, left by a vgo-agent that was killed: {restored}"] if restored else []
    return command, " | ".join(words)


def status_lines(session: ChatSession) -> list[str]:
    """Say where it stands, a line each: the program, the step, runs and budget, what waits for whom."""
    title, _ = lines_of(session)
    progress = progress_of(session.view)
    lines = [f"Program: {title}", f"Now: {_doing(session)}{f' ({progress})' if progress else ''}"]
    if session.view.events:
        lines.append(f"So far: {len(session.view.steps)} steps, {_used(session.view)} of the budget")
    return [f"{line.rstrip('.')}." for line in (*lines, *_waits(session))]


def _waits(session: ChatSession) -> Iterator[str]:
    state = session.state
    if state.question is not None:
        whose = "your answer; /answer shows the question" if state.in_charge else "the answer of another vgo-agent"
        yield f"Waiting: {state.question['mitigation']} (scope {state.question['scope']}) needs {whose}"
    elif state.paused:
        yield "Waiting: it is paused; /resume goes on"
    elif state.waiting and not state.wishes:
        yield "Waiting: you choose the next step, or /diagnose lets the planner go on"
    else:
        yield "Nothing waits for you"
    if state.wishes:
        yield f"Next: {', '.join(in_words(tool) for tool in state.wishes)}, as you asked"


def _used(view: SessionView) -> str:
    return f"{view.runs} runs, {view.used_s:.0f} of {view.limits.budget_s:.0f} s"


def _doing(session: ChatSession) -> str:
    view, state, place = session.view, session.state, session.place
    if place == "none":
        return "no run yet; /help lists what you can say"
    if place == "still":
        return _ended(session)
    if session.stopping:
        return "stopping: every setting is put back"
    if state.paused:
        return "PAUSED; F5 goes on"
    if state.question is not None:
        return "waits for your answer: F7 or /answer shows it" if state.in_charge else "waits for an answer"
    current = view.current
    if current is not None and current.state == "going on":
        return current.title
    return state.doing or ("starting" if view.status == "not begun" else view.status)


def _ended(session: ChatSession) -> str:
    view = session.view
    if view.status == "finished":
        return title(view.verdict) if view.verdict else view.status
    if view.status in ("interrupted", "failed"):
        return f"{view.status} ({view.reason}); /resume goes on"
    return "cut off; /resume goes on" if view.events else "not begun; /diagnose begins"
