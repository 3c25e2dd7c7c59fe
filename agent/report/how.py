"""How a diagnosis was done: its settings, the machine, and every call with its reason."""

from __future__ import annotations

from collections.abc import Iterator

from ...tools.document import Block, Facts, Section, Table
from ...tools.subject import LOCAL
from ..planners.state import plain
from ..record import bodies
from ..transcript import Decision, RunStart
from .evidence import Evidence
from .numbers import Fact, number, percent, quantity

MOST_REASON = 120
"""Characters of why a model was passed over."""


def section(evidence: Evidence, checked: tuple[Block, ...]) -> Section:
    """Tell all of it, and how to check the record."""
    calls = _calls(evidence)
    steps = f"{len(calls)} steps of the diagnosis"
    return Section(
        "How it was measured",
        (
            Facts(tuple(_settings(evidence))),
            Section("System under test", (Facts(tuple(machine(evidence))),), folded=True),
            Section(steps, (Table(("call", "tool", "chosen by", "why", "result"), calls),), folded=True),
            *checked,
        ),
    )


def _settings(evidence: Evidence) -> Iterator[Fact]:
    run, measured, counted = evidence.run, evidence.measured, evidence.run.subject.counted
    limits = run.limits
    yield "Outcome", f"{run.subject.outcome}, {'lower' if run.subject.lower_is_better else 'higher'} is better"
    if run.subject.launcher != LOCAL:
        yield "Launcher", run.subject.launcher
    if run.subject.root != "/":
        yield "Root of the machine", run.subject.root
    yield f"{counted.capitalize()} of the program", number(evidence.recorded_runs)
    if measured:
        yield "Baseline", f"{number(measured.runs)} {counted} count; stopped by: {measured.stopped_by}"
        yield "Pairs planned", f"{number(measured.pairs_needed)} a batch, for 80 % power at the target"
    for profile in evidence.profiles:
        names = ", ".join(profile.layers)
        yield "Profile", f"{number(profile.runs)} {counted} with {number(profile.columns)} columns ({names})"
    target = f"whole interval of the spread ratio below {number(limits.target_ratio)}"
    yield "Target", f"{target}; alpha {number(limits.alpha)}"
    spent = f"{number(run.record.spent_s, 3)} s of {number(limits.budget_s)} s when this was written"
    yield "Budget", f"{spent}; at most {number(limits.max_runs)} runs a condition"
    share = percent(run.agent_seconds / run.seconds, 2) if run.seconds > 0 else "0 %"
    agent = f"{number(run.agent_seconds, 3)} s ({share}) were not the program"
    yield "Time in all", f"{number(run.seconds, 3)} s, of which {agent}"
    yield "Planner", f"{_planner(evidence)}, seed {limits.seed}, --allow {limits.allow}"


def machine(evidence: Evidence) -> Iterator[Fact]:
    """Describe the machine, as far as it may matter."""
    machine = evidence.run.machine
    if machine.hosts:
        which = machine.hosts[0] if evidence.run.subject.on else "the machine that vgo-agent ran on"
        yield "Runs on", f"{', '.join(machine.hosts)}; what follows is of {which}"
    yield "CPU", f"{machine.cpu} ({machine.architecture}), {len(machine.cpus)} usable"
    yield "Memory", f"{quantity(machine.memory_bytes, 'bytes')}, {machine.numa_nodes} node(s)"
    yield "Kernel", f"{machine.kernel}, {machine.distribution}"
    for name, value in (
        ("Virtual machine", machine.virtual),
        ("Governor", machine.governor),
        ("Transparent huge pages", machine.thp),
        ("glibc", machine.glibc),
        ("Python", machine.python),
    ):
        if value:
            yield name, value
    yield "Root", "yes" if machine.root else "no"
    yield "Load at the start", number(machine.load_1min, 3)


def _calls(evidence: Evidence) -> list[tuple[str, ...]]:
    """List what was done: the call, its tool, who chose it, why, and what came of it."""
    chosen = {one.call_id: (_by(one), one.why) for one in bodies(evidence.run.events, Decision)}
    return [
        (call.call_id, call.tool, *chosen.get(call.call_id, ("", "")), call.said) for call in evidence.run.record.calls
    ]


def _by(decision: Decision) -> str:
    """Name the planner of one step; of a fallback, what was wrong with the model's answer."""
    passed_over = decision.said.passed_over if decision.said else ""
    return f"{decision.origin}, since {plain(passed_over, MOST_REASON)}" if passed_over else decision.origin


def _planner(evidence: Evidence) -> str:
    models = [start.model for start in bodies(evidence.run.events, RunStart) if start.model]
    if not models:
        return evidence.run.planner
    return f"{evidence.run.planner} ({models[0].name}, {models[0].library}; SHA-256 {models[0].sha256 or 'unknown'})"
