"""What may be said, one thing at a time, and the command lines that an answer proposes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ...knowledge.loader import Knowledge
from ...prompts.render import render
from ...tools.verdict import confirmed
from ..again import again
from ..planners.state import quoted
from ..report.evidence import Evidence

START = "start"
"""In the place of a call: the event that a run begins with, which holds the limits and the survey."""
PLAIN_COLUMN = re.compile(r"[A-Za-z][A-Za-z0-9_.:-]{0,47}")
PLAIN_UNIT = re.compile(r"[A-Za-z%/^*-]{0,12}")


class Name(NamedTuple):
    """What something is called."""

    key: str
    """Of the factor or mitigation; empty for what has none."""
    shown: str


NOBODY = Name("", "")
"""Of a fact that is about nothing with a name."""


def of_factor(key: str, known: Knowledge) -> Name:
    """Name a factor; one that is not known is a column."""
    factor = known.factors.get(key)
    if factor is None:
        return Name("", column(key, known))
    return Name(key, factor.name)


def of_mitigation(key: str, evidence: Evidence) -> Name:
    """Name a mitigation; what a file of the user calls it is not repeated."""
    own, known = evidence.run.plan.own, evidence.run.knowledge.mitigations.get(key)
    if own is not None and own.key == key:
        return Name(key, f"{key} (of your own file)")
    if known is None:
        return Name("", quoted(key))
    return Name(key, f"{key} ({known.name})")


def column(name: str, known: Knowledge) -> str:
    """Write a column as it is where something is known of it, else quoted: a program or a file has named it."""
    return name if PLAIN_COLUMN.fullmatch(name) and known.factor_of(name) else quoted(name)


def unit(words: str) -> str:
    """Give a unit that looks like one; anything else is left out."""
    return words if PLAIN_UNIT.fullmatch(words) else ""


@dataclass(frozen=True)
class CitableFact:
    """One thing that may be said, under the reference that everybody cites it by."""

    kind: str
    text: str
    """The sentence without its reference and last stop; names and words from outside are quoted."""
    key: str = ""
    """Of the factor or mitigation that it is about; empty where it is about none."""
    calls: tuple[str, ...] = ()
    """Of the run, that it rests on."""
    sources: tuple[str, ...] = ()
    """Of what is known, that it rests on."""
    events: tuple[int, ...] = ()
    """Where the calls ended, by number of the event in the transcript, or were decided."""
    decided: bool = False
    """It rests on how the calls were decided, and not on how they ended."""
    tag: str = ""
    """`f1`, `f2`, ... of the run; `k1`, ... of what is known, as far as a question asks for it; empty: not numbered."""


def stated(
    kind: str,
    name: Name = NOBODY,
    detail: str = "",
    calls: Sequence[str] = (),
    sources: Sequence[str] = (),
    **words: Any,
) -> CitableFact:
    """State a fact by the template of its kind, and its detail: numbers, or the words of an entry or of the record.

    `words` are what else the template asks for. Whatever comes from outside has to be quoted.
    """
    clause = " ".join(render(f"statement/{kind}.txt.j2", it=name.shown, **words).split())
    if not (name.shown and clause.startswith(name.shown)):
        clause = clause[:1].upper() + clause[1:]
    text = f"{clause}: {detail}" if detail else clause
    return CitableFact(kind, text, name.key, tuple(dict.fromkeys(calls)), tuple(sources))


def numbered(facts: Iterable[CitableFact], letter: str, events: Mapping[str, int]) -> Iterator[CitableFact]:
    """Give each its reference, in their order."""
    for place, fact in enumerate(facts, start=1):
        ends = tuple(events[call] for call in fact.calls if call in events)
        yield replace(fact, tag=f"{letter}{place}", events=fact.events or ends)


def sentence(fact: CitableFact) -> str:
    """Write a fact with its reference."""
    return f"{fact.text} [{fact.tag}]."


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
