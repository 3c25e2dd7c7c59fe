"""Command lines that an answer proposes; a person runs them, the program never does by itself."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import NamedTuple

from ...tools.verdict import confirmed
from ..again import again
from ..report.evidence import Evidence


class Step(NamedTuple):
    """A command and what it is for."""

    command: str
    why: str


def attempt(key: str, evidence: Evidence) -> Step:
    """Try one mitigation on the same program."""
    return Step(again("try", (key,), evidence.run.subject), "applies it, proves it, compares in pairs, puts it back")


def diagnose(evidence: Evidence, *options: str) -> Step:
    """Diagnose the same program once more."""
    return Step(again("diagnose", options, evidence.run.subject), "measures anew and searches from the start")


def export(key: str, format: str = "") -> Step:
    """Print how to keep a mitigation."""
    words = ("vgo-agent", "export", key, *(("--format", format) if format else ()))
    return Step(shlex.join(words), "prints how to keep it, and changes nothing")


def explain(key: str) -> Step:
    """Print all that is known of an entry."""
    return Step(shlex.join(("vgo-agent", "explain", key)), "tells all that is known of it, with sources")


def layers() -> Step:
    """List what could be measured."""
    return Step("vgo-agent layers", "says what this machine can show, what not, and what would make it so")


def restore() -> Step:
    """Put back what a killed run may have left."""
    return Step("vgo-agent restore", "says whether anything was left changed, and puts it back")


def check(evidence: Evidence) -> Iterator[Step]:
    """Check a run, in two ways."""
    folder = shlex.quote(evidence.run.run_dir)
    yield Step(f"vgo-agent replay {folder}", "computes all that was not measured again, and compares")
    yield Step(f"vgo-agent verify {folder}", "checks that the record is as it was written")


def recorded(evidence: Evidence) -> Iterator[Step]:
    """Give the command line that the verdict recorded."""
    if proof := confirmed(evidence.verdict):
        yield Step(proof.command, "the program with the mitigation, started by hand")


def report(evidence: Evidence) -> Step:
    """Point at the whole report."""
    return Step(f"less {shlex.quote(evidence.run.run_dir + '/report.md')}", "the whole report")
