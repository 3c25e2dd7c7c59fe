"""Ask every host one thing, and gather the answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...knowledge.errors import VgoError
from ..experiment.executor import Executor
from ..study.design import StudyDesign, StudyScope, one_design, one_warm_up
from ..study.setting import StudySetting
from ..study.warm_up import WarmUpRun, left_out
from .asking import GRACE_S, LONGEST_S, ask_all
from .engine import Fleet
from .host import HostAnswer
from .station import deliver


def of_every_host(fleet: Fleet, asked: Mapping[str, Any], limit_s: float) -> dict[str, HostAnswer]:
    """Give the answers by host, sorted; raise VgoError where a host refuses."""
    order = fleet.order.model_copy(update=dict(asked)).model_dump_json()
    there = fleet.link.workers()
    living = {host: [worker for worker in its.workers if worker in there] for host, its in fleet.hosts.items()}
    by_worker = {workers[0]: host for host, workers in living.items() if workers}
    limit_s += fleet.order.patience_s  # another one may be measuring there
    asking = {worker: there[worker] for worker in by_worker}
    landed = ask_all(fleet.link, asking, deliver, (order, limit_s), limit_s + GRACE_S)
    answers: dict[str, HostAnswer] = {}
    for worker, host in sorted(by_worker.items(), key=lambda item: item[1]):
        its = landed[worker]
        answers[host] = HostAnswer(error=its.lost) if its.lost else HostAnswer.model_validate_json(its.value)
        if answers[host].error:
            raise VgoError(f"On {host}: {answers[host].error}")
    if not answers:
        raise VgoError("No host is left: start workers again.")
    return answers


def laid_out(executor: Executor, wanted: StudyScope) -> StudyDesign:
    """Have every host lay a study out; raise VgoError where they do it differently."""
    assert isinstance(executor, Fleet)
    answers = of_every_host(executor, {"act": "lay_out", "wanted": wanted}, GRACE_S)
    return one_design({host: its.design for host, its in answers.items() if its.design})


def warmed_up(executor: Executor, settings: tuple[StudySetting, ...]) -> tuple[WarmUpRun, ...]:
    """Have every host run each setting of a study once."""
    assert isinstance(executor, Fleet)
    each = executor.order.subject.timeout_s
    asked = {"act": "warm_up", "settings": settings}
    answers = of_every_host(executor, asked, LONGEST_S if each is None else GRACE_S + each * len(settings))
    tried = one_warm_up({host: its.tried for host, its in answers.items()})
    for one in tried:
        if one.failure:
            executor.listener(left_out(one))
    return tried
