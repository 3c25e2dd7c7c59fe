"""The answer in one object for programs, and in a few lines for a terminal."""

from __future__ import annotations

from typing import Any

from ...prompts.render import render
from ...tools.claim import Claim
from ..finished import FinishedRun
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
    conclusion = evidence.conclusion
    return {
        "verdict": conclusion.verdict,
        "reason": conclusion.reason,
        "factor": conclusion.factor,
        "column": conclusion.column,
        "mitigation": conclusion.mitigation,
        "command": conclusion.command,
        "mean_ratio": conclusion.mean.ratio if conclusion.mean else None,
        "spread_ratio": _interval(conclusion.spread),
        "sd_ratio": _interval(conclusion.sd),
        "cv_ratio": _interval(conclusion.cv),
        "p_value": conclusion.spread.p_value if conclusion.spread else None,
        "broke": conclusion.broke,
        "changes_promise": conclusion.changes_promise,
        "not_accepted": conclusion.not_accepted,
        "failures": [one.model_dump(mode="json") for one in evidence.measured.failures] if evidence.measured else [],
        "failing": found.failing.model_dump(mode="json") if (found := evidence.ranking) and found.failing else None,
        "failing_under": failing.under(evidence),
        "baseline": _baseline(evidence),
        "runs": evidence.recorded_runs,
        "ran_out": list(conclusion.ran_out),
        "resume": resume_command(run) if conclusion.ran_out else None,
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
        verdict=evidence.conclusion.verdict,
        sentence=sentence,
        command=evidence.conclusion.command or "",
        details=details(evidence),
        steps=steps[:MOST_STEPS],
        warnings=warnings(evidence)[:MOST_WARNINGS],
        run_dir=run.run_dir,
    )
    return folded(words)


def _interval(claim: Claim | None) -> dict[str, float | None] | None:
    return {"value": claim.ratio, "low": claim.low, "high": claim.high, "level": claim.level} if claim else None


def _baseline(evidence: Evidence) -> dict[str, Any] | None:
    if evidence.measured is None:
        return None
    outcome = evidence.measured.outcome
    numbers = {name: getattr(outcome, name) for name in ("n", "median", "mean", "sd", "cv", "p95", "p99")}
    return {**numbers, "unit": evidence.run.subject.unit}
