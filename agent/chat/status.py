"""What goes on, in two lines: the program, and how far its diagnosis is."""

from __future__ import annotations

from pathlib import Path

from .session import ChatSession


def lines_of(session: ChatSession) -> tuple[str, str]:
    """Give the title and the status."""
    view, state = session.view, session.state
    if session.files is not None:
        return ", ".join(Path(path).name for path in session.files["paths"]), f"recorded: {session.files['headline']}"
    command = view.command or (" ".join(session.request.subject.command) if session.request else "vgo-agent chat")
    words = [_doing(session)]
    if view.runs:
        words.append(f"{view.runs} runs, {view.spent_s:.0f} of {view.limits.budget_s:.0f} s")
    if session.place in ("watching", "elsewhere"):
        words.append("read-only: another vgo-agent works on it")
    words += [f"next: {', '.join(state.wishes)}"] if state.wishes else []
    words += ["other limits from the next step on"] if state.limits else []
    restored = "; ".join(session.restored)
    words += [f"put back, left by a vgo-agent that was killed: {restored}"] if restored else []
    return command, " | ".join(words)


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
        return "waits for your answer"
    current = view.current
    if current is not None and current.state == "going on":
        return current.title
    return state.doing or ("starting" if view.status == "not begun" else view.status)


def _ended(session: ChatSession) -> str:
    view = session.view
    if view.status == "finished":
        return view.verdict
    if view.status in ("interrupted", "failed"):
        return f"{view.status} ({view.reason}); /resume goes on"
    return "cut off; /resume goes on" if view.events else "not begun; /diagnose begins"
