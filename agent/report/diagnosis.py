"""The page of a diagnosis: the verdict in words first, then what it rests on."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ...tools import document as doc
from ...tools.document import Headline, Note, Table
from ...tools.remedies import not_accepted
from ...tools.verdict import helpful, left_for_time, title, to_json
from ...tools.verdict_words import headline
from ..again import again
from ..record import FinishedRun
from ..render.text import blocks_text
from . import factors, failing, how, ledger, mitigations, nodes, ranks
from .evidence import Evidence, gather
from .first_screen import first_screen
from .further import resume_command, steps
from .ledger import ledger_text
from .mitigations import arms, checks, level_table
from .numbers import number, percent, quantity, statistics
from .remarks import findings, warnings
from .tables import absent


def document(evidence: Evidence) -> doc.Document:
    """Put everything in words; what there is nothing to say of is left out."""
    run = evidence.run
    label = f"What was diagnosed (outcome: {run.subject.outcome})"
    bars = ledger_text(split, found.shares) if (found := evidence.ledger) and (split := evidence.split) else ""
    return doc.Document(
        title(evidence.verdict).capitalize(),
        "diagnosis",
        (
            *first_screen(evidence),
            doc.Section("What to do next", (doc.Listing(steps(evidence)),)),
            doc.Section("In numbers", (*_numbers(evidence), doc.Command(run.subject.typed, label))),
            *map(doc.Note, warnings(evidence)),
            *mitigations.winner(evidence),
            *mitigations.comparison(evidence),
            *mitigations.levels(evidence),
            *nodes.hosts(evidence),
            *_baseline(evidence),
            *ledger.section(evidence.ledger, bars, run.subject),
            *factors.factor(evidence),
            *mitigations.suspected(evidence),
            *factors.classes(evidence),
            *mitigations.tried(evidence),
            *mitigations.not_tried(evidence),
            _order(evidence),
            *ranks.section(evidence),
            *factors.layers(evidence),
            doc.Section("Not available on this machine", (doc.Facts(absent(run)),)),
            how.section(evidence, _checked(evidence)),
        ),
        run.subject.typed,
    )


def _numbers(evidence: Evidence) -> tuple[str, ...]:
    """The sentence with its ratios; nothing where the plain words are all that there is to say."""
    said = sentence(evidence)
    return (said,) if said != evidence.plain else ()


def sentence(evidence: Evidence) -> str:
    """Give the headline with what it must not leave out."""
    return " ".join((headline(evidence.verdict), *_beside(evidence)))


def _beside(evidence: Evidence) -> Iterator[str]:
    """Baseline, where the gain lies, promises changed, harm done, failures, what was not accepted."""
    record, measured = evidence.run.record, evidence.measured
    if measured and measured.outcome.sd is not None and not measured.unusable:
        unit, found = evidence.run.subject.unit, measured.outcome
        yield (
            f"The baseline has SD {quantity(found.sd, unit)} beside a mean of {quantity(found.mean, unit)} "
            f"({number(found.n)} runs, CV {percent(found.cv)})."
        )
    if (batch := evidence.confirming) and batch.compared and batch.compared.gained:
        yield batch.compared.by_state
    proof = helpful(evidence.verdict)
    if proof and proof.promise:
        yield f"It changes what the program promises: {proof.promise}."
    said = headline(evidence.verdict)
    if told := {key: broke for key, broke in evidence.broken.items() if broke not in said}:
        yield f"Refuted at once: {'; '.join(f'{key} {broke}' for key, broke in told.items())}."
    yield from failing.headline(evidence)
    for key, promise in not_accepted(record, evidence.run.knowledge).items():
        if promise not in said:
            line = again("try", (key, "--accept", key), evidence.run.subject)
            yield f"Not tried since it changes what the program promises ({promise}), and nobody said yes: `{line}`."


def _baseline(evidence: Evidence) -> Iterator[doc.Section]:
    measured, told = evidence.measured, factors.cut(evidence)
    if measured is None:
        return
    shown = f"The runs with counters: {told} The numbers below are of the runs without."
    caption = shown if told else "The baseline without its warm-up."
    figure = [doc.Figure("distribution", caption)] if evidence.confirming else []
    facts = doc.Facts(statistics(measured.outcome, measured.sd_interval, evidence.run.subject.unit))
    yield doc.Section("The baseline", (*figure, facts))


def _order(evidence: Evidence) -> doc.Section:
    measured, batch = evidence.measured, evidence.telling
    caption = "Outcomes in the order in which the runs were made"
    if batch and batch.compared:
        caption += f"; right, the pairs of batch {batch.applied.batch} of `{batch.applied.mitigation}`, each joined by "
        caption += "a line"
    told = findings(measured, evidence.run.subject.unit) if measured else ()
    picture = doc.Figure("order", f"{caption}.")
    return doc.Section("Order and shape of the runs", (picture, doc.Listing(told)))


def _checked(evidence: Evidence) -> tuple[doc.Command, str]:
    run = evidence.run
    lines = "\n".join(f"vgo-agent verify {shlex.quote(run.run_dir)}{how}" for how in ("", " --recompute"))
    label = "Check that nothing was changed afterwards, and that the same record leads to the same answer"
    files = "The runs are in `runs.csv`, described in `runs.md`; the pictures are in `report.html`."
    return doc.Command(lines, label), f"Tip of the chain: `{run.tip}`. {files}"


MOST_STEPS = 3
MOST_WARNINGS = 3


def summary(run: FinishedRun) -> dict[str, Any]:
    """Give the object that `--json` prints; None where something does not apply."""
    evidence = gather(run)
    return {
        "plain": evidence.plain,
        "headline": headline(evidence.verdict),
        "verdict": to_json(evidence.verdict),
        "broke": evidence.broken,
        "not_accepted": not_accepted(run.record, run.knowledge),
        "failures": [one.model_dump(mode="json") for one in evidence.measured.failures] if evidence.measured else [],
        "failing": found.failing.model_dump(mode="json") if (found := evidence.ranking) and found.failing else None,
        "failing_under": failing.under(evidence),
        "baseline": _baseline_values(evidence),
        "gain": _gain(evidence),
        "runs": evidence.recorded_runs,
        "resume": resume_command(evidence) if left_for_time(evidence.verdict) else None,
        "budget_s": run.limits.budget_s,
        "elapsed_s": run.record.spent_s,
        "spent_s": run.record.program_s,
        "seconds": run.seconds,
        "agent_seconds": run.agent_seconds,
        "run_dir": run.run_dir,
        "warnings": list(warnings(evidence)),
        "tip": run.tip,
        **_trial(evidence),
    }


def text(run: FinishedRun) -> str:
    """Give the words that end a diagnosis on a terminal."""
    evidence = gather(run)
    blocks = (
        Headline(title(evidence.verdict)),
        *first_screen(evidence, picture=False),
        *(Note(said, "In numbers") for said in _numbers(evidence)),
        *(_tables(evidence) if run.plan.mitigation else ()),
        *(Note(remark) for remark in warnings(evidence)[:MOST_WARNINGS]),
        *(Note(step, "Next") for step in steps(evidence)[:MOST_STEPS]),
        f"Report: {run.run_dir}/report.html",
    )
    return blocks_text(blocks)


def _baseline_values(evidence: Evidence) -> dict[str, Any] | None:
    if evidence.measured is None:
        return None
    outcome = evidence.measured.outcome
    numbers = {name: getattr(outcome, name) for name in ("n", "median", "mean", "sd", "cv", "p95", "p99")}
    return {**numbers, "unit": evidence.run.subject.unit}


def _gain(evidence: Evidence) -> dict[str, Any] | None:
    """Where the gain of what helped most lies, by state of the time; None where no ledger was kept beside its pairs."""
    compared = evidence.telling.compared if evidence.telling else None
    if compared is None or compared.gain is None:
        return None
    told = {"mitigation": compared.mitigation, "batch": compared.batch, "sentence": compared.by_state or None}
    return {**told, "as_meant": compared.gain.as_meant, **compared.gain.model_dump(mode="json")}


def _tables(evidence: Evidence) -> Iterator[Table]:
    """Tabulate what `try` answers beside the verdict: levels, arms of the last batch, checks."""
    unit = evidence.run.subject.unit
    if screened := evidence.screened:
        yield replace(level_table(screened, unit), caption=f"Levels of `{screened.parameter}`")
    if evidence.comparisons:
        yield arms(evidence.comparisons[-1].comparison, unit)
    if evidence.batches:
        yield checks(evidence.batches[-1])


def _trial(evidence: Evidence) -> dict[str, Any]:
    """What `--json` has beside the verdict; empty where the user chose no mitigation."""
    plan, screened = evidence.run.plan, evidence.screened
    if not plan.mitigation:
        return {}
    last = evidence.batches[-1] if evidence.batches else None
    comparison = evidence.comparisons[-1].comparison if evidence.comparisons else None
    return {
        "mitigation": plan.mitigation,
        "values": evidence.values_of(plan),
        "by_hand": plan.by_hand,
        "after": plan.after or None,
        "in_force": last.applied.in_force if last else None,
        "checks": [check.model_dump(mode="json") for check in last.applied.checks] if last else [],
        "moved": [moved.model_dump(mode="json") for moved in last.compared.moved] if last and last.compared else [],
        "comparison": comparison.model_dump(mode="json", exclude={"described": {"shifts"}}) if comparison else None,
        "screening": screened.model_dump(mode="json", exclude={"summary"}) if screened else None,
    }
