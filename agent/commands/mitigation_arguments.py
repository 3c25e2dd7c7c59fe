"""What `mitigations` and `try` mean by a word of the user: a mitigation, a factor, a value, a range."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...knowledge.bm25 import did_you_mean, near_names, plain
from ...knowledge.errors import VgoError
from ..answers.cues import stood_for

if TYPE_CHECKING:
    from ...knowledge.actions import MitigationParameter
    from ...knowledge.loader import Knowledge
    from ...knowledge.schema import KnownFactor, Mitigation
    from ...tools.machine import Machine
    from ...tools.subject import Subject

OF_A_PROGRAM = {
    "dynamic": "is linked dynamically",
    "python": "runs in Python",
    "openmp": "links OpenMP",
    "inputs": "has known input files",
    "single_threaded": "keeps one CPU busy",
    "multi_threaded": "keeps several CPUs busy",
}
"""Conditions that only a program can meet, in words that follow `a program that`."""
SEEN_LATER = ("single_threaded", "multi_threaded")
"""Those of them that only a profile shows."""


class Applicability(NamedTuple):
    """Whether a mitigation can be tried on this machine."""

    by_tool: bool
    """False: a person does it, by the steps."""
    unmet: tuple[str, ...]
    """Why it cannot be tried, each with its cure."""
    needs: tuple[str, ...]
    """What a program must be."""


def nobody(root: Path = Path("/")) -> Subject:
    """Stand in for the program."""
    from ...tools.subject import Subject

    return Subject(command=("PROGRAM",), argv=("/bin/true",), directory=os.getcwd(), root=str(root))


def surveyed(subject: Subject, mitigations: Iterable[Mitigation]) -> Machine:
    """Survey the machine of a program for everything that these mitigations ask for."""
    from ...tools.survey import survey
    from ..place import launcher_of

    conditions = [mitigation.applies for mitigation in mitigations]
    return survey(subject, conditions, root=Path(subject.root), launcher=launcher_of(subject))


def this_machine(known: Knowledge, root: Path = Path("/")) -> Machine:
    """Survey it for everything that mitigations ask for, where no program is named."""
    return surveyed(nobody(root), known.mitigations.values())


def tried_here(mitigation: Mitigation, machine: Machine, subject: Subject | None = None) -> Applicability:
    """Judge by the machine, and by the program as far as it can be seen before it runs; None: by the machine alone."""
    from ...tools.mitigation.parameters import with_values
    from ...tools.mitigation.preconditions import beyond_reach, unmet

    needs = tuple(words for name, words in OF_A_PROGRAM.items() if getattr(mitigation.applies, name))
    left_open = SEEN_LATER if subject else OF_A_PROGRAM
    asked = mitigation.applies.model_copy(update=dict.fromkeys(left_open, False))
    by_tool, program = mitigation.apply is not None, subject or nobody()
    try:
        filled = with_values(mitigation, {}, machine)
    except VgoError as error:  # the default of a parameter is more than this machine has
        return Applicability(by_tool, (str(error),), needs)
    why = (*unmet(asked, machine, program, None), *beyond_reach(filled, machine, program))
    return Applicability(by_tool, tuple(dict.fromkeys(why)), needs)


MOST_LEVELS = 32
"""More would leave each too few runs."""
_RANGE = re.compile(r"(.+?)\.\.(.+)")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


class SearchLevels(NamedTuple):
    """What is searched."""

    name: str
    """Of the parameter."""
    levels: tuple[str, ...]
    """Those of this machine, each allowed."""
    clipped: tuple[str, ...]
    """In words: ends that a range has in words, and that were more than is allowed here."""


def mitigation_meant(word: str, knowledge: Knowledge) -> Mitigation:
    """Find a mitigation by its key or its name, or read the user's own from a file; refuse with the nearest ones."""
    from ...tools.mitigation.scripts import names_file, read_own

    if names_file(word):
        return read_own(Path(word), knowledge.mitigations)
    asked = plain(word)
    for mitigation in knowledge.mitigations.values():
        if asked in (mitigation.key, plain(mitigation.name)):
            return mitigation
    if asked in knowledge.factors:
        raise VgoError(
            f"{asked} is a factor: `vgo-agent mitigations --factor {asked}` lists what can be done about it."
        )
    names = {name: m.key for m in knowledge.mitigations.values() for name in (m.key, m.name)}
    texts = {m.key: f"{m.key.replace('_', ' ')} {m.name} {m.description}" for m in knowledge.mitigations.values()}
    near = near_names(asked, names, texts, _aliased(asked, "mitigation"))
    raise VgoError(f"There is no mitigation {word!r}; {did_you_mean(near, '`vgo-agent mitigations` lists them.')}")


