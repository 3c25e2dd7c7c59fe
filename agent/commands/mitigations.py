"""mitigations: what can be done, what applies here, why the rest does not, what it would change, and how to keep it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...knowledge.errors import VgoError
from ..terminal import columns
from .options import Answering, OfProgram, option, place
from .trial import for_a_person

if TYPE_CHECKING:
    from ...knowledge.loader import Knowledge
    from ...knowledge.schema import Mitigation
    from ...tools.document import Block, Section
    from ...tools.machine import Machine
    from ...tools.subject import Subject

# As `Keeper` in the knowledge lists them, which is dear to import for a help text.
FORMATS = ("systemd", "sysctl", "tmpfiles", "udev", "tuned", "cmdline", "slurm", "openmp", "docker", "shell")
HEADER = ("mitigation", "scope", "here", "what it is")
SCOPES = ("process", "cgroup", "system", "reboot", "code", "hardware")
NARROW = 72
"""A terminal of fewer columns gets a list instead of a table."""


@dataclass(frozen=True, kw_only=True)
class MitigationsCommand(OfProgram, Answering):
    """List what can be done, what applies here, and how to keep it."""

    EPILOG = """\
examples:
  vgo-agent mitigations
  vgo-agent mitigations --factor page_faults
  vgo-agent mitigations --factor run_queue_wait --scope process -- ./bench.sh
  vgo-agent mitigations sched_fifo thp_always
  vgo-agent mitigations ./mine.yaml
  vgo-agent mitigations --trust ./mine.yaml
  vgo-agent mitigations pin_to_cpu --keep all -- /usr/bin/solver --fast
  vgo-agent mitigations swappiness_low --keep sysctl > 90-swappiness.conf
  vgo-agent mitigations reserve_cores --param cores=2 --keep slurm

HERE: yes; on (in force already); ask (changes more than the program: --allow system, or answer at a terminal); you (for
a person to do); untrusted (a file of yours that would run commands or set variables); no (with the reason and its cure
below). What depends on the program is only known with a COMMAND. With names, all that is known of these.
`vgo-agent try NAME -- COMMAND` tries one.

