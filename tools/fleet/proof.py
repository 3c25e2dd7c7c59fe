"""Have every host show that a mitigation is in force there."""

from __future__ import annotations

from ...knowledge.errors import VgoError
from ..execution.series import Change
from ..mitigation.checks import Check
from .asking import GRACE_S, ask_all
from .engine import Fleet
from .messages import Answer
from .station import deliver

RUNS = 10
"""A proof takes a few runs."""


def proved(fleet: Fleet, change: Change) -> tuple[Check, ...]:
    """Gather the checks of all hosts, each with its name; raise VgoError where a host refuses."""
    update = {"act": "prove", "mitigation": change.mitigation, "source": str(fleet.source or "")}
    order = fleet.order.model_copy(update=update).model_dump_json()
    there, limit_s = fleet.link.workers(), fleet.limit_s(RUNS)
    asked = {worker: host for host in fleet.hosts if (worker := fleet.worker_of(host))}
    answers = ask_all(
        fleet.link, {worker: there[worker] for worker in asked}, deliver, (order, limit_s), limit_s + GRACE_S
    )
    checks: list[Check] = []
    longest_s = 0.0
    for worker, host in sorted(asked.items(), key=lambda item: item[1]):
        landed = answers[worker]
        answer = Answer(error=landed.lost) if landed.lost else Answer.model_validate_json(landed.value)
        if answer.error:
            raise VgoError(f"On {host}: {answer.error}")
        longest_s = max(longest_s, answer.spent_s)
        checks += [check.model_copy(update={"what": f"{host}: {check.what}"}) for check in answer.checks]
    fleet.ran(longest_s)
    return tuple(checks)
