"""From the evidence to what the report says: the verdict in words first, then what it rests on."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

from ...prompts.render import render
from ...tools.claim import Claim, TooFew, runs_needed
from ...tools.claim_words import Names, disagreement, sentence
from ...tools.comparison import Comparison, claimed
from ...tools.findings import Batch
from ...tools.next_steps import Openings, next_steps
from ...tools.remedies import broken, not_accepted
from ...tools.statistics.comparison.bootstrap import BootstrapRatio
from ...tools.subject import Subject
from ...tools.verdict import Verdict, helpful, title, undecided
from ...tools.verdict_words import headline
from ..again import again
from . import factors, failing, how, ranks
from .evidence import Evidence
from .factors import classes, factor_story, ranking, set_aside, tree_story
from .further import further
from .mitigations import decided, suspects, tried, untried, winner
from .nodes import hosts_story
from .numbers import ABSENT, number, p_value, percent, quantity, ratio, scale, statistic_name, statistics
from .remarks import findings, warnings
from .story import Suspect, Untried
from .tables import absent
from .trial import level_rows


def typed(subject: Subject) -> str:
    """The command as the user typed it; a shell line is not quoted once more."""
    return " ".join(subject.command) if subject.shell else shlex.join(subject.command)


def tell(evidence: Evidence) -> dict[str, Any]:
    """Put everything in words, as the templates of the report ask for it; an empty part is left out there."""
    run, measured, screened = evidence.run, evidence.measured, evidence.screened
    left, hidden = untried(evidence), suspects(evidence)
    sentence, next_steps = verdict_words(evidence, left, hidden)
    return {
        "command": typed(run.subject),
        "outcome": run.subject.outcome,
        "verdict": title(evidence.verdict),
        "sentence": sentence,
        "next_steps": next_steps,
        "warnings": warnings(evidence),
        "baseline": statistics(measured.outcome, measured.sd_interval, run.subject.unit) if measured else [],
        "winner": winner(evidence),
        "table": _table(evidence),
        "factor": factor_story(evidence),
        "ranking": ranking(evidence),
        "set_aside": set_aside(evidence),
        "set_aside_columns": len(evidence.ranking.set_aside) if evidence.ranking else 0,
        "ranks": ranks.story(evidence),
        "layers": [row for profile in evidence.profiles for row in factors.layer_rows(profile)],
        "bare_runs": factors.bare_runs(evidence),
        "search": factors.facts(evidence),
        "classes": classes(evidence),
        "tree": tree_story(evidence),
        "batches": tried(evidence),
        "untried": left,
        "suspects": hidden,
        "shape": findings(measured, run.subject.unit) if measured else (),
        "absent": absent(evidence.run),
        "how": list(how.how(evidence)),
        "machine": list(how.machine(evidence)),
        "calls": how.calls(evidence),
        "tip": run.tip,
        "screened": screened,
        "levels": level_rows(screened, run.subject.unit) if screened else [],
        "hosts": hosts_story(evidence),
        "verify": "\n".join(f"vgo-agent {what} {shlex.quote(run.run_dir)}" for what in ("verify", "replay")),
    }


def verdict_words(
    evidence: Evidence, left: tuple[Untried, ...], hidden: tuple[Suspect, ...]
) -> tuple[str, tuple[str, ...]]:
    """Give the sentences of the verdict, and the next steps."""
    words = further(evidence, typed(evidence.run.subject))
    steps = (step.removeprefix("- ").strip() for step in render("further_steps.txt.j2", **words).splitlines())
    sentence = " ".join((headline(evidence.verdict), *beside(evidence)))
    return sentence, (*filter(None, steps), *next_steps(evidence.verdict, _openings(evidence, left, hidden)))


def beside(evidence: Evidence) -> Iterator[str]:
    """What the headline must not leave out: baseline, promises changed, harm done, failures, what was not accepted."""
    record, measured = evidence.run.record, evidence.measured
    if measured and measured.outcome.sd is not None and not measured.unusable:
        unit, found = evidence.run.subject.unit, measured.outcome
        yield (
            f"The baseline has SD {quantity(found.sd, unit)} beside a mean of {quantity(found.mean, unit)} "
            f"({number(found.n)} runs, CV {percent(found.cv)})."
        )
    proof = helpful(evidence.verdict)
    if proof and proof.promise:
        yield f"It changes what the program promises: {proof.promise}."
    said = headline(evidence.verdict)
    if told := {key: broke for key, broke in broken(record).items() if broke not in said}:
        yield f"Refuted at once: {'; '.join(f'{key} {broke}' for key, broke in told.items())}."
    yield from failing.headline(evidence)
    for key, promise in not_accepted(record, evidence.run.knowledge).items():
        if promise not in said:
            line = again("try", (key, "--accept", key), evidence.run.subject)
            yield f"Not tried since it changes what the program promises ({promise}), and nobody said yes: `{line}`."


def randomised(batch: Batch) -> str:
    """Say how many pairs were compared, and what was drawn at random: the order in each, or that of blocks."""
    pairs = batch.compared.comparison.described.baseline_runs if batch.compared else 0
    if batch.applied.block == 1:
        return f"{number(pairs)} randomised pairs"
    return f"{number(pairs)} pairs in {number(pairs // batch.applied.block)} randomised blocks"


def _openings(evidence: Evidence, left: tuple[Untried, ...], hidden: tuple[Suspect, ...]) -> Openings:
    """What the record leaves to do."""
    allow, candidates, best = evidence.run.limits.allow, [one.candidate for one in left], evidence.telling
    ready = [one for one in candidates if one.automatic and not one.unmet]
    asks = allow != "system" and not evidence.run.record.no_system
    least = best.compared.comparison.shown("spread") if best and best.compared else ""
    return Openings(
        ready=tuple(one.mitigation for one in ready if one.scope == "process" or allow == "system"),
        system=tuple(one.mitigation for one in ready if one.scope != "process" and asks),
        process=allow == "none" and any(one.scope == "process" for one in ready),
        by_hand=tuple(one.mitigation for one in candidates if not one.automatic),
        suspects=bool(hidden),
        absent=len(absent(evidence.run)),
        pairs_needed=_pairs_needed(evidence.verdict),
        best=f"{best.applied.mitigation} left the least spread, {least} of the baseline's" if best and least else "",
    )


def _pairs_needed(verdict: Verdict) -> int:
    """Estimate how many pairs would decide the first trial that is undecided; 0 where that is unknown."""
    left = undecided(verdict)
    claim = left.undecided[0].claim if left and left.undecided else None
    needed = runs_needed(claim) if isinstance(claim, Claim) else None
    return needed if needed and isinstance(claim, Claim) and needed > min(claim.units) else 0


def _table(evidence: Evidence) -> dict[str, Any] | None:
    """Baseline and mitigated side by side: the numbers of the verdict, else those of the best that was tried."""
    batch = evidence.telling
    if batch is None or batch.compared is None:
        return None
    comparison = batch.compared.comparison
    return {
        "mitigation": batch.applied.mitigation,
        "confirmed": batch is evidence.confirming,
        "batch": batch.applied.batch,
        "pairs": randomised(batch),
        "rows": [_row(found, comparison, evidence.run.subject.unit) for found in comparison.described.ratios],
        "claim": _said(batch.applied.mitigation, decided(batch, evidence) or comparison.spread, comparison),
        "p_spread": _p(comparison.spread),
        "p_mean": _p(comparison.claims["mean"]),
        "modes": f"{comparison.described.baseline_modes} → {comparison.described.other_modes}",
    }


def _said(mitigation: str, spread: Claim | TooFew, comparison: Comparison) -> str:
    if isinstance(spread, TooFew):
        return f"Nothing can be told: {spread.why}."
    said = sentence(spread, Names("the baseline", mitigation, comparison.described.lower_is_better))
    return " ".join(filter(None, (said, disagreement(spread, comparison.claims["sd"]))))


def _p(claim: Claim | TooFew) -> str:
    return p_value(claim.p_value) if isinstance(claim, Claim) else ABSENT


def _row(found: BootstrapRatio, comparison: Comparison, unit: str) -> tuple[str, ...]:
    mean, known = comparison.described.ratio("mean").baseline, claimed(found, comparison) or found
    show = percent if found.statistic == "cv" else scale(unit, mean or 0.0).show
    return (
        statistic_name(found.statistic),
        show(found.baseline),
        show(found.other),
        ratio(found.value),
        "" if known.low is None or known.high is None else f"{number(known.low, 3)} to {number(known.high, 3)}",
    )
