"""How a diagnosis was done: its settings, the machine, and every call with its reason."""

from __future__ import annotations

from collections.abc import Iterator

from ...tools.subject import LOCAL
from ..planners.state import plain
from ..record import bodies
from ..transcript import Decision, RunStart
from .evidence import Evidence
from .numbers import number, percent, quantity
from .story import Fact

MOST_REASON = 120
"""Characters of why a model was passed over."""


def how(evidence: Evidence) -> Iterator[Fact]:
    """Say what was measured, how often, under which limits, and by whose choice."""
    run, measured = evidence.run, evidence.measured
    limits = run.limits
    yield Fact("Outcome", f"{run.subject.outcome}, {'lower' if run.subject.lower_is_better else 'higher'} is better")
    if run.subject.launcher != LOCAL:
        yield Fact("Launcher", run.subject.launcher)
    if run.subject.root != "/":
        yield Fact("Root of the machine", run.subject.root)
    yield Fact(f"{run.subject.counted.capitalize()} of the program", number(evidence.recorded_runs))
    if measured:
        yield Fact(
            "Baseline", f"{number(measured.runs)} {run.subject.counted} count; stopped by: {measured.stopped_by}"
        )
        yield Fact("Pairs planned", f"{number(measured.pairs_needed)} a batch, for 80 % power at the target")
    for profile in evidence.profiles:
        names = ", ".join(profile.layers)
        yield Fact(
            "Profile", f"{number(profile.runs)} {run.subject.counted} with {number(profile.columns)} columns ({names})"
        )
    target = f"whole interval of the spread ratio below {number(limits.target_ratio)}"
    yield Fact("Target", f"{target}; alpha {number(limits.alpha)}")
    spent = f"{number(run.record.spent_s, 3)} s of {number(limits.budget_s)} s when this was written"
    yield Fact("Budget", f"{spent}; at most {number(limits.max_runs)} runs a condition")
    share = percent(run.agent_seconds / run.seconds, 2) if run.seconds > 0 else "0 %"
    agent = f"{number(run.agent_seconds, 3)} s ({share}) were not the program"
    yield Fact("Time in all", f"{number(run.seconds, 3)} s, of which {agent}")
    yield Fact("Planner", f"{_planner(evidence)}, seed {limits.seed}, --allow {limits.allow}")


def machine(evidence: Evidence) -> Iterator[Fact]:
    """Describe the machine, as far as it may matter."""
    machine = evidence.run.machine
    if machine.hosts:
        which = machine.hosts[0] if evidence.run.subject.on else "the machine that vgo-agent ran on"
        yield Fact("Runs on", f"{', '.join(machine.hosts)}; what follows is of {which}")
    yield Fact("CPU", f"{machine.cpu} ({machine.architecture}), {len(machine.cpus)} usable")
    yield Fact("Memory", f"{quantity(machine.memory_bytes, 'bytes')}, {machine.numa_nodes} node(s)")
    yield Fact("Kernel", f"{machine.kernel}, {machine.distribution}")
    for name, value in (
        ("Virtual machine", machine.virtual),
        ("Governor", machine.governor),
        ("Transparent huge pages", machine.thp),
        ("glibc", machine.glibc),
        ("Python", machine.python),
    ):
        if value:
            yield Fact(name, value)
    yield Fact("Root", "yes" if machine.root else "no")
    yield Fact("Load at the start", number(machine.load_1min, 3))


def calls(evidence: Evidence) -> list[tuple[str, ...]]:
    """List what was done: the call, its tool, who chose it, why, and what came of it."""
    chosen = {one.call_id: (_by(one), one.why) for one in bodies(evidence.run.events, Decision)}
    return [
        (
            call.call_id,
            call.tool,
            *chosen.get(call.call_id, ("", "")),
            str(call.result["summary"]) if call.result else call.error,
        )
        for call in evidence.run.record.calls
    ]


def _by(decision: Decision) -> str:
    """Name the planner of one step; of a fallback, what was wrong with the model's answer."""
    passed_over = decision.said.passed_over if decision.said else ""
    return f"{decision.origin}, since {plain(passed_over, MOST_REASON)}" if passed_over else decision.origin


def _planner(evidence: Evidence) -> str:
    """Name the planner, and the model that it asked."""
    models = [start.model for start in bodies(evidence.run.events, RunStart) if start.model]
    if not models:
        return evidence.run.planner
    return f"{evidence.run.planner} ({models[0].name}, {models[0].library}; SHA-256 {models[0].sha256 or 'unknown'})"
