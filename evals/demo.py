"""demo: diagnose a workload whose cause is known."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from ..agent.commands.diagnose import asked_of, carry_out
from ..agent.commands.options import Asking, OnHosts, option, place
from ..agent.commands.setting_options import EVERY
from ..agent.terminal import folded, table
from ..knowledge.errors import VgoError

if TYPE_CHECKING:
    from ..agent.settings import UserSettings
    from ..tools.subject import Subject
    from .workloads.named import NamedProgram
    from .workloads.workload import Workload


def opening(workload: Workload, steady: bool, budget_s: float, allow: str) -> str:
    """Say what goes on from here, for how long, and what it changes."""
    changes = _changes(allow)
    found = find_spec("sklearn")  # an installer that compiles nothing leaves that to the first start
    compiled = found is None or found.cached is None or Path(found.cached).exists()
    lines = (
        f"A demo: the diagnosis of a built-in program whose cause is known. {workload.name} {_what(workload, steady)}.",
        "It measures the program, looks for what goes with its slow runs, tries what may make them stop, and proves "
        f"what did. That takes half a minute on a quiet machine, at most {budget_s:.0f} s (--budget). {changes}",
        *([] if compiled else ["This is the first start: Python compiles its libraries, some ten seconds more."]),
    )
    return "\n".join(lines)


def opening_of(program: NamedProgram, budget_s: float, allow: str) -> str:
    """Say the same of a program whose cause nobody knows."""
    return (
        f"The diagnosis of {program.name}: {program.description}. Nobody put a cause into it, and what makes it vary "
        f"here is not known. It takes at most {budget_s:.0f} s (--budget). {_changes(allow)}"
    )


def _changes(allow: str) -> str:
    if allow == "system":
        return "Settings of this machine that it changes are put back."
    return "No setting of this machine is changed."


def _what(workload: Workload, steady: bool) -> str:
    if steady:
        cause = f" ({', '.join(workload.cause)})" if workload.cause else ""
        said = f"is the steady twin, without its cause{cause}; right is `steady`"
        return f"{said}, or what else interferes on this machine"
    return f"{workload.description}; {_truth(workload)}"


def next_commands(run: Path, command: str, attended: bool) -> str:
    """Give what to type next: a program, recorded runs, the chat."""
    plain = "" if attended else "--plain "
    run = run.relative_to(Path.cwd()) if run.is_relative_to(Path.cwd()) else run
    rows = (
        ("your own program, in place of `ls -R /etc`", f"{command} diagnose --budget 60 -- ls -R /etc"),
        ("recorded runs, in place of those of this demo", f"{command} analyze {shlex.quote(str(run / 'runs.csv'))}"),
        ("the chat, here about this demo", f"{command} chat {plain}{shlex.quote(str(run))}"),
    )
    return "\n".join(("", "What to try next:", *(f"  {typed}\n      {what}" for what, typed in rows)))


def typed() -> str:
    """Give what starts vgo-agent where it was started: `uv run` puts it on no one's PATH."""
    here = Path(sys.argv[0])  # without a folder where a program gave the name itself
    if "UV_RUN_RECURSION_DEPTH" in os.environ:
        return f"uv run {here.name}"
    found = shutil.which(here.name)
    bare = here.name == sys.argv[0]
    return here.name if bare or (found and os.path.samefile(found, here)) else shlex.quote(str(here))


def _truth(workload: Workload) -> str:
    verdicts = " or ".join(f"`{verdict}`" for verdict in workload.verdicts)
    cures = f", by {' or '.join(workload.cures)}" if "remedy confirmed" in workload.verdicts else ""
    allowed = " (with --allow system)" if workload.allow == "system" else ""
    return f"right is {verdicts}{cures}{allowed}"


BUDGET_S = 90.0
"""Unless another is asked for: the whole loop is shown in less than two minutes."""


