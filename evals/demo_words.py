"""What the demo says before its first run, and what to type after it."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .workloads.workload import Workload


def opening(workload: Workload, steady: bool, budget_s: float, allow: str) -> str:
    """Say what goes on from here, for how long, and what it changes."""
    changes = (
        "Settings of this machine that it changes are put back."
        if allow == "system"
        else "No setting of this machine is changed."
    )
    lines = (
        f"A demo: the diagnosis of a built-in program whose cause is known. {workload.name} {_what(workload, steady)}.",
        "It measures the program, looks for what goes with its slow runs, tries what may make them stop, and proves "
        f"what did. That takes half a minute on a quiet machine, at most {budget_s:.0f} s (--budget). {changes}",
        *([] if _compiled() else ["This is the first start: Python compiles its libraries, some ten seconds more."]),
    )
    return "\n".join(lines)


def _compiled() -> bool:
    """Tell whether Python has started the libraries before: an installer that compiles nothing leaves that to it."""
    found = find_spec("sklearn")
    return found is None or found.cached is None or Path(found.cached).exists()


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
