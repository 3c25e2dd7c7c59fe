"""What a mitigation would do here, in order and in words, without doing it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel

from ...knowledge.actions import Apply, Gpu, Spawn
from ...knowledge.schema import Mitigation
from ..machine import Machine
from ..subject import Subject
from .kernel_file import KernelFiles
from .kernel_settings import resolve, same
from .parameters import with_values
from .run_group import controllers_of, parts

_BEFORE_EACH_RUN = {
    "sync_first": "write dirty pages back (sync)",
    "evict_inputs": "drop from the page cache: {inputs}",
    "prewarm_inputs": "read into the page cache: {inputs}",
}


def planned(mitigation: Mitigation, subject: Subject, machine: Machine, root: Path = Path("/")) -> tuple[str, ...]:
    """List every write, hold, command, condition of the start and variable, in the order in which they come.

    VgoError where the mitigation could not be applied.
    """
    mitigation = with_values(mitigation, {}, machine)
    if mitigation.apply is None:
        return tuple(f"by hand: {step}" for step in mitigation.steps)
    apply = mitigation.apply
    return (*_system(apply, machine, root), *_start(apply, subject, machine), *_each_run(apply, subject))


def _system(apply: Apply, machine: Machine, root: Path) -> Iterator[str]:
    if apply.write:
        resolved, files = resolve(apply.write, machine, root), KernelFiles(root)
        for knob in resolved.knobs:
            now = files.read(knob.path)
            already = ", as it is" if same(knob.value, now) else f" (now {now})"
            maybe = ", unless the kernel refuses it" if knob.optional else ""
            yield f"write {knob.value} to {knob.path}{already}{maybe}"
            yield from (f"  and put back with it {path} (now {files.read(path)})" for path in knob.siblings)
        yield from resolved.left_out
    if apply.gpu != Gpu():
        yield f"set on every GPU that the program may use: {_changed(apply.gpu)}"
    for hold in apply.hold:
        yield f"write {hold.int32} (32 bits) to {hold.path} and hold it open"
    if apply.script:
        yield f"run {' '.join(apply.script.apply)}"
        yield f"  and afterwards {' '.join(apply.script.revert)}"


def _start(apply: Apply, subject: Subject, machine: Machine) -> Iterator[str]:
    if apply.tmpfs_directory:
        yield f"copy {subject.directory} to tmpfs and run there, with TMPDIR there too"
    if controllers_of(apply.spawn.group):
        for part in parts(apply.spawn, machine):
            values = ", ".join(f"{name} = {value}" for name, value in part.values.items())
            yield f"make a control group in {part.place.folder} ({values}) and start it there"
    plain = apply.spawn.model_copy(update={"group": Spawn().group})
    yield from (f"start it with {word}" for word in filter(None, _changed(plain).split("; ")))
    if apply.clear_environment:
        yield "take all variables away but PATH, HOME and LANG"
    yield from (f"set {name}={value}" for name, value in apply.environment.items())
    if apply.preload:
        yield f"set LD_PRELOAD={apply.preload}"
    if apply.wrap:
        yield f"put before the command: {' '.join(apply.wrap)}"


def _each_run(apply: Apply, subject: Subject) -> Iterator[str]:
    if apply.cool_down:
        most, within = apply.cool_down.most_s, apply.cool_down.within_celsius
        yield f"before each run: wait until within {within:g} degrees of the start, {most:g} s at most"
    inputs = ", ".join(subject.inputs) or "no input file is known"
    for field, words in _BEFORE_EACH_RUN.items():
        if getattr(apply, field):
            yield f"before each run: {words.format(inputs=inputs)}"


def _changed(part: BaseModel) -> str:
    """Name the fields that are not as they would be without a word."""
    shown = part.model_dump(exclude_defaults=True)
    return "; ".join(f"{name.replace('_', ' ')} {_value(value)}".strip() for name, value in shown.items())


def _value(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name.replace('_', ' ')} {one}" for name, one in value.items() if one not in ("", None))
    return "" if value is True else str(value)