def accepted(words: Sequence[str], own: Mitigation | None = None) -> tuple[str, ...]:
    """Find the keys of what --accept names, among them the user's `own`; refuse as `mitigation_meant` does."""
    if not words:
        return ()
    from ...knowledge.loader import load

    known = load()
    return tuple(own.key if own and word == own.key else mitigation_meant(word, known).key for word in words)


def factor_meant(word: str, knowledge: Knowledge) -> KnownFactor:
    """Find a factor by its key, an alias or a column that it lists; refuse with the nearest ones."""
    asked = plain(word)
    names = {
        plain(name): factor.key for factor in knowledge.factors.values() for name in (*factor.aliases, factor.name)
    }
    names |= {factor.key: factor.key for factor in knowledge.factors.values()}
    if asked in names:
        return knowledge.factors[names[asked]]
    if factor := knowledge.factor_of(word.strip()):
        return factor
    if asked in knowledge.mitigations:
        raise VgoError(f"{asked} is a mitigation: `vgo-agent explain {asked}` says against what.")
    texts = {f.key: " ".join((f.key.replace("_", " "), f.name, f.description)) for f in knowledge.factors.values()}
    near = near_names(asked, names, texts, _aliased(asked, "factor"))
    hint = did_you_mean(near, "`vgo-agent explain` looks for words.")
    raise VgoError(f"{word!r} is no factor, no alias and no column that a factor lists; {hint}")


def values_meant(words: Sequence[str], mitigation: Mitigation) -> dict[str, str]:
    """Read `name=value` words; refuse what is not one, what is there twice, and what the mitigation has not."""
    values: dict[str, str] = {}
    for word in words:
        name, value = _assigned(word, "for example --param cores=1")
        parameter_named(name, mitigation)
        if name in values:
            raise VgoError(f"--param {name} is given twice: give it once.")
        values[name] = value
    return values


def parameter_named(name: str, mitigation: Mitigation) -> None:
    """Refuse a parameter that the mitigation has not."""
    known = [parameter.name for parameter in mitigation.parameters]
    if name not in known:
        has = f"it has {', '.join(known)}" if known else "it has none"
        raise VgoError(f"{mitigation.key} has no parameter {name!r}; {has}.")


def levels_meant(word: str, mitigation: Mitigation, machine: Machine) -> SearchLevels:
    """Read `name`, `name=a,b,c` or `name=1..8:2`; a number that is not allowed is refused, `n` is brought within."""
    from ...tools.mitigation.parameters import levels_of, with_values

    name, sign, text = word.partition("=")
    name = name.strip()
    parameter_named(name, mitigation)
    parameter = next(one for one in mitigation.parameters if one.name == name)
    if sign and not text.strip():
        raise VgoError(f"--search {name}= names no level; write --search {name}=1..4 or --search {name}=1,2,4.")
    levels, clipped = levels_of(parameter, machine), tuple[str, ...]()
    if sign:
        found = [_expanded(parameter, one, mitigation, machine) for one in _words(name, text)]
        levels = tuple(dict.fromkeys(level for each, _ in found for level in each))
        clipped = tuple(said for _, each in found for said in each)
    if not levels:
        raise VgoError(
            f"{name} of {mitigation.key} has no level that this machine allows; name them: --search {name}=1,2,4."
        )
    _refuse_many(name, len(levels))
    for level in levels:
        with_values(mitigation, {name: level}, machine)
    return SearchLevels(name, levels, clipped)


