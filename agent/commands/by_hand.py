"""After the answer of `diagnose`, at a terminal: what only a person can do, and the runs after it."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ...tools.case import changes_system
from ...tools.findings import Findings
from ...tools.mitigation.parameters import with_values
from ...tools.subject import NO_MORE, TrialPlan
from ...tools.verdict import from_json, helpful
from ..again import again
from ..progress import Lines
from ..record import bodies, record_of
from ..run_folder import RunFolder
from ..terminal import printable
from ..transcript import RunStart, read
from .options import Asking
from .trial import TrialRequest, carry_out, looked_at

if TYPE_CHECKING:
    from ...tools.record import Record
    from ...tools.subject import Limits


def offer(run: Path, command: Asking) -> None:
    """Show the steps of each, wait for an answer, and measure again after `done`, until one of them helps."""
    folder = RunFolder(run)
    events = read(folder.transcript)
    start = bodies(events, RunStart)[0]
    left = left_for_hands(record_of(events, folder), start.limits)
    if not left:
        return
    _tell("")
    _tell(f"Nothing that the tool can do is proved to help. A person may try: {', '.join(left)}.")
    for key in left:
        trial = looked_at(command, key, [], start.subject)
        said = _asked(trial, run)
        if said == NO_MORE:
            return
        if said:
            continue
        plan = TrialPlan(mitigation=key, by_hand=True, after=folder.path.name)
        own_budget = replace(command, began_s=time.monotonic())
        ending = carry_out(trial, plan, own_budget, str(run))
        if helpful(from_json(ending.summary["verdict"])):
            return
        if key != left[-1]:
            _tell("Undo it now, unless it is to stay: the next one is compared with the same baseline.")


def left_for_hands(record: Record, limits: Limits) -> tuple[str, ...]:
    """Mitigations of the factors found that only a person can apply, while nothing is proved to help."""
    found = Findings(record)
    if limits.allow == "none" or found.reached(1.0):
        return ()
    wanted = [c for c in found.candidates.values() if not (record.no_system and changes_system(c.scope))]
    by_hand = dict.fromkeys(c.mitigation for c in wanted if not c.automatic and not c.unmet)
    return tuple(by_hand)[: limits.max_mitigations]


def _asked(trial: TrialRequest, run: Path) -> str:
    """Empty when it has been done, else why not."""
    mitigation = with_values(trial.mitigation, {}, trial.machine)
    later = again("try", (trial.mitigation.key, "--after", str(run)), trial.subject)
    question = {
        "mitigation": mitigation.name,
        "scope": mitigation.scope,
        "hurts": mitigation.hurts,
        "steps": mitigation.steps,
        "later": f"  Later, after a reboot too: {later}",
    }
    said = Lines(trial.subject.unit).approve(question)
    return "" if said["granted"] else str(said["reason"])


def _tell(line: str) -> None:
    print(printable(line), file=sys.stderr, flush=True)
