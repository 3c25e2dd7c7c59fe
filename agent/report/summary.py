"""The answer in one object for programs, and in a few lines for a terminal."""

from __future__ import annotations

from typing import Any

from ...prompts.render import render
from ...tools.remedies import broken, not_accepted
from ...tools.verdict import confirmed, left_for_time, title, to_json
from ...tools.verdict_words import headline
from ..record import FinishedRun
from ..terminal import folded
from . import failing
from .evidence import Evidence, gather
from .further import resume_command
from .mitigations import suspects, untried
from .remarks import warnings
from .tell import verdict_words
from .trial import details, values

MOST_STEPS = 3
MOST_WARNINGS = 3


def summary(run: FinishedRun) -> dict[str, Any]:
    """Give the object that `--json` prints; None where something does not apply."""
    evidence = gather(run)
    return {
        "headline": headline(evidence.verdict),
        "verdict": to_json(evidence.verdict),
        "broke": broken(run.record),
        "not_accepted": not_accepted(run.record, run.knowledge),
        "failures": [one.model_dump(mode="json") for one in evidence.measured.failures] if evidence.measured else [],
        "failing": found.failing.model_dump(mode="json") if (found := evidence.ranking) and found.failing else None,
        "failing_under": failing.under(evidence),
        "baseline": _baseline(evidence),
        "runs": evidence.recorded_runs,
        "resume": resume_command(run) if left_for_time(evidence.verdict) else None,
        "budget_s": run.limits.budget_s,
        "elapsed_s": run.record.spent_s,
        "spent_s": run.record.program_s,
        "seconds": run.seconds,
        "agent_seconds": run.agent_seconds,
        "run_dir": run.run_dir,
        "warnings": list(warnings(evidence)),
        "tip": run.tip,
        **values(evidence),
    }


def text(run: FinishedRun) -> str:
    """Give the words that end a diagnosis on a terminal."""
    evidence = gather(run)
    sentence, steps = verdict_words(evidence, untried(evidence), suspects(evidence))
    words = render(
        "summary.txt.j2",
        title=title(evidence.verdict),
        sentence=sentence,
        command=proof.command if (proof := confirmed(evidence.verdict)) else "",
        details=details(evidence),
        steps=steps[:MOST_STEPS],
        warnings=warnings(evidence)[:MOST_WARNINGS],
        run_dir=run.run_dir,
    )
    return folded(words)


def _baseline(evidence: Evidence) -> dict[str, Any] | None:
    if evidence.measured is None:
        return None
    outcome = evidence.measured.outcome
    numbers = {name: getattr(outcome, name) for name in ("n", "median", "mean", "sd", "cv", "p95", "p99")}
    return {**numbers, "unit": evidence.run.subject.unit}
