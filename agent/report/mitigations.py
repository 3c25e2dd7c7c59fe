"""Mitigations in the report: what helped, what was tried and what not, and what to try where no counter speaks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from ...knowledge.schema import KnownFactor, Mitigation
from ...tools.case import changes_system
from ...tools.claim import Claim, Names, TooFew, disagreement, in_a_word, interval
from ...tools.claim import sentence as claim_sentence
from ...tools.comparison import Comparison, claimed
from ...tools.document import Block, Command, Figure, Listing, Note, Section, Table
from ...tools.experiment.race import MEASURE_OF
from ...tools.findings import Batch
from ...tools.mitigation.by_hand import command_line
from ...tools.mitigation.preconditions import unmet
from ...tools.mitigation.verification import Check
from ...tools.results import Candidate
from ...tools.statistics.comparison.bootstrap import BootstrapRatio
from ...tools.trial_results import ENOUGH, LevelResult, ScreenResult
from ...tools.verdict import Diagnosis, NotVisible, confirmed, undecided
from . import ledger
from .evidence import Evidence
from .numbers import ABSENT, number, other_level, p_value, percent, quantity, ratio, scale, statistic_name

MOST_SUSPECTS = 6
MOST_TRIES = 4
COMPARED = ("statistic", "baseline", "mitigated", "ratio", "95 % interval")
OVERLAY = "Left the histogram, right the share of runs up to each outcome; the steeper, the less they vary."
CHECKED = ("level", "check", "expected", "seen", "passed")


def winner(evidence: Evidence) -> Iterator[Section]:
    """Tell of the mitigation that the verdict confirms; its command line stands above."""
    proof = confirmed(evidence.verdict)
    if proof is None:
        return
    known = _known(proof.mitigation, evidence)
    if known is None:
        return
    keep = tuple(step.removeprefix("To keep it: ") for step in known.steps)
    yield Section(
        f"What helps: {known.name} (`{proof.mitigation}`)",
        (known.description, Section("To keep it", (Listing(keep),)), Section("When it hurts", (known.hurts,))),
    )


def name_of(key: str, evidence: Evidence) -> str:
    """Name of a mitigation for people."""
    known = _known(key, evidence)
    return known.name if known else key


def _known(key: str, evidence: Evidence) -> Candidate | Mitigation | None:
    return evidence.candidates.get(key) or evidence.run.knowledge.mitigations.get(key)


def comparison(evidence: Evidence) -> Iterator[Section]:
    """Put baseline and mitigated side by side: the batch of the verdict, else the best that was tried."""
    batch = evidence.telling
    if batch is None or batch.compared is None:
        return
    found, key = batch.compared.comparison, batch.applied.mitigation
    modes = f"{found.described.baseline_modes} → {found.described.other_modes}"
    alone = f"spread {_p(found.spread)}, mean {_p(found.claims['mean'])}"
    claim = batch.claim or found.spread
    yield Section(
        "Baseline and mitigated",
        (
            *([] if evidence.confirming else [Figure("overlay", OVERLAY)]),
            f"`{key}`, batch {batch.applied.batch}, {_randomised(batch)}. {_claim_words(key, claim, found)}",
            Note("" if batch is evidence.confirming else _unproved(claim)),
            arms(found, evidence.run.subject.unit),
            f"By exchange of pairs, each alone: {alone}. Modes: {modes}.",
            *ledger.gained(batch.compared),
        ),
    )


def _unproved(claim: Claim | TooFew) -> str:
    if isinstance(claim, TooFew):
        return ""
    if claim.fell:
        return "These are the numbers of what left the least spread; no second batch confirmed them."
    if claim.ratio is not None and claim.ratio < 1:
        return "Nothing tried left less spread by an amount that matters; these are the numbers of what came nearest."
    return "Nothing that was tried left less spread than the baseline; these are the numbers of what came nearest."


def arms(found: Comparison, unit: str) -> Table:
    """Tabulate every statistic of both arms, with the ratio and its interval."""
    return Table(COMPARED, [_statistic(one, found, unit) for one in found.described.ratios])


def _statistic(one: BootstrapRatio, found: Comparison, unit: str) -> tuple[str, ...]:
    mean, known = found.described.ratio("mean").baseline, claimed(one, found) or one
    show = percent if one.statistic == "cv" else scale(unit, mean or 0.0).show
    ends = "" if known.low is None or known.high is None else f"{number(known.low, 3)} to {number(known.high, 3)}"
    ends += other_level(known) if ends and isinstance(known, Claim) else ""
    return statistic_name(one.statistic), show(one.baseline), show(one.other), ratio(one.value), ends


def _randomised(batch: Batch) -> str:
    """Say how many pairs were compared, and what was drawn at random: the order in each, or that of blocks."""
    pairs = batch.compared.comparison.described.baseline_runs if batch.compared else 0
    if batch.applied.block == 1:
        return f"{number(pairs)} randomised pairs"
    return f"{number(pairs)} pairs in {number(pairs // batch.applied.block)} randomised blocks"


def _claim_words(mitigation: str, spread: Claim | TooFew, found: Comparison) -> str:
    if isinstance(spread, TooFew):
        return f"Nothing can be told: {spread.why}."
    said = claim_sentence(spread, Names("the baseline", mitigation, found.described.lower_is_better))
    return " ".join(filter(None, (said, disagreement(spread, found.claims["sd"]))))


def _p(claim: Claim | TooFew) -> str:
    return p_value(claim.p_value) if isinstance(claim, Claim) else ABSENT


def levels(evidence: Evidence) -> Iterator[Section]:
    """Tell of the levels of a parameter that was searched."""
    screened = evidence.screened
    if screened is None:
        return
    small = f"what is to be small is the {screened.minimise}"
    yield Section(
        f"Levels of `{screened.parameter}`",
        (
            Figure("levels", "Every run of each level, and the mean; levels that were dropped have fewer runs."),
            (
                f"In random rounds beside the baseline; {small}. The level was chosen by these runs, so they claim "
                "nothing."
            ),
            level_table(screened, evidence.run.subject.unit),
        ),
    )


def level_table(screened: ScreenResult, unit: str) -> Table:
    """Tabulate every level of the screening, the baseline first, with what it claims and why it was dropped."""
    head = ("level", "runs", "SD", "CV", "mean", "p95", f"{MEASURE_OF[screened.minimise]} ratio (95 %)", "")
    rows = [_level(one, one.level == screened.best, unit) for one in (screened.baseline, *screened.levels)]
    return Table(head, rows)


def _level(level: LevelResult, best: bool, unit: str) -> tuple[str, ...]:
    found = level.summary
    return (
        level.level,
        number(found.n) if found else "0",
        quantity(found.sd, unit) if found and found.sd is not None else "",
        percent(found.cv) if found and found.cv is not None else "",
        quantity(found.mean, unit) if found else "",
        quantity(found.p95, unit) if found else "",
        f"{interval(level.claim)}{other_level(level.claim)}" if isinstance(level.claim, Claim) else "",
        "best" if best else level.dropped,
    )


def tried(evidence: Evidence) -> Iterator[Section]:
    """Tell of every batch, in order."""
    if evidence.batches:
        proved = "Each had to be proved in force before it was measured, and was put back afterwards."
        level = percent(1 - evidence.run.limits.alpha)
        ratios = f"Ratios are mitigated over baseline, with {level} intervals, wider where looks have a share of alpha."
        batches = (_batch(batch, evidence) for batch in evidence.batches)
        yield Section("Mitigations tried", (f"{proved} {ratios}", *batches))


def _batch(batch: Batch, evidence: Evidence) -> Section:
    applied = batch.applied
    return Section(
        f"{name_of(applied.mitigation, evidence)}, batch {applied.batch}: {_outcome(batch, evidence)}",
        (
            _ratios(batch),
            batch.compared.by_state if batch.compared else "",
            *map(Note, applied.told),
            Section(
                "Command, and what was checked", (Command(applied.command), checks(batch)), folded=applied.in_force
            ),
        ),
    )


def _ratios(batch: Batch) -> str:
    claim = batch.claim
    if batch.compared is None or claim is None:
        return ""
    found, applied = batch.compared.comparison, batch.applied
    alone = f" ({percent(claim.level)}; {p_value(claim.p_value)})" if isinstance(claim, Claim) else ""
    failed = f", {applied.failed} runs failed" if applied.failed else ""
    return (
        f"Spread ratio {interval(claim)}{alone}, SD ratio {found.shown('sd')}, mean ratio {found.shown('mean')}, "
        f"{applied.pairs} pairs{failed}. {disagreement(claim, found.claims['sd'])}".rstrip()
    )


def checks(batch: Batch) -> Table:
    """Tabulate what was checked of a mitigation: knob, process, and whether its factor moved."""
    rows = ((one.proof, one.what, one.expected, one.seen, "yes" if one.passed else "no") for one in _checks(batch))
    return Table(CHECKED, tuple(rows))


def _checks(batch: Batch) -> Iterator[Check]:
    yield from batch.applied.checks
    for moved in batch.compared.moved if batch.compared else ():
        seen = f"{quantity(moved.baseline, moved.unit)} → {quantity(moved.mitigated, moved.unit)} (means)"
        yield Check(level=3, what=moved.column, expected=ENOUGH, seen=f"{seen}: {moved.words}", passed=moved.fell)


def _outcome(batch: Batch, evidence: Evidence) -> str:
    if not batch.applied.in_force:
        return "not proved in force, so nothing was measured"
    if batch.applied.broke:
        return batch.applied.broke
    if batch.compared is None:
        return "not compared"
    proved = ", confirmed" if batch is evidence.confirming else ""
    claim, fails = batch.claim or batch.compared.comparison.spread, batch.compared.failing
    return f"{in_a_word(claim)}{proved}{f'; {fails.words}' if fails else ''}"


class Untried(NamedTuple):
    """A mitigation that was not applied, and why."""

    candidate: Candidate
    reason: str


def untried(evidence: Evidence) -> tuple[Untried, ...]:
    """Every mitigation of the factors looked up that no batch ran, with the reason."""
    refused = {refusal.mitigation: refusal.error for refusal in evidence.refusals}
    return tuple(
        Untried(candidate, refused.get(key) or _reason(candidate, evidence))
        for key, candidate in evidence.candidates.items()
        if key not in evidence.applied
    )


def not_tried(evidence: Evidence) -> Iterator[Section]:
    """Tell of them, with what a person can do."""
    if left := untried(evidence):
        yield Section("Not tried", tuple(map(_not_tried, left)))


def _not_tried(left: Untried) -> Section:
    one = left.candidate
    return Section(
        f"{one.name} (`{one.mitigation}`, scope {one.scope}): {left.reason}",
        (
            one.description,
            (one.when and f"When it helps: {one.when}"),
            (one.hurts and f"When it hurts: {one.hurts}"),
            Listing(tuple(f"writes `{line}`" for line in one.writes)),
            Listing(one.steps),
            Command(one.command),
        ),
        folded=True,
    )


def _reason(candidate: Candidate, evidence: Evidence) -> str:
    if candidate.unmet:
        return "; ".join(candidate.unmet)
    if candidate.automatic and candidate not in evidence.offered:
        return "no counter points at its factor, of which only the first is tried"
    if not candidate.automatic:
        return "the tool cannot do it; a person can"
    if evidence.run.record.no_system and changes_system(candidate.scope):
        return "you wanted no system change in this diagnosis"
    if evidence.run.limits.allow == "none":
        return "--allow none forbids it"
    if evidence.reached(evidence.run.limits.target_ratio):
        return "another mitigation reached the target before its turn"
    if (left := undecided(evidence.verdict)) and left.ended_by == "planner":
        return "the planner ended before its turn"
    return "the budget or --max-mitigations ended before its turn"


def suspects(evidence: Evidence) -> tuple[tuple[KnownFactor, Sequence[Mitigation]], ...]:
    """Factors that none of the counters read here could show, with mitigations that can be tried by hand."""
    unseen = isinstance(evidence.verdict, Diagnosis) and isinstance(evidence.verdict.cause, NotVisible)
    if not unseen or not evidence.profiles:
        return ()
    factors = evidence.run.knowledge.factors.values()
    hidden = [factor for factor in factors if not any(map(factor.place, evidence.columns))]
    hidden.sort(key=lambda factor: (not factor.hidden, -factor.actionable))
    seen = set(evidence.applied)
    found = ((factor, _ready(factor, evidence, seen)) for factor in hidden)
    return tuple(islice((one for one in found if one[1]), MOST_SUSPECTS))


def _ready(factor: KnownFactor, evidence: Evidence, seen: set[str]) -> Sequence[Mitigation]:
    """Those that no suspect before has named; `seen` grows by them."""
    run = evidence.run
    known = (run.knowledge.mitigations[key] for key in factor.mitigations)
    fresh = [m for m in known if m.apply and m.key not in seen]
    ready = [m for m in fresh if not unmet(m.applies, run.machine, run.subject, evidence.busy_cpus)][:MOST_TRIES]
    seen |= {m.key for m in ready}
    return ready


def suspected(evidence: Evidence) -> Iterator[Section]:
    """Tell of factors that no counter could show, with command lines to try."""
    if found := suspects(evidence):
        how = "Each command changes one thing; run it under `vgo-agent diagnose` and compare the CV."
        sections = (Section(factor.name, tuple(_tries(factor, ready, evidence))) for factor, ready in found)
        yield Section(
            "Suspects without a counter", (f"No counter of this run could have shown these. {how}", *sections)
        )


def _tries(factor: KnownFactor, ready: Sequence[Mitigation], evidence: Evidence) -> Iterator[Block]:
    yield factor.description
    for one in ready:
        yield one.when
        yield Command(command_line(one, evidence.run.subject, evidence.run.machine), one.name)
