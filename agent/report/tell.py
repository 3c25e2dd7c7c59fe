"""From the evidence to the story: the verdict in words first, then what it rests on."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

from ...knowledge.schema import Factor
from ...prompts.render import render
from ...tools.statistics.comparison.bootstrap import Ratio
from ...tools.subject import LOCAL, Subject
from ..planners.state import plain
from ..record import bodies
from ..transcript import Decision, RunStart
from . import layers, run_ranks
from .evidence import Batch, Evidence
from .factors import classes, factor_name, factor_story, ranking, set_aside, tree_story
from .further import further
from .hosts import hosts_story
from .mitigations import name_of, suspects, tried, untried, winner
from .numbers import number, p_value, percent, quantity, ratio, scale
from .remarks import findings, warnings
from .spread import statistics
from .story import CallRow, Fact, Row, Story, Suspect, Table, Untried
from .tables import absent
from .trial import level_rows

NAMES = {
    "mean": "mean",
    "median": "median",
    "sd": "SD",
    "cv": "CV",
    "mad": "MAD",
    "iqr": "IQR",
}
"""Statistics whose name for people is not their own."""
MOST_REASON = 120
"""Characters of why a model was passed over."""


def typed(subject: Subject) -> str:
    """The command as the user typed it; a shell line is not quoted once more."""
    return " ".join(subject.command) if subject.shell else shlex.join(subject.command)


def tell(evidence: Evidence) -> Story:
    """Put everything in words."""
    run, measured = evidence.run, evidence.measured
    left, hidden = untried(evidence), suspects(evidence)
    sentence, next_steps = verdict_words(evidence, left, hidden)
    return Story(
        command=typed(run.subject),
        outcome=run.subject.outcome,
        verdict=evidence.conclusion.verdict,
        sentence=sentence,
        next_steps=next_steps,
        warnings=warnings(evidence),
        baseline=tuple(_baseline(evidence)),
        winner=winner(evidence),
        table=_table(evidence),
        factor=factor_story(evidence),
        ranking=ranking(evidence),
        set_aside=set_aside(evidence),
        set_aside_columns=len(evidence.ranking.set_aside) if evidence.ranking else 0,
        ranks=run_ranks.story(evidence),
        layers=layers.rows(evidence),
        bare_runs=layers.bare_runs(evidence),
        search=layers.facts(evidence),
        classes=classes(evidence),
        tree=tree_story(evidence),
        batches=tried(evidence),
        untried=left,
        suspects=hidden,
        shape=findings(measured, run.subject.unit) if measured else (),
        absent=absent(evidence.run),
        how=tuple(_how(evidence)),
        machine=tuple(_machine(evidence)),
        calls=_calls(evidence),
        tip=run.tip,
        levels=level_rows(evidence),
        hosts=hosts_story(evidence),
        parameter=evidence.screened.parameter if evidence.screened else "",
        minimise=evidence.screened.minimise if evidence.screened else "",
        verify="\n".join(f"vgo-agent {what} {shlex.quote(run.run_dir)}" for what in ("verify", "replay")),
    )


def verdict_words(
    evidence: Evidence, left: tuple[Untried, ...], hidden: tuple[Suspect, ...]
) -> tuple[str, tuple[str, ...]]:
    """Fill the template of the verdict: its first line is the sentence, the others are next steps."""
    name = evidence.conclusion.verdict.replace(",", "").replace(" ", "_")
    words = {**_verdict_facts(evidence), **_next_facts(evidence, left, hidden)}
    sentence, *steps = render(f"verdict/{name}.txt.j2", **words).strip().splitlines()
    steps = (
        render("further_steps.txt.j2", **further(evidence, typed(evidence.run.subject))).strip().splitlines() + steps
    )
    return sentence.strip(), tuple(step.removeprefix("- ").strip() for step in steps if step.strip())


def _known(evidence: Evidence) -> Factor | None:
    return evidence.run.knowledge.factors.get(evidence.conclusion.factor or "")


def _verdict_facts(evidence: Evidence) -> dict[str, Any]:
    conclusion, measured, factor = evidence.conclusion, evidence.measured, evidence.factor
    unit = evidence.run.subject.unit
    outcome = measured.outcome if measured else None
    key = conclusion.mitigation or ""
    batch, slight = evidence.confirming, evidence.slight
    return {
        "reason": conclusion.reason,
        "what_was_tried": conclusion.reason.partition("; ")[2] or conclusion.reason,
        "mitigation": key,
        "mitigation_name": _with_values(name_of(key, evidence), conclusion.values) if key else "",
        "sd": _ratio(conclusion.sd_ratio),
        "bulk": _ratio(conclusion.bulk_ratio) if conclusion.bulk_ratio else "",
        "mean": _ratio(conclusion.mean_ratio),
        "cv": _ratio(conclusion.cv_ratio),
        "level": "95 %",
        "p": p_value(conclusion.p_value),
        "pairs": randomised(batch) if batch else "",
        "column": factor.column if factor else "",
        "factor_name": factor_name(evidence),
        "uncounted": known.name.lower() if factor is None and (known := _known(evidence)) else "",
        "auc": number(factor.auc, 3) if factor else "",
        "p_factor": p_value(factor.p_value) if factor else "",
        "members": [name for name in factor.members if name != factor.column] if factor else [],
        "clusters": number(sum(ranking.clusters for ranking in evidence.rankings)),
        "slight": slight.column if slight else "",
        "less_in_slow": bool(slight and slight.visible and slight.contrary),
        "slight_auc": number(slight.auc, 2) if slight else "",
        "p_search": p_value(min((ranking.p_value for ranking in evidence.rankings), default=None)),
        "profile_runs": number(sum(profile.runs for profile in evidence.profiles)),
        "runs": number(outcome.n) if outcome else "0",
        "baseline_mean": quantity(outcome.mean, unit) if outcome else "",
        "baseline_sd": quantity(outcome.sd, unit) if outcome and outcome.sd is not None else "",
        "baseline_cv": percent(outcome.cv) if outcome else "",
        "steady_cv": percent(evidence.run.limits.steady_cv),
    }


def randomised(batch: Batch) -> str:
    """Say how many pairs were compared, and what was drawn at random: the order in each, or that of blocks."""
    pairs = batch.compared.comparison.baseline_runs if batch.compared else 0
    if batch.applied.block == 1:
        return f"{number(pairs)} randomised pairs"
    return f"{number(pairs)} pairs in {number(pairs // batch.applied.block)} randomised blocks"


def _with_values(name: str, values: dict[str, str]) -> str:
    return ", ".join((name, *(f"{parameter} {value}" for parameter, value in values.items())))


def _next_facts(evidence: Evidence, left: tuple[Untried, ...], hidden: tuple[Suspect, ...]) -> dict[str, Any]:
    allow = evidence.run.limits.allow
    candidates = evidence.candidates
    ready = [u for u in left if candidates[u.key].automatic and not candidates[u.key].unmet]
    best = evidence.telling
    return {
        "blocked_system": [u.key for u in ready if u.scope != "process" and allow != "system"],
        "blocked_none": [u.key for u in ready if u.scope == "process" and allow == "none"],
        "manual": [u.key for u in left if not candidates[u.key].automatic],
        "suspects": bool(hidden),
        "absent": len(absent(evidence.run)),
        "pairs_needed": evidence.measured.pairs_needed if evidence.measured else 0,
        "best": best.applied.mitigation if best else "",
        "refused": _only_refused(evidence),
        "early": evidence.conclusion.early,
        "ready": [u.key for u in ready if u.scope == "process" or allow == "system"],
    }


def _only_refused(evidence: Evidence) -> bool:
    """Whatever was to be tried was refused, so that more runs would change nothing."""
    trials = [call for call in evidence.run.record.calls if call.tool in ("apply_mitigation", "screen_levels")]
    return bool(trials) and all(call.result is None for call in trials)


def _ratio(found: Ratio | None) -> str:
    return ratio(found.value, found.low, found.high) if found else "undefined"


def _baseline(evidence: Evidence) -> Iterator[Fact]:
    if evidence.measured is None:
        return
    yield from statistics(evidence.measured.outcome, evidence.measured.sd_interval, evidence.run.subject.unit)


def _table(evidence: Evidence) -> Table | None:
    batch = evidence.telling
    if batch is None or batch.compared is None:
        return None
    comparison, confirmed = batch.compared.comparison, batch is evidence.confirming
    return Table(
        mitigation=batch.applied.mitigation,
        confirmed=confirmed,
        batch=batch.applied.batch,
        pairs=randomised(batch),
        rows=tuple(_row(found, batch, evidence.run.subject.unit) for found in comparison.ratios),
        p_spread=p_value(comparison.p_value),
        p_adjusted=p_value(evidence.conclusion.p_value) if confirmed else "",
        p_location=p_value(comparison.p_location),
        modes=f"{comparison.baseline_modes} → {comparison.other_modes}",
        verdict=comparison.verdict,
    )


def _row(found: Ratio, batch: Batch, unit: str) -> Row:
    mean = batch.compared.comparison.ratio("mean").baseline if batch.compared else None
    show = percent if found.statistic == "cv" else scale(unit, mean or 0.0).show
    interval = "" if found.low is None or found.high is None else f"{number(found.low, 3)} to {number(found.high, 3)}"
    return Row(
        NAMES.get(found.statistic, found.statistic),
        show(found.baseline),
        show(found.other),
        ratio(found.value),
        interval,
    )


def _how(evidence: Evidence) -> Iterator[Fact]:
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
    target = f"SD ratio below {number(limits.target_ratio)}, and all of its interval, or of that for p5 to p95"
    yield Fact("Target", f"{target}; alpha {number(limits.alpha)}")
    spent = f"{number(run.record.spent_s, 3)} s of at most {number(limits.budget_s)} s"
    yield Fact("Time of the program", f"{spent}; at most {number(limits.max_runs)} runs a condition")
    share = percent(run.agent_seconds / run.seconds, 2) if run.seconds > 0 else "0 %"
    agent = f"{number(run.agent_seconds, 3)} s ({share}) were not the program"
    yield Fact("Time in all", f"{number(run.seconds, 3)} s, of which {agent}")
    yield Fact("Planner", f"{_planner(evidence)}, seed {limits.seed}, --allow {limits.allow}")


def _machine(evidence: Evidence) -> Iterator[Fact]:
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


def _calls(evidence: Evidence) -> tuple[CallRow, ...]:
    decisions = bodies(evidence.run.events, Decision)
    by = {decision.call_id: _by(decision) for decision in decisions}
    why = {decision.call_id: decision.why for decision in decisions}
    return tuple(
        CallRow(
            call=call.call_id,
            tool=call.tool,
            by=by.get(call.call_id, ""),
            why=why.get(call.call_id, ""),
            result=str(call.result["summary"]) if call.result is not None else call.error,
        )
        for call in evidence.run.record.calls
    )


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