def _words(name: str, text: str) -> list[str]:
    words = [word.strip() for word in text.split(",")]
    if "" in words:
        raise VgoError(f"--search {name}={text} has an empty level; write --search {name}=1,2,4.")
    return words


def _refuse_many(name: str, levels: int) -> None:
    if levels > MOST_LEVELS:
        raise VgoError(f"--search {name} has {levels} levels; name at most {MOST_LEVELS}, as 1..64:4 with a step.")


def _expanded(
    parameter: MitigationParameter, word: str, mitigation: Mitigation, machine: Machine
) -> tuple[Sequence[str], tuple[str, ...]]:
    """Give one level, or all whole steps of a range, and what was brought within the bound.

    `n` and `cpus` stand for the CPUs that may be used.
    """
    from ...tools.mitigation.parameters import with_values

    found = _RANGE.fullmatch(word)
    if found is None:
        return (_count(word, machine),), ()
    asked = f"--search {parameter.name}={word}"
    last, _, step = found[2].partition(":")
    words = (found[1].strip(), last.strip())
    ends = [_within(parameter, end, machine) for end in words]
    if not all(_NUMBER.fullmatch(number) for number in (*ends, step or "1")):
        raise VgoError(f"{asked} is no range of numbers; write 1..8, or 1..8:2 with a step.")
    for literal in (end for end in words if end in ends):
        with_values(mitigation, {parameter.name: literal}, machine)
    low, high, by = Decimal(ends[0]), Decimal(ends[1]), Decimal(step or 1)
    if high < low and list(words) != ends:
        raise VgoError(f"{asked} has no level on this machine, where n is {len(machine.cpus)}.")
    if high < low:
        raise VgoError(f"{asked} runs backwards; write {ends[1]}..{ends[0]}.")
    if by <= 0:
        raise VgoError(f"{asked} has no usable step; write 1..8:2.")
    _refuse_many(parameter.name, int((high - low) / by) + 1)
    levels = [format((low + by * at).normalize(), "f") for at in range(int((high - low) / by) + 1)]
    return levels, tuple(
        f"{end} is {counted} on this machine, and {parameter.name} is at most {number}: up to {number} is tried"
        for end, number in zip(words, ends, strict=True)
        if (counted := _count(end, machine)) != number
    )


def _within(parameter: MitigationParameter, word: str, machine: Machine) -> str:
    """Turn a word that counts CPUs into a number, at most the largest that is allowed here; another word stays."""
    from ...tools.mitigation.parameters import greatest

    counted, most = _count(word, machine), greatest(parameter, machine)
    return most if counted != word and most and Decimal(counted) > Decimal(most) else counted


def _count(word: str, machine: Machine) -> str:
    """`n` is `cpus`; a word that counts CPUs becomes a number, so that it can end a range."""
    word = re.sub(r"^n(?=$|[-:/])", "cpus", word)
    found = re.fullmatch(r"cpus(?:([/-])(\d+))?(:.+)?", word)
    if found is None:
        return word
    cpus, by = len(machine.cpus), int(found[2] or 0)
    number = cpus - by if found[1] == "-" else cpus // max(1, by) if found[1] else cpus
    return f"{number}{found[3] or ''}"


def _assigned(word: str, example: str) -> tuple[str, str]:
    name, sign, value = word.partition("=")
    if not sign or not name.strip() or not value.strip():
        raise VgoError(f"--param {word} is not name=value: write {example}.")
    return name.strip(), value.strip()


def _aliased(plain: str, kind: str) -> list[str]:
    """Give the entries of a kind that a word of every day stands for."""
    found, _ = stood_for(f" {plain.replace('_', ' ')} ")
    return [key for kind_of, _, key in (identity.partition(":") for identity in found) if kind_of == kind]