--keep says how to make one permanent, as {formats}.
With one format the text is printed as it belongs in the file; with all of them, each under its name, and why the others
cannot say it. Nothing is written or changed. What holds for this machine only (numbers of CPUs) says so, and a value
that is bounded by the CPUs of the machine it is for is not checked against those of this one.
""".format(formats=", ".join(FORMATS))
    USAGE = "[OPTIONS] [NAME ...] [-- COMMAND [ARGS...]]"
    SETTINGS = ("launcher", "root")
    PLACES = None
    REQUIRES = {"command": "shell metric per_iteration unit higher_is_better input", "keep": "param"}
    CONFLICTS = {
        "trust": "names factor scope keep launcher root command",
        "keep": "factor scope launcher metric per_iteration unit higher_is_better input",
    }

    names: tuple[str, ...] = place("NAME", "all that is known of these: key, name, or FILE.yaml", default=())
    factor: str | None = option("only those of this factor, in the order to try them: key or column", metavar="F")
    trust: Path | None = option("let this file of yours run its commands, as it is now", metavar="FILE")
    scope: str | None = option("only those of this scope", choices=SCOPES)
    keep: str | None = option("print how to make one permanent: in one format, or all", choices=("all", *FORMATS))
    param: tuple[str, ...] = option("with --keep: a parameter of it; repeatable", (), metavar="NAME=VALUE")

    def run(self) -> int:
        """List, trust, or say how to keep one."""
        if self.trust:
            return self._trusted(self.trust)
        if self.keep:
            from .kept import keep

            return self.answer(*keep(self, self.names, self.param, self.keep))
        from ...knowledge.loader import load
        from ...tools.mitigation.scripts import names_file
        from .mitigation_arguments import factor_meant, mitigation_meant

        knowledge = load()
        names, command = self.names, self.command
        factor = factor_meant(self.factor, knowledge) if self.factor is not None else None
        chosen = [mitigation_meant(name, knowledge) for name in names]
        files = {one.key: Path(name).resolve() for name, one in zip(names, chosen, strict=True) if names_file(name)}
        if factor:
            own = [knowledge.mitigations[key] for key in factor.mitigations if key in knowledge.mitigations]
            chosen = [one for one in chosen if one in own] if chosen else own
        chosen = [one for one in chosen or knowledge.mitigations.values() if self.scope in (None, one.scope)]
        listed = self._looked_at(chosen, knowledge)
        listed = [_if_trusted(one, files.get(one.plain.key)) for one in listed]
        title = f"{factor.name} ({factor.key}), in the order to try them:" if factor else ""
        blocks: list[Block] = [_detail(one) for one in listed] if names else [title, *_overview(listed)]
        if not listed:
            blocks = ["No mitigation is both: leave --scope or --factor out."]
        known = {"factor": factor.key if factor else None, "command": list(command) or None}
        return self.answer({**known, "mitigations": [_json(one) for one in listed]}, blocks)

    def _trusted(self, file: Path) -> int:
        from ...knowledge.loader import load
        from ...layers.reading import trust
        from ...tools.mitigation.scripts import commands, read_own

        what, place = commands(read_own(file, load().mitigations)), trust([file])
        lines = [f"Trusted until it changes: {file} (kept in {place})."]
        lines += [f"  {line}" for line in what] or ["  It runs nothing."]
        return self.answer({"trusted": [str(file)], "commands": what, "store": str(place)}, "\n".join(lines))

    def _looked_at(self, chosen: Sequence[Mitigation], knowledge: Knowledge) -> list[ListedMitigation]:
        """See each on this machine, and on the command where one is given."""
        from .mitigation_arguments import surveyed
        from .subject import subject_of

        named = replace(self, command=self.command or ("true",))
        subject = subject_of(named, self.in_force())
        machine = surveyed(subject, [*knowledge.mitigations.values(), *chosen])
        return [_listed(one, machine, subject, bool(self.command)) for one in chosen]


@dataclass(frozen=True)
class ListedMitigation:
    """One mitigation, as it stands on this machine."""

    mitigation: Mitigation
    plain: Mitigation
    here: str
    why: tuple[str, ...]
    """Why not, each with its cure."""
    only_for: tuple[str, ...]
    """What a program must be, in words that follow `a program that`."""
    would: tuple[str, ...]
    levels: dict[str, tuple[str, ...]]
    """Of each parameter, those of this machine."""


def _listed(plain: Mitigation, machine: Machine, subject: Subject, has_command: bool) -> ListedMitigation:
    from ...tools.mitigation.by_hand import planned
    from ...tools.mitigation.parameters import levels_of, with_values
    from .mitigation_arguments import tried_here

    here = tried_here(plain, machine, subject if has_command else None)
    try:
        mitigation = with_values(plain, {}, machine)
    except VgoError:  # the default of a parameter is out of what this machine has, as `here` says
        return ListedMitigation(plain, plain, "no", here.unmet, here.needs, (), {})
    why, would = here.unmet, tuple[str, ...]()
    if mitigation.apply:
        try:
            would = planned(mitigation, subject, machine, Path(subject.root))
        except VgoError as missing:
            why = why or (str(missing),)
    levels = {one.name: levels_of(one, machine) for one in plain.parameters}
    state = _here(mitigation, why, machine, Path(subject.root))
    return ListedMitigation(mitigation, plain, state, why, here.needs, would, levels)


def _if_trusted(one: ListedMitigation, file: Path | None) -> ListedMitigation:
    """Say of a file of the user's that `try` would refuse it before it looked at anything else."""
    from ...tools.mitigation.scripts import refuse_own

    try:
        if file:
            refuse_own(one.plain, file)
    except VgoError as refused:
        return replace(one, here="untrusted", why=(str(refused), *one.why))
    return one


def _here(mitigation: Mitigation, why: tuple[str, ...], machine: Machine, root: Path) -> str:
    if why:
        return "no"
    if for_a_person(mitigation):
        return "you"
    if _on(mitigation, machine, root):
        return "on"
    return "yes" if mitigation.scope == "process" else "ask"


