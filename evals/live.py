"""Live mode: run workloads for real through the front door, one after another, and score what is said of each.

Each is a child process of its own, as a user starts it; what it changes, it puts back itself, whatever becomes of us.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from ..agent.commands.chat import FRONT_DOOR
from ..agent.commands.mitigation_arguments import nobody, surveyed
from ..agent.commands.subject import on_of
from ..agent.record import record_of
from ..agent.render.text import markdown_page, terminal_text
from ..agent.run_folder import RunFolder
from ..agent.settings import effective
from ..agent.terminal import printable
from ..agent.transcript import read
from ..tools.document import Document
from ..tools.findings import Findings
from ..tools.layers_here import named
from .demo import only_here
from .recorded.draft import machine_words
from .refusals import OfEvaluation
from .scores.live_scores import PLANNER, LiveResults, LiveRow, judged, live_document, skipped
from .scores.results import origin, write
from .workloads.registry import find, has_twin, missing, workloads
from .workloads.workload import Workload

R = TypeVar("R", bound=LiveRow)
LIMIT_S = 3600.0
"""Wall time of one diagnosis, unless --limit says another; most of it is the program's own."""
GRACE_S = 120.0
"""For putting back what was changed, after the time is up."""
INTERRUPTED = 130
"""Exit code after Ctrl-C, as a shell gives it."""


LiveDiagnosis = tuple[Workload, bool]
"""One that is wanted, of a workload or of its steady twin."""


def run_live(command: OfEvaluation) -> int:
    """Diagnose each, tell how it went, and answer; a single one that fails is a row, and Ctrl-C keeps those before."""
    wishes = list(_wishes(command.live or (), command.steady))
    typed = {"allow": command.allow, "budget": command.budget, "layers": command.layer or None}
    settings, _ = effective({name: value for name, value in typed.items() if value is not None})
    named(settings.layers)
    made, seen, on = origin(), surveyed(nobody(), ()), on_of(command.on, settings)
    rows, stopped = collected((_row(wish, command) for wish in wishes), len(wishes), "workloads", command)
    machine = f"{machine_words(seen)}{f'; runs were made on the hosts of {on}' if on else ''}"
    results = LiveResults(**made, machine=machine, stopped=stopped, rows=rows)
    return give(results, live_document(results), command)


def collected(rows: Iterator[R], total: int, what: str, command: OfEvaluation) -> tuple[tuple[R, ...], str]:
    """Tell of each row as it comes; Ctrl-C keeps those before, and says so in the second part."""
    done: list[R] = []
    try:
        for row in rows:
            done.append(row)
            if not command.quiet:
                told = f"{len(done)}/{total}  {row.case}: {row.answer.verdict or row.why}"
                print(printable(told), file=sys.stderr)
    except KeyboardInterrupt:
        if not done:
            raise
        return tuple(done), f"Stopped by Ctrl-C after {len(done)} of {total} {what}: what follows is of these alone."
    return tuple(done), ""


def give(results: LiveResults, document: Document, command: OfEvaluation) -> int:
    """Save and answer."""
    if command.save:
        write(results.model_dump_json(indent=1) + "\n", command.save, "--save")
    if command.markdown:
        write(markdown_page(document), command.markdown, "--markdown")
    summary = results.summary.model_dump(mode="json")
    command.answer(results.model_dump(mode="json") | {"summary": summary}, terminal_text(document))
    return INTERRUPTED if results.stopped else 0


def _wishes(names: Sequence[str], steady: bool) -> Iterator[LiveDiagnosis]:
    for workload in [find(name) for name in names] or workloads():
        yield workload, False
        if steady and has_twin(workload):
            yield workload, True


def _row(wish: LiveDiagnosis, command: OfEvaluation) -> LiveRow:
    workload, steady = wish
    if (reason := missing(workload)) is not None:
        return skipped(workload, steady, reason)
    if command.on and (refusal := only_here(workload, steady)):
        return skipped(workload, steady, refusal)
    if workload.allow == "system" and command.allow != "system" and not steady:
        return skipped(workload, steady, "what cures it changes the system; allow that with --allow system")
    words = ["demo", workload.name, *passed_on(command), *(["--steady"] if steady else [])]
    said = answered(words, LIMIT_S if command.limit is None else command.limit)
    profiled = None if "error" in said else found_in(Path(said["run_dir"])).profiled
    return judged(workload, steady, said, profiled.layers if profiled else ())


def answered(words: Sequence[str], limit_s: float, folder: Path | None = None) -> dict[str, Any]:
    """Give the object that a command answers with, started in `folder`; `error` says why there is none."""
    line = [*FRONT_DOOR, *words]
    with subprocess.Popen(line, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as child:
        try:
            output, _ = child.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGINT)  # it puts back what it changed before it leaves
            _leave(child)
            return {"error": f"stopped: no answer within {limit_s:g} s"}
        except KeyboardInterrupt:
            _leave(child)  # Ctrl-C has reached it too
            raise
    try:
        found: dict[str, Any] = json.loads(output)
    except ValueError:
        return {"error": f"no answer; its exit code is {child.returncode}"}
    return found


def passed_on(command: OfEvaluation) -> list[str]:
    """Options that a live diagnosis is given as they were typed."""
    words = ["--json", "--planner", PLANNER, "--allow", command.allow or "process"]
    words += ["--budget", f"{command.budget:g}"] if command.budget is not None else []
    words += [word for layer in command.layer for word in ("--layer", layer)]
    words += ["--on", command.on] if command.on else []
    words += ["--mixed"] if command.mixed else []
    words += ["--quiet"] if command.quiet else []
    return words


def found_in(run: Path) -> Findings:
    """Read what was found in a run from its folder."""
    folder = RunFolder.find(run)
    return Findings(record_of(read(folder.transcript), folder))


def _leave(child: subprocess.Popen[bytes]) -> None:
    """Wait until the child has put back what it changed; a watchdog of its own does so if it is killed."""
    try:
        child.communicate(timeout=GRACE_S)
    except subprocess.TimeoutExpired:
        child.kill()
