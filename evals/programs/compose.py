"""Compose a program at random: a language, a skeleton, base loads, mechanisms with doses and triggers, decoys.

What comes out depends on the seed, the number and what the machine lacks alone. In a source, identifiers are f1, f2,
and so on in an order that is drawn, and nothing is commented.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from ...knowledge.shape import Frozen
from ...knowledge.time_states import TimeState
from .parts import (
    NEIGHBOUR,
    Language,
    Mechanism,
    ProgramLanguage,
    ProgramSkeleton,
    Snippet,
    Trigger,
    filled,
    languages,
    parts,
)
from .program_truth import InsertedMechanism, ProgramTruth

NULLS, PAIRS = 0.42, 0.15
"""Shares of the programs. The numbers of a seed go round the circle in steps of the golden section, so that any row of
them has these shares but for one or two (Weyl 1916)."""
GOLDEN = (math.sqrt(5) - 1) / 2
BASE_MS, DOSE = (5.0, 400.0), (0.03, 2.0)
"""Of the base load, and of a mechanism relative to it; both are drawn evenly on the log scale."""
DECOYED, TIMED = 0.4, 0.7
"""Shares of the programs with a decoy, and of those whose printed time is judged and not the whole run."""
DRAWN, GRADES, PHASES = 3, 8, (2, 5)
"""Of nulls, one in so many does drawn work, which adds to its base load up to a share that is drawn as that of a
mechanism; the least dose, in units, that can be on to a degree or be divided; phases of a run, least and most."""
NAME = re.compile(r"@([a-z_]\w*)")


class MadeProgram(Frozen):
    """A program that was composed, and the truth about it, of which nothing is measured yet."""

    number: int
    language: Language
    text: str
    """The source, with @FORCED where it is said what is on: -1 as drawn, else one bit a mechanism; and @GROUP."""
    timed: bool
    """The time that it prints is judged; else that of the whole run."""
    neighbour: str = ""
    """Source of a program that runs beside."""
    own_neighbour: int | None = None
    """Place of the mechanism that the neighbour is; None: it is a decoy."""
    file_mb: int = 0
    """Size of a file that it reads."""
    group: Literal["", "cpu", "memory"] = ""
    """It goes into a control group of its own, with this controller."""
    truth: ProgramTruth

    def source(self, forced: int, group: str = "") -> str:
        """The text of one build; `group`: the folder of its control group."""
        return filled(self.text, {"FORCED": forced, "GROUP": group})


@dataclass
class _Draft:
    """Parts with their texts and names, before they stand in one source."""

    rng: random.Random
    language: Language
    pieces: int
    texts: list[str] = field(default_factory=list)
    hooks: dict[str, list[str]] = field(default_factory=lambda: {"BEGIN": [], "END": [], "AMOUNTS": [], "PIECE": []})
    needed: list[Mechanism] = field(default_factory=list)
    inserted: list[InsertedMechanism] = field(default_factory=list)
    file_mb: int = 0
    rest: float = 0.0
    """Of a neighbour: how long it rests for the time that it works."""

    def own_names(self, text: str, values: Mapping[str, object]) -> str:
        """Give what a part defines itself names of its own; what the prelude defines is for all."""
        shared, own = _shared(self.language), len(self.texts)
        return NAME.sub(lambda name: name[0] if name[1] in shared else f"{name[0]}_{own}", filled(text, values))

    def add(self, part: Snippet, call: str, values: Mapping[str, object]) -> None:
        """Take up a part, and what calls it."""
        self.hooks["PIECE"].append(self.own_names(call, values))
        self.hooks["BEGIN"].append(self.own_names(part.begin, values))
        self.hooks["END"].append(self.own_names(part.end, values))
        self.texts.append(self.own_names(part.code, values))


@cache
def _shared(language: Language) -> frozenset[str]:
    return frozenset(NAME.findall(languages()[language].prelude))


def compose(seed: str, number: int, lacking: Collection[str] = ()) -> MadeProgram:
    """Compose one program; `lacking`: needs and languages that the machine does not meet."""
    rng = random.Random(f"{seed}/{number}")
    place = (random.Random(seed).random() + number * GOLDEN) % 1
    kind: Literal["null", "one", "two"] = "null" if place < NULLS else "two" if place >= 1 - PAIRS else "one"
    chosen = _chosen(rng, kind, lacking)
    able = [name for name in languages() if name not in lacking and all(name in one.languages for one in chosen)]
    draft = _Draft(rng, rng.choice(able), pieces=2 * rng.randint(3, 20))
    base_ms = _log_uniform(rng, *BASE_MS)
    loads = _add_loads(draft, base_ms)
    skeleton = rng.choice(list(languages()[draft.language].skeletons))
    for one in chosen:
        _insert(draft, one, base_ms, skeleton, _planned(rng, base_ms))
    drawn = kind == "null" and rng.random() < 1 / DRAWN
    if drawn:
        graded = draft.language != "sh"
        _insert(draft, parts().mechanisms[0], base_ms, skeleton, _planned(rng, base_ms), graded)
    decoys = _add_decoy(draft, kind == "null" and not drawn, lacking, skeleton)
    return _program(
        seed, number, draft, kind, f"{draft.language}, {skeleton}, {' then '.join(loads)}{decoys}", skeleton
    )


def alone(one: Mechanism, language: Language, base_ms: float, planned_ms: float) -> MadeProgram:
    """Compose a program of one process with one mechanism, of a dose that is given: to measure what it costs."""
    draft = _Draft(random.Random(f"{one.key} {language}"), language, pieces=6)
    loads = _add_loads(draft, base_ms)
    _insert(draft, one, base_ms, "one", planned_ms)
    made = _program(one.key, 0, draft, "one", f"{language}, one, {' then '.join(loads)}", "one")
    return made.model_copy(update={"timed": language != "sh"})


def _program(
    seed: str, number: int, draft: _Draft, kind: Literal["null", "one", "two"], told: str, skeleton: str
) -> MadeProgram:
    rng = draft.rng
    beside = [one for one in draft.needed if one.beside]
    steady = bool(beside) and beside[0].rest is not None
    spells = {"on": rng.uniform(0.2, 1), "off": 0 if steady else rng.uniform(0.2, 1), "rest": draft.rest}
    keys = [one.key for one in draft.inserted]
    null = kind == "null"
    return MadeProgram(
        number=number,
        language=draft.language,
        text=_text(draft, skeleton),
        timed=rng.random() < TIMED and draft.language != "sh",
        neighbour=NEIGHBOUR.format(step=beside[0].beside, **spells) if beside else "",
        own_neighbour=keys.index(beside[0].key) if beside and not steady and beside[0].key in keys else None,
        file_mb=draft.file_mb,
        group=next((one.group for one in draft.needed if one.group), ""),
        truth=ProgramTruth(
            number=number,
            kind=kind,
            told=f"{told}{'; draws how much it does' if null and draft.inserted else ''}",
            inserted=() if null else tuple(draft.inserted),
            allowed=draft.inserted[0].factors if null and draft.inserted else (),
        ),
    )


def _chosen(rng: random.Random, kind: str, lacking: Collection[str]) -> list[Mechanism]:
    """Draw the mechanisms; two share a language, and only one of them has a neighbour, or a group."""
    if kind == "null":
        return []
    able = [one for one in parts().mechanisms if _possible(one, lacking)]
    first = rng.choice(able)
    if kind == "one":
        return [first]
    second = [
        one
        for one in able
        if one != first
        and not (one.beside and first.beside or one.group and first.group)
        and _spoken(one, lacking) & _spoken(first, lacking)
    ]
    return [first, rng.choice(second)]


def _possible(one: Mechanism, lacking: Collection[str]) -> bool:
    return not {*one.needs} & {*lacking} and bool(_spoken(one, lacking))


def _spoken(one: Mechanism, lacking: Collection[str]) -> set[Language]:
    return {name for name in one.languages if name not in lacking}


def _add_loads(draft: _Draft, base_ms: float) -> list[str]:
    """One base load, or two one after the other; gives their names."""
    tongue, rng = languages()[draft.language], draft.rng
    names = rng.sample(list(tongue.loads), rng.choice((1, 1, 2)))
    bounds = [draft.pieces * place // len(names) for place in range(len(names) + 1)]
    for name, first, until in zip(names, bounds, bounds[1:], strict=False):
        units = max(1, round(base_ms / draft.pieces / tongue.loads[name].ms))
        draft.add(tongue.loads[name], tongue.load, {"NAME": "@load", "FROM": first, "UNTIL": until, "UNITS": units})
    return names


def _planned(rng: random.Random, base_ms: float) -> float:
    """Draw what a mechanism is to cost."""
    return base_ms * _log_uniform(rng, *DOSE)


def _insert(
    draft: _Draft, one: Mechanism, base_ms: float, skeleton: str, planned_ms: float, graded: bool = False
) -> None:
    """Put a mechanism into one piece, or into one of each phase, with a trigger that is drawn."""
    rng, tongue, snippet = draft.rng, languages()[draft.language], one.languages[draft.language]
    where, k = rng.randrange(draft.pieces), len(draft.inserted)
    dose = min(max(1, round(planned_ms / snippet.ms)), snippet.most or 10**9)
    trigger: Trigger = "graded" if graded else rng.choice(_able(one, tongue, dose))
    share, modulus, turn = rng.uniform(0.1, 0.5), rng.randint(2, 7), rng.uniform(0.03, 0.15)
    places = range(where, draft.pieces, draft.pieces)
    if in_phases := trigger == "phases":
        every = draft.pieces // rng.randint(*PHASES)
        places = range(where % every, draft.pieces, every)
        dose = max(1, round(dose / len(places)))
    values: dict[str, object] = {
        "NAME": "@mechanism",
        "WHERE": places.start,
        "EVERY": places.step,
        "DOSE": dose,
        "PATH": "d1",
        "K": k,
        "SHARE": _share(share, tongue.per_mille),
        "TURN": _share(turn, tongue.per_mille),
        "MODULUS": modulus,
        "REST": rng.randrange(modulus),
        "STATE": tongue.state,
        "EXPRESSION": snippet.own or tongue.triggers[trigger],
        **one.constants,
    }
    draft.hooks["AMOUNTS"].append(draft.own_names(tongue.amount, values))
    if trigger == "left":
        draft.hooks["END"].append(draft.own_names(tongue.leave, values))
    draft.add(snippet, tongue.phase if in_phases else tongue.call, values)
    draft.needed.append(one)
    draft.file_mb = max(draft.file_mb, dose if one.file else 0)
    if one.beside:
        draft.rest = max(0.0, base_ms / planned_ms - 1) if one.rest is None else one.rest
    draft.inserted.append(
        InsertedMechanism(
            **one.model_dump(include={"key", "what", "factors", "remedies", "unseen"}),
            states=tuple(dict.fromkeys((*one.states, *_waits(tongue.skeletons[skeleton], places)))),
            trigger=trigger,
            share={"modulus": 1 / modulus, "random": share, "left": share, "phases": share}.get(trigger, 0.5),
            planned_ms=dose * snippet.ms * len(places),
            phases=len(places),
        )
    )


def _able(one: Mechanism, tongue: ProgramLanguage, dose: int) -> list[Trigger]:
    """Triggers that a mechanism of this dose can have in a language."""
    whole = ("graded", "phases") if dose < GRADES else ()
    return [name for name in one.triggers if name == "own" or (name in tongue.triggers and name not in whole)]


def _waits(frame: ProgramSkeleton, places: range) -> tuple[TimeState, ...]:
    """States in which the timed thread waits for whoever does these pieces."""
    elsewhere = frame.other == "all" or (frame.other == "even" and any(place % 2 == 0 for place in places))
    return frame.waits if elsewhere else ()


def _add_decoy(draft: _Draft, alone: bool, lacking: Collection[str], skeleton: str) -> str:
    """Put in a decoy in some programs, in half of the nulls that do nothing else; says what it does."""
    rng, tongue = draft.rng, languages()[draft.language]
    beside = any(one.beside for one in draft.needed)
    shared = tongue.skeletons[skeleton].other != "none"
    able = [
        one
        for one in parts().decoys
        if draft.language in one.languages
        and _possible(one, lacking)
        and not (beside and one.beside)
        and not (shared and one.pins)
    ]
    if rng.random() >= (0.5 if alone else DECOYED):
        return ""
    if not draft.inserted:  # what moves along with a mechanism has none here: it is drawn by itself
        draft.hooks["AMOUNTS"].append(filled(tongue.amount, {"K": 0, "EXPRESSION": tongue.triggers["random"]} | _HALF))
    one = rng.choice(able)
    draft.add(
        one.languages[draft.language],
        tongue.call,
        {"NAME": "@decoy", "WHERE": rng.randrange(draft.pieces), "K": 0, "DOSE": 1},
    )
    draft.needed.append(one)
    return f"; decoy: it {one.what}"


_HALF = {"SHARE": "500 / 1000"}


def _text(draft: _Draft, skeleton: str) -> str:
    """The source: all texts put into the frame, then names that tell nothing."""
    tongue = languages()[draft.language]
    frame = tongue.skeletons[skeleton]
    hooks = {name: "\n".join(filter(None, lines)) for name, lines in draft.hooks.items()}
    empty = {"python": "pass", "sh": ":", "c": ";"}[draft.language]
    values = {
        "PRELUDE": tongue.prelude,
        "PARTS": "\n".join(draft.texts),
        "SKELETON": frame.code,
        "BODY": frame.body,
        "PIECES": draft.pieces,
        **{name: text or empty for name, text in hooks.items()},
    }
    text = filled(tongue.frame, values)
    names = list(dict.fromkeys(NAME.findall(text)))
    numbers = draft.rng.sample(range(1, len(names) + 1), len(names))
    told = dict(zip(names, numbers, strict=True))
    return NAME.sub(lambda name: f"f{told[name[1]]}", text)


def _share(share: float, per_mille: bool) -> str:
    return str(round(1000 * share)) if per_mille else f"{share:.3f}"


def _log_uniform(rng: random.Random, low: float, high: float) -> float:
    return low * math.exp(math.log(high / low) * rng.random())
