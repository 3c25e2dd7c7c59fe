"""The page of a diagnosis: the verdict in words first, then what it rests on."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from ...tools import document as doc
from ...tools.remedies import not_accepted
from ...tools.verdict import helpful, title
from ...tools.verdict_words import headline
from ..again import again
from . import factors, failing, how, ledger, mitigations, nodes, ranks
from .evidence import Evidence
from .further import steps
from .ledger import ledger_text
from .numbers import number, percent, quantity, statistics
from .remarks import findings, warnings
from .tables import absent


def document(evidence: Evidence) -> doc.Document:
    """Put everything in words; what there is nothing to say of is left out."""
    run = evidence.run
    label = f"What was diagnosed (outcome: {run.subject.outcome})"
    return doc.Document(
        title(evidence.verdict).capitalize(),
        "diagnosis",
        (
            doc.Headline("", sentence(evidence)),
            doc.Command(run.subject.typed, label),
            *map(doc.Note, warnings(evidence)),
            *mitigations.winner(evidence),
            doc.Section("What to do next", (doc.Listing(steps(evidence)),)),
            *mitigations.comparison(evidence),
            *mitigations.levels(evidence),
            *nodes.hosts(evidence),
            *_baseline(evidence),
            *ledger.section(evidence.ledger, _bars(evidence), run.subject),
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


def _bars(evidence: Evidence) -> str:
    ledger, split = evidence.ledger, evidence.split
    return ledger_text(split, ledger.shares) if ledger and split else ""


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
    facts = doc.Facts(statistics(measured.outcome, measured.sd_interval, evidence.run.subject.unit))
    yield doc.Section("The baseline", (doc.Figure("distribution", caption), facts))


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
    """Say how a reader can check the record."""
    run = evidence.run
    lines = "\n".join(f"vgo-agent verify {shlex.quote(run.run_dir)}{how}" for how in ("", " --recompute"))
    label = "Check that nothing was changed afterwards, and that the same record leads to the same answer"
    files = "The runs are in `runs.csv`, described in `runs.md`; the pictures are in `report.html`."
    return doc.Command(lines, label), f"Tip of the chain: `{run.tip}`. {files}"
