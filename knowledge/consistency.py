"""What must hold between factors and mitigations that are each valid by themselves."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from .actions import Apply, ControlGroup, Gpu, Precondition, Spawn, Verify
from .schema import KnownFactor, Mitigation, Scope
from .shape import overlap

_PLACE = re.compile(r"\{([a-z][a-z0-9_]*)(?:\?[a-z]+=(?:[^{}]|\{[^{}]*\})*|\*\d+)?\}")
_WORDS_OF_WRITE = {"cpus_but_quiet", "mask_but_quiet"}
_WRITABLE = re.compile(r"(/proc/sys|/sys|/proc/irq|\{cgroup\.(cpu|memory|cpuset|blkio)\})/")


def problems(factors: Mapping[str, KnownFactor], mitigations: Mapping[str, Mitigation]) -> list[str]:
    """List what is inconsistent, one sentence with its cure each."""
    found: list[str] = []
    for factor in factors.values():
        found += (f"factors/{factor.key}.yaml: {text}" for text in _of_factor(factor, factors, mitigations))
    for mitigation in mitigations.values():
        found += (f"mitigations/{mitigation.key}.yaml: {text}" for text in problems_of(mitigation))
        found += (f"mitigations/{mitigation.key}.yaml: {text}" for text in _states(mitigation, factors.values()))
    named = {key for factor in factors.values() for key in factor.mitigations}
    found += (
        f"mitigations/{key}.yaml: no factor names it. Add it to the mitigations of a factor."
        for key in mitigations
        if key not in named
    )
    marks = [(mark, factor.key) for factor in factors.values() for mark in factor.marks]
    found += (
        f"factors/{key}.yaml: a mark of {other} asks for the same. Let one of them ask for more."
        for place, (mark, key) in enumerate(marks)
        for before, other in marks[:place]
        if mark == before
    )
    return found + list(_ties(factors))


def _of_factor(
    factor: KnownFactor, factors: Mapping[str, KnownFactor], mitigations: Mapping[str, Mitigation]
) -> Iterator[str]:
    yield from _unknown("mitigation", factor.mitigations, mitigations, "mitigations")
    yield from _unknown("factor", (*factor.confused_with, *factor.makes), factors, "factors")
    for name in ("signals", "aliases", "confused_with", "makes", "acts_on", "mitigations"):
        for value in _repeated(getattr(factor, name)):
            yield f"{name} lists {value} twice. Keep the first."
    for name in ("confused_with", "makes"):
        if factor.key in getattr(factor, name):
            yield f"{name} names the factor itself. Remove it."
    yield from _marks(factor)
    if not factor.mitigations:
        yield "no mitigation is named. Name at least one, even if it is advice only."


def _marks(factor: KnownFactor) -> Iterator[str]:
    """A mark leads to a cure, and lies in states that the factor acts on."""
    if bool(factor.marks) != bool(factor.cure):
        yield "marks and cure go together. Give both."
    if factor.cure and (". " in factor.cure or not factor.cure.endswith(".")):
        yield "cure is more or less than one sentence. Write one, with a full stop."
    for mark in factor.marks:
        for state in mark.states:
            if state not in factor.acts_on:
                yield f"a mark is of {state.value}, which acts_on does not name. Add it there, or take it out."
        low, high = mark.timer_ms or (1.0, 2.0)
        if not 0 < low < high:
            yield f"timer_ms is {low:g} to {high:g}. Give two lengths in ms, the shorter first."
        try:
            re.compile(mark.words)
        except re.error as error:
            yield f"words is no regular expression ({error}). Correct it."


def _states(mitigation: Mitigation, factors: Iterable[KnownFactor]) -> Iterator[str]:
    """A mitigation shortens states that a factor lengthens which it is known for."""
    known = [factor for factor in factors if mitigation.key in factor.mitigations]
    for state in _repeated(mitigation.acts_on):
        yield f"acts_on lists {state} twice. Keep the first."
    for state in mitigation.acts_on:
        if known and not any(state in factor.acts_on or not factor.acts_on for factor in known):
            yield f"acts_on names {state}, and no factor of it does. Add it to one of {known[0].key}, or take it out."


def problems_of(mitigation: Mitigation) -> Iterator[str]:
    """List what is inconsistent in one mitigation, whoever names it."""
    yield from _parameters(mitigation)
    if mitigation.apply is None:
        if not mitigation.steps:
            yield "neither apply nor steps is given. Say what a person has to do."
        if mitigation.verify != Verify():
            yield "verify without apply shows nothing. Remove it."
        return
    if mitigation.apply == Apply():
        yield "apply is empty. Remove it, or say what it does."
    if mitigation.apply.wrap and not mitigation.verify.memory_policy:
        yield "apply changes wrap and verify does not look at it. Add its memory_policy to verify."
    if mitigation.apply.gpu.lock_clocks and mitigation.apply.gpu.clock_cap_mhz:
        yield "apply.gpu locks the clock and caps it, and the GPU keeps one of the two. Remove one."
    yield from _spawn(mitigation.apply.spawn, mitigation.applies)
    yield from _scope(mitigation, mitigation.apply)


def _parameters(mitigation: Mitigation) -> Iterator[str]:
    """Every `{name}` must be declared, and every declared name must stand somewhere."""
    declared = tuple(parameter.name for parameter in mitigation.parameters)
    filled = _PLACE.findall(mitigation.model_dump_json(include={"apply", "permanent"}))
    told = _PLACE.findall(" ".join(mitigation.steps))
    for name in sorted(set(filled) - set(declared) - _WORDS_OF_WRITE):
        yield f"{{{name}}} is no parameter. Declare it under parameters."
    for name in sorted(set(declared) - {*filled, *told}):
        yield f"the parameter {name} stands nowhere. Write {{{name}}} where it belongs, or remove it."
    for name in _repeated(declared):
        yield f"parameters lists {name} twice. Keep the first."


def _spawn(spawn: Spawn, applies: Precondition) -> Iterator[str]:
    if (spawn.policy == "deadline") != (spawn.deadline is not None):
        yield "spawn.policy deadline and spawn.deadline go together. Give both."
    if spawn.policy in ("fifo", "rr") and spawn.priority == 0:
        yield f"spawn.policy {spawn.policy} needs a priority from 1 to 99. Give one."
    if spawn.reserved_cpus != "0" and "all_but_reserved" not in (spawn.affinity, spawn.group.cpus):
        yield "spawn.reserved_cpus without all_but_reserved reserves nothing. Ask for that, or remove it."
    for controller in sorted(spawn.group.needs - set(applies.group)):
        yield f"spawn.group needs the controller {controller}. Add it to applies.group."


def _scope(mitigation: Mitigation, apply: Apply) -> Iterator[str]:
    """Whoever is asked for consent must see what is touched: files of the kernel are never process scope."""
    for write in apply.write:
        for path in (write.path, *(name for name in write.siblings if "/" in name)):
            if not _WRITABLE.match(path) or ".." in path.split("/"):
                yield (
                    f"apply.write names {path}. Only files below /proc/sys and /sys, /proc/irq and control groups can "
                    "be written and put back."
                )
    beyond, wanted = _beyond_a_group(apply), scope_of(apply)
    root = bool(beyond or apply.write)
    if beyond and (mitigation.scope != "system" or not mitigation.applies.root):
        yield f"apply.{beyond} needs scope system and applies.root. Set both."
    elif mitigation.scope != wanted:
        what = "a control group only" if wanted == "cgroup" else "the process only"
        yield f"the scope is {mitigation.scope}, but apply touches {what}. Set scope: {wanted}."
    elif root and not mitigation.applies.root:
        yield "apply.write needs applies.root. Set it."


def scope_of(apply: Apply) -> Scope:
    """Say how far it reaches."""
    in_group = bool(apply.write) or apply.spawn.group != ControlGroup()
    return "system" if _beyond_a_group(apply) else "cgroup" if in_group else "process"


def _beyond_a_group(apply: Apply) -> str:
    """Name the first action that changes more than the process and its control group; empty when there is none."""
    actions = {
        "write": any(not write.path.startswith("{cgroup.") for write in apply.write),
        "hold": bool(apply.hold),
        "gpu": apply.gpu != Gpu(),
        "script": apply.script is not None,
    }
    return next((name for name, done in actions.items() if done), "")


def _unknown(kind: str, names: Iterable[str], known: Mapping[str, object], folder: str) -> Iterator[str]:
    for name in names:
        if name not in known:
            yield f"the {kind} {name} is unknown. Add {folder}/{name}.yaml or correct the name."


def _repeated(values: tuple[str, ...]) -> list[str]:
    return sorted({value for value in values if values.count(value) > 1})


def _ties(factors: Mapping[str, KnownFactor]) -> Iterator[str]:
    """Find columns whose factor would be decided by the alphabet."""
    rivals: dict[tuple[bool, int, int], list[tuple[str, str]]] = defaultdict(list)
    for factor in factors.values():
        for position, signal in enumerate(factor.signals):
            same = rivals["*" in signal, factor.actionable, position]  # what is compared before the alphabet
            yield from (
                f"factors/{factor.key}.yaml: {signal} would name {other} as well. "
                f"Give the two another actionable or another order of signals."
                for other, theirs in same
                if overlap(signal, theirs)
            )
            same.append((factor.key, signal))