def _on(mitigation: Mitigation, machine: Machine, root: Path) -> bool:
    """Tell whether every value that it would write is there already."""
    from ...tools.mitigation.kernel_settings import in_force_already, resolve

    writes = mitigation.apply.write if mitigation.apply else ()
    try:
        return bool(writes) and in_force_already(resolve(writes, machine, root).knobs, root)
    except (VgoError, OSError):
        return False


def _overview(listed: Sequence[ListedMitigation]) -> tuple[Block, ...]:
    from ...tools.document import Listing, Section, Table

    width = columns()
    if width < NARROW:
        shown = [line for one in listed for line in _narrow(one, width)]
        body: tuple[Block, ...] = tuple(shown)
    else:
        rows = [(one.mitigation.key, one.mitigation.scope, one.here, _what(one)) for one in listed]
        taken = sum(max(len(row[at]) for row in (HEADER, *rows)) + 2 for at in range(3))
        body = (Table(HEADER, [(*row[:3], _cut(row[3], max(20, width - taken))) for row in rows]),)
    reasons = tuple(
        f"{one.mitigation.key}: {'; '.join(reason.rstrip('.') for reason in one.why)}."
        for one in listed
        if one.here == "no"
    )
    return *body, Section("What does not apply here, and what would make it", (Listing(reasons),))


def _narrow(one: ListedMitigation, width: int) -> Iterator[str]:
    yield f"{one.mitigation.key}  {one.mitigation.scope}, {one.here}"
    yield f"  {_cut(one.mitigation.name, max(10, width - 2))}"


def _what(one: ListedMitigation) -> str:
    searched = ", ".join(one.levels)
    return one.mitigation.name + (f" (parameter {searched})" if searched else "")


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 4].rstrip()} ..."


def _detail(one: ListedMitigation) -> Section:
    from ...tools.document import Listing, Section

    mitigation = one.mitigation
    facts = {
        "Scope": mitigation.scope,
        "Here": one.here,
        "Switched": "between two runs" if mitigation.interleavable else "only in blocks of runs",
        "Only for": f"a program that {' and '.join(one.only_for)}" if one.only_for else "",
        "It should lower": ", ".join(mitigation.moves),
    }
    lists = {
        "Why not": one.why,
        "It would": one.would,
        "Parameters": tuple(_parameter(one, name) for name in one.levels),
        "What a person does": mitigation.steps,
    }
    return Section(
        f"{mitigation.key}: {mitigation.name}",
        (
            mitigation.description,
            f"Helps: {mitigation.when}",
            f"Hurts: {mitigation.hurts}",
            *(f"{name}: {text}" for name, text in facts.items() if text),
            *(Section(name, (Listing(tuple(items)),)) for name, items in lists.items()),
        ),
    )


def _parameter(one: ListedMitigation, name: str) -> str:
    parameter = next(each for each in one.plain.parameters if each.name == name)
    unit = f" {parameter.unit}" if parameter.unit else ""
    levels = ", ".join(one.levels[name]) or "none on this machine"
    words = " ".join(parameter.description.split()).rstrip(".")
    return f"{name}: {words}. Default {parameter.default}{unit}; levels here: {levels}."


def _json(one: ListedMitigation) -> dict[str, Any]:
    mitigation = one.mitigation
    described = {parameter.name: parameter for parameter in one.plain.parameters}
    return {
        "mitigation": mitigation.key,
        "name": mitigation.name,
        "scope": mitigation.scope,
        "here": one.here,
        "why_not": list(one.why),
        "only_for": list(one.only_for),
        "would": list(one.would),
        "in_force": one.here == "on",
        "interleavable": mitigation.interleavable,
        "parameters": [
            {**described[name].model_dump(mode="json"), "levels_here": list(levels)}
            for name, levels in one.levels.items()
        ],
        "when": mitigation.when,
        "hurts": mitigation.hurts,
        "moves": list(mitigation.moves),
        "steps": list(mitigation.steps),
    }
