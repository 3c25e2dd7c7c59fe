"""Command lines that an answer proposes; a person runs them, the program never does by itself."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import NamedTuple

from ...tools.verdict import confirmed
from ..again import again
from ..report.evidence import Evidence


class SuggestedCommand(NamedTuple):
    """A command and what it is for."""

    command: str
    why: str


LAYERS = SuggestedCommand("vgo-agent layers", "says what this machine can show, what not, and what would make it so")
RESTORE = SuggestedCommand("vgo-agent restore", "says whether anything was left changed, and puts it back")


def attempt(key: str, evidence: Evidence) -> SuggestedCommand:
    """Try one mitigation on the same program."""
    return SuggestedCommand(
        again("try", (key,), evidence.run.subject), "applies it, proves it, compares in pairs, puts it back"
    )


def diagnose(evidence: Evidence) -> SuggestedCommand:
    """Diagnose the same program once more."""
    return SuggestedCommand(again("diagnose", (), evidence.run.subject), "measures anew and searches from the start")


def export(key: str, format: str = "") -> SuggestedCommand:
    """Print how to keep a mitigation."""
    words = ("vgo-agent", "export", key, *(("--format", format) if format else ()))
    return SuggestedCommand(shlex.join(words), "prints how to keep it, and changes nothing")


def explain(key: str) -> SuggestedCommand:
    """Print all that is known of an entry."""
    return SuggestedCommand(shlex.join(("vgo-agent", "explain", key)), "tells all that is known of it, with sources")


def check(evidence: Evidence) -> Iterator[SuggestedCommand]:
    """Check a run, in two ways."""
    folder = shlex.quote(evidence.run.run_dir)
    yield SuggestedCommand(f"vgo-agent replay {folder}", "computes all that was not measured again, and compares")
    yield SuggestedCommand(f"vgo-agent verify {folder}", "checks that the record is as it was written")


def recorded(evidence: Evidence) -> Iterator[SuggestedCommand]:
    """Give the command line that the verdict recorded."""
    if proof := confirmed(evidence.verdict):
        yield SuggestedCommand(proof.command, "the program with the mitigation, started by hand")


def report(evidence: Evidence) -> SuggestedCommand:
    """Point at the whole report."""
    return SuggestedCommand(f"less {shlex.quote(evidence.run.run_dir + '/report.md')}", "the whole report")