@dataclass(frozen=True, kw_only=True)
class DemoCommand(OnHosts, Asking):
    """Diagnose a workload whose cause is known."""

    EPILOG = """\
examples:
  vgo-agent demo
  vgo-agent demo page-faults --budget 60
  vgo-agent demo sync-writes --steady
  vgo-agent demo cpu-hops --on tcp://10.0.0.1:8786
  vgo-agent demo --program 7z --budget 300
  vgo-agent demo --list

Without a name it takes the first workload of the list that shows its cause on this machine.
"""
    SETTINGS = EVERY

    name: str | None = place("NAME", "the workload, of those that --list names", default=None)
    steady: bool = option("its steady twin: the same without the cause", False)
    program: str | None = option(
        "a program that papers measured or a package gives, whose cause nobody knows; --list names them", metavar="NAME"
    )
    list: bool = option("list the workloads and programs, and leave", False)

    def run(self) -> int:
        """List, or diagnose."""
        if self.list:
            return self._listed()
        from ..agent.settings import effective

        settings, origins = effective(self.flags)
        if origins["budget"] == "default":
            settings = settings.model_copy(update={"budget_s": BUDGET_S})
        return self._named(settings) if self.program is not None else self._workload(settings)

    def _named(self, settings: UserSettings) -> int:
        from .workloads.named import named

        if self.name is not None or self.steady:
            raise VgoError("--program names a program of its own: leave NAME and --steady out.")
        program = named(str(self.program))
        subject = _settled(program.subject(), settings, self)
        self._tell(settings, opening_of(program, settings.budget_s, settings.allow))
        return self._diagnosed(subject, settings, program.name)

    def _workload(self, settings: UserSettings) -> int:
        from .workloads.registry import subject_of, surrounded

        workload = chosen(self.name)
        steady = bool(self.steady)
        if self.on and (refusal := only_here(workload, steady)):
            raise VgoError(f"{workload.name} cannot run on hosts: {refusal}.")
        subject = _settled(subject_of(workload, steady), settings, self)
        self._tell(settings, opening(workload, steady, settings.budget_s, settings.allow))
        with surrounded(workload, steady):
            return self._diagnosed(subject, settings, workload.name)

    def _tell(self, settings: UserSettings, words: str) -> None:
        if not settings.quiet:
            print(folded(words), end="\n\n", file=sys.stderr, flush=True)

    def _diagnosed(self, subject: Subject, settings: UserSettings, name: str) -> int:
        from ..agent.diagnosis import NewDiagnosis

        new = NewDiagnosis(asked_of(subject, settings), settings.out, name)
        attended = sys.stdin.isatty() and sys.stdout.isatty()
        tell_next = None if settings.quiet or self.json else lambda run: print(next_commands(run, typed(), attended))
        return carry_out(new, settings, self, tell_next or (lambda _: None))

    def _listed(self) -> int:
        from .workloads.named import named_programs
        from .workloads.registry import missing, workloads

        lacks = {workload.name: missing(workload) for workload in workloads()}
        listed = [{"name": w.name, "description": w.description, "missing": lacks[w.name]} for w in workloads()]
        rows = [(w.name, w.description, lacks[w.name] or "") for w in workloads()]
        named = [{"name": one.name, "description": one.description} for one in named_programs().values()]
        text = "\n\n".join(
            (
                table(("NAME", "WHAT IT DOES", "MISSING HERE"), rows),
                table(("--program", "WHAT IT IS"), [(one["name"], one["description"]) for one in named]),
            )
        )
        return self.answer({"workloads": listed, "programs": named}, text)


def chosen(name: str | None) -> Workload:
    """Find the workload of that name, or one whose cause shows here."""
    from .workloads.registry import find, missing, workloads

    if name is not None:
        return find(name)
    return next((workload for workload in workloads() if missing(workload) is None), workloads()[0])


def only_here(workload: Workload, steady: bool) -> str:
    """Say why a workload cannot run on hosts of a cluster, with the cure; empty where it can."""
    if workload.around is None or steady:
        return ""
    return "what makes its runs slow is set up around them on this machine only; leave --on out"


def _settled(subject: Subject, settings: UserSettings, command: DemoCommand) -> Subject:
    """Take what the settings and the command line say of it."""
    from ..agent.commands.subject import on_of

    kept = {"timeout_s": settings.timeout_s, "on_failure": settings.on_failure}
    where = {"on": on_of(command.on, settings), "mixed": command.mixed}
    return subject.model_copy(update=kept | where)
