"""Have every host show that a mitigation is in force there."""

from __future__ import annotations

from ..execution.screen import Proof
from ..experiment.condition import Condition
from ..mitigation.checks import Check
from .engine import Fleet
from .every import of_every_host

RUNS = 10
"""A proof takes a few runs."""


def proved(fleet: Fleet, condition: Condition) -> Proof:
    """Gather the checks of all hosts, each with its name; raise VgoError where a host refuses.

    A host on which the program does not bear it speaks for all.
    """
    update = {"act": "prove", "conditions": {condition.name: condition}}
    checks: list[Check] = []
    longest_s, broke = 0.0, ""
    for host, answer in of_every_host(fleet, update, fleet.limit_s(RUNS)).items():
        longest_s = max(longest_s, answer.spent_s)
        checks += [check.model_copy(update={"what": f"{host}: {check.what}"}) for check in answer.checks]
        broke = broke or (answer.broke and f"{answer.broke} (on {host})")
    fleet.ran(longest_s)
    return Proof(tuple(checks), broke)
