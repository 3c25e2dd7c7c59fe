"""The runs below a folder as a start screen shows them: each with what can be done with it, and why nothing can."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal, NamedTuple

from ..experiment_folder import experiment_in, serves
from ..history import ListedRun, history
from ..transcript import FORMAT
from .deletion import is_held

State = Literal["finished", "unfinished", "going on", "empty", "newer", "broken", "experiment"]


CUT_OFF: dict[str, tuple[State, str]] = {
    "(not begun)": ("empty", "It ended before its first step; it can be resumed."),
    "(no transcript)": ("broken", "It has neither transcript nor request: this is no run folder."),
    "(unfinished)": ("unfinished", "It was cut off; it can be resumed."),
    "(interrupted)": ("unfinished", "It was stopped; it can be resumed."),
    "(failed)": ("unfinished", "It ended in an error; mend the cause and resume it."),
}
"""What the list says of a run without a verdict, by what stands in place of the verdict."""


class Past(NamedTuple):
    """One run; `note` is a sentence wherever the verdict is not the whole story."""

    listed: ListedRun
    state: State
    note: str = ""

    @property
    def folder(self) -> Path:
        """Where it lies."""
        return Path(self.listed.folder)

    @property
    def can_open(self) -> bool:
        """Whether it can be read."""
        tabled = self.state == "experiment" and (self.folder / "runs.csv").exists()
        return tabled or self.state in ("finished", "unfinished", "going on")

    @property
    def can_resume(self) -> bool:
        """Whether a diagnosis can go on in it."""
        return self.state in ("unfinished", "empty") and (self.folder / "request.json").exists()

    @property
    def when(self) -> str:
        """Local time to the minute."""
        return self.listed.when[:16].replace("T", " ")

    @property
    def ratio(self) -> str:
        """SD with the mitigation over SD without; empty where there is none."""
        return "" if self.listed.ratio is None else f"{self.listed.ratio:.2g}"


def past(out: Path) -> list[Past]:
    """List the runs, newest first; raise VgoError where the folder cannot be read."""
    return [described(one) for one in history(out)]


def described(one: ListedRun) -> Past:
    """Say what can be done with a run, and what is the matter with one that cannot be opened."""
    folder = Path(one.folder)
    if kind := experiment_in(folder):
        return Past(one, "experiment", f"A {kind}: {serves(folder)}.")
    if is_held(folder):
        return Past(one, "going on", "Another vgo-agent works on it: it can be watched.")
    written = _format(folder)
    if written is not None and written > FORMAT:
        note = f"A newer vgo-agent made it (format {written}; this one reads {FORMAT}): open it with that one."
        return Past(one._replace(verdict="(newer)"), "newer", note)
    if one.verdict == "(broken)":
        return Past(one, "broken", f"Its transcript is damaged; `vgo-agent verify {folder}` says where.")
    if one.verdict.startswith("(unreadable"):
        why = one.verdict.removeprefix("(unreadable: ").rstrip(")")
        return Past(one, "broken", f"It cannot be read ({why}); see who owns it.")
    state, note = CUT_OFF.get(one.verdict, ("finished", ""))
    return Past(one, state, note)


def _format(folder: Path) -> int | None:
    """Format that the first line of a transcript names, whatever else is in it."""
    try:
        with (folder / "transcript.jsonl").open("rb") as file:
            written = json.loads(file.readline())["body"]["format"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return written if isinstance(written, int) else None
