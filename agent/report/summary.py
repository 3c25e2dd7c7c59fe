"""The answer in one object for programs, and in a few lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ...tools.document import Command, Headline, Note, Table
from ...tools.remedies import not_accepted
from ...tools.verdict import confirmed, left_for_time, title, to_json
from ...tools.verdict_words import headline
from ..record import FinishedRun
from ..render.terminal import blocks_text
from . import failing
from .diagnosis import sentence
from .evidence import Evidence, gather
from .further import resume_command, steps
from .mitigations import arms, checks, level_table
from .remarks import warnings

MOST_STEPS = 3
MOST_WARNINGS = 3


def summary(run: FinishedRun) -> dict[str, Any]:
    """Give the object that `--json` prints; None where something does not apply."""
    evidence = gather(run)
    return {
        "headline": headline(evidence.verdict),
        "verdict": to_json(evidence.verdict),
        "broke": evidence.broken,
        "not_accepted": not_accepted(run.record, run.knowledge),
        "failures": [one.model_dump(mode="json") for one in evidence.measured.failures] if evidence.measured else [],
        "failing": found.failing.model_dump(mode="json") if (found := evidence.ranking) and found.failing else None,
        "failing_under": failing.under(evidence),
        "baseline": _baseline(evidence),
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
    proof = confirmed(evidence.verdict)
    blocks = (
        Headline(title(evidence.verdict), sentence(evidence)),
        Command(proof.command if proof else ""),
        *(_tables(evidence) if run.plan.mitigation else ()),
        *(Note(remark) for remark in warnings(evidence)[:MOST_WARNINGS]),
        *(Note(step, "Next") for step in steps(evidence)[:MOST_STEPS]),
        f"Report: {run.run_dir}/report.html",
    )
    return blocks_text(blocks)


def _baseline(evidence: Evidence) -> dict[str, Any] | None:
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
