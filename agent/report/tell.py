"""From the evidence to the story: the verdict in words first, then what it rests on."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

from ...knowledge.schema import KnownFactor
from ...prompts.render import render
from ...tools.claim import Claim, Names, TooFew, disagreement, interval, sentence
from ...tools.comparison import Comparison, claimed
from ...tools.findings import Batch
from ...tools.statistics.comparison.bootstrap import BootstrapRatio
from ...tools.subject import Subject
from ..again import again
from . import failing, how, layers, run_ranks
from .evidence import Evidence
from .factors import classes, factor_name, factor_story, ranking, set_aside, tree_story
from .further import further
from .hosts import hosts_story
from .mitigations import decided, name_of, suspects, tried, untried, winner
from .numbers import ABSENT, number, p_value, percent, quantity, ratio, scale
from .remarks import findings, warnings
from .spread import statistics
from .story import Fact, Row, Story, Suspect, Table, Untried
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
        how=tuple(how.how(evidence)),
        machine=tuple(how.machine(evidence)),
        calls=how.calls(evidence),
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
    sentence = " ".join((sentence.strip(), *beside(evidence)))
    return sentence, tuple(step.removeprefix("- ").strip() for step in steps if step.strip())


def beside(evidence: Evidence) -> Iterator[str]:
    """What the headline must not leave out: promises changed, harm done, failures, what nobody accepted."""
    found = evidence.conclusion
    if found.changes_promise:
        yield f"It changes what the program promises: {found.changes_promise}."
    told = {key: broke for key, broke in found.broke.items() if f"{broke}." not in found.reason}
    if told:
        yield f"Refuted at once: {'; '.join(f'{key} {broke}' for key, broke in told.items())}."
    yield from failing.headline(evidence)
    for key, promise in found.not_accepted.items():
        if promise in found.reason:
            continue
        line = again("try", (key, "--accept", key), evidence.run.subject)
        yield f"Not tried since it changes what the program promises ({promise}), and nobody said yes: `{line}`."


def _known(evidence: Evidence) -> KnownFactor | None:
    return evidence.run.knowledge.factors.get(evidence.conclusion.factor or "")


def _verdict_facts(evidence: Evidence) -> dict[str, Any]:
    conclusion, measured, factor = evidence.conclusion, evidence.measured, evidence.factor
    unit = evidence.run.subject.unit
    outcome = measured.outcome if measured else None
    key = conclusion.mitigation or ""
    batch, slight = evidence.confirming, evidence.slight
    return {
        "reason": conclusion.reason,
        "broke": bool(conclusion.broke),
        "what_was_tried": conclusion.reason.partition("; ")[2] or conclusion.reason,
        "mitigation": key,
        "mitigation_name": _with_values(name_of(key, evidence), conclusion.values) if key else "",
        "spread": _ratio(conclusion.spread),
        "level": percent(conclusion.spread.level) if conclusion.spread else "",
        "p": p_value(conclusion.spread.p_value) if conclusion.spread else "",
        "sd": _ratio(conclusion.sd),
        "doubt": disagreement(conclusion.spread, conclusion.sd) if conclusion.spread and conclusion.sd else "",
        "mean": _ratio(conclusion.mean),
        "cv": _ratio(conclusion.cv),
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
    pairs = batch.compared.comparison.described.baseline_runs if batch.compared else 0
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
    blocked = allow != "system" and not evidence.run.record.no_system
    return {
        "blocked_system": [u.key for u in ready if u.scope != "process" and blocked],
        "blocked_none": [u.key for u in ready if u.scope == "process" and allow == "none"],
        "manual": [u.key for u in left if not candidates[u.key].automatic],
        "suspects": bool(hidden),
        "absent": len(absent(evidence.run)),
        "pairs_needed": evidence.measured.pairs_needed if evidence.measured else 0,
        "best": best.applied.mitigation if best else "",
        "left": best.compared.comparison.shown("spread") if best and best.compared else "",
        "refused": _only_refused(evidence),
        "early": evidence.conclusion.early,
        "ran_out": bool(evidence.conclusion.ran_out),
        "ready": [u.key for u in ready if u.scope == "process" or allow == "system"],
    }


def _only_refused(evidence: Evidence) -> bool:
    """Whatever was to be tried was refused, so that more runs would change nothing."""
    trials = [call for call in evidence.run.record.calls if call.tool in ("apply_mitigation", "screen_levels")]
    return bool(trials) and all(call.result is None for call in trials)


def _ratio(found: Claim | None) -> str:
    return interval(found) if found else "undefined"


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
        rows=tuple(_row(found, comparison, evidence.run.subject.unit) for found in comparison.described.ratios),
        claim=_said(batch.applied.mitigation, decided(batch, evidence) or comparison.spread, comparison),
        p_spread=_p(comparison.spread),
        p_mean=_p(comparison.claims["mean"]),
        modes=f"{comparison.described.baseline_modes} → {comparison.described.other_modes}",
    )


def _said(mitigation: str, spread: Claim | TooFew, comparison: Comparison) -> str:
    if isinstance(spread, TooFew):
        return f"Nothing can be told: {spread.why}."
    said = sentence(spread, Names("the baseline", mitigation, comparison.described.lower_is_better))
    return " ".join(filter(None, (said, disagreement(spread, comparison.claims["sd"]))))


def _p(claim: Claim | TooFew) -> str:
    return p_value(claim.p_value) if isinstance(claim, Claim) else ABSENT


def _row(found: BootstrapRatio, comparison: Comparison, unit: str) -> Row:
    mean, known = comparison.described.ratio("mean").baseline, claimed(found, comparison) or found
    show = percent if found.statistic == "cv" else scale(unit, mean or 0.0).show
    return Row(
        NAMES.get(found.statistic, found.statistic),
        show(found.baseline),
        show(found.other),
        ratio(found.value),
        "" if known.low is None or known.high is None else f"{number(known.low, 3)} to {number(known.high, 3)}",
    )
