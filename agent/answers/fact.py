"""What may be said, one thing at a time, and the command lines that an answer proposes."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...prompts.render import render
from ...tools.verdict import confirmed
from ..again import again
from ..report.evidence import Evidence
from .names import NOBODY, Name

START = "start"
"""In the place of a call: the event that a run begins with, which holds the limits and the survey."""


class Wording(NamedTuple):
    """One way to say it, without the reference and without the last stop."""

    written: str
    """As a model may write it: without digits, quotation marks and brackets, and without any name from outside."""
    clause: str
    """The same with the name in full."""
    shown: str
    """The clause and its details."""


@dataclass(frozen=True)
class FactDraft:
    """A fact before it has its place in a list."""

    kind: str
    """Of the statement: a template of that name."""
    name: Name = NOBODY
    detail: str = ""
    """Numbers, or the words of an entry, of the record or of the program; the latter quoted."""
    calls: tuple[str, ...] = ()
    """Of the run, that it rests on."""
    sources: tuple[str, ...] = ()
    """Of what is known, that it rests on."""
    affirmed: bool | None = None
    """Whether its words begin with something that is so, or with something that is not; None: neither can be asked."""
    words: Mapping[str, Any] = field(default_factory=dict)
    """What else the template asks for."""
    decided: tuple[int, ...] = ()
    """Where the calls were decided, by number of the event, where it rests on that and not on how they ended."""


@dataclass(frozen=True, kw_only=True)
class CitableFact(FactDraft):
    """One thing that may be said, under the reference that everybody cites it by."""

    tag: str
    """`f1`, `f2`, ... of the run; `k1`, ... of what is known, as far as a question asks for it."""
    wordings: tuple[Wording, ...]
    events: tuple[int, ...]
    """Where the calls ended, by number of the event in the transcript; where they were decided if it is `decided`."""

    @property
    def key(self) -> str:
        """Of the factor or mitigation that it is about; empty where it is about none."""
        return self.name.key

    @property
    def shown(self) -> str:
        """The first wording, with its details."""
        return self.wordings[0].shown


def numbered(drafts: Iterable[FactDraft], letter: str, events: Mapping[str, int]) -> Iterator[CitableFact]:
    """Give each its reference, in their order."""
    for place, draft in enumerate(drafts, start=1):
        calls = tuple(dict.fromkeys(draft.calls))
        yield CitableFact(
            **{**vars(draft), "calls": calls},
            tag=f"{letter}{place}",
            wordings=tuple(_wordings(draft)),
            events=draft.decided or tuple(events[call] for call in calls if call in events),
        )


def sentence(clause: str, tags: Sequence[str], name: str = "", connective: str = "") -> str:
    """Make one sentence of a clause; a name keeps the letters that it has."""
    if not connective and not (name and clause.startswith(name)):
        clause = clause[:1].upper() + clause[1:]
    return f"{connective}{clause} [{', '.join(tags)}]."


def _wordings(draft: FactDraft) -> Iterator[Wording]:
    shown, written = (_lines(draft, name) for name in (draft.name.shown, draft.name.written))
    for clause, plain in zip(shown, written, strict=True):
        yield Wording(plain, clause, f"{clause}: {draft.detail}" if draft.detail else clause)


def _lines(draft: FactDraft, it: str) -> list[str]:
    text = render(f"statement/{draft.kind}.txt.j2", it=it, **draft.words)
    return [line.strip() for line in text.splitlines() if line.strip()]


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
    words = ("vgo-agent", "mitigations", key, "--keep", format or "all")
    return SuggestedCommand(shlex.join(words), "prints how to keep it, and changes nothing")


def explain(key: str) -> SuggestedCommand:
    """Print all that is known of an entry."""
    return SuggestedCommand(shlex.join(("vgo-agent", "explain", key)), "tells all that is known of it, with sources")


def check(evidence: Evidence) -> Iterator[SuggestedCommand]:
    """Check a run, in two ways."""
    folder = shlex.quote(evidence.run.run_dir)
    recomputed = f"vgo-agent verify {folder} --recompute"
    yield SuggestedCommand(recomputed, "computes all that was not measured again, and compares")
    yield SuggestedCommand(f"vgo-agent verify {folder}", "checks that the record is as it was written")


def recorded(evidence: Evidence) -> Iterator[SuggestedCommand]:
    """Give the command line that the verdict recorded."""
    if proof := confirmed(evidence.verdict):
        yield SuggestedCommand(proof.command, "the program with the mitigation, started by hand")


def report(evidence: Evidence) -> SuggestedCommand:
    """Point at the whole report."""
    return SuggestedCommand(f"less {shlex.quote(evidence.run.run_dir + '/report.md')}", "the whole report")
