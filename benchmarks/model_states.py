"""Write agent/model/states.json: `python benchmarks/model_states.py`; moments of diagnoses by the rule policy.

The recorded cases are those of the training half, so that nothing of what is scored is in the package. At each moment
there was more than one call to choose from. The same cases give the same file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.evals.simulated import Keeping
from vgo_agent.agent.model.trial import FILE
from vgo_agent.agent.planners.base import calls, menu
from vgo_agent.evals.contest.loop import PlannerContestant
from vgo_agent.evals.recorded.recorded_case import read_case

CASES = Path(__file__).parents[1] / "evals" / "cases"
CHOSEN = ("contention", "malloc-churn", "gc-pauses", "io-limit", "placebo")
"""A cause that a mitigation cures, causes that need several, one that none cures, and none."""
WANTED = 20
SEED = 1


def main() -> None:
    """Diagnose each case, and write the moments."""
    told = [_last_state(name) for name in CHOSEN]
    each = -(-WANTED // len(told))
    for one in told:  # spread over each diagnosis, its end included
        places = one["asked"]
        one["asked"] = sorted({places[round(n * (len(places) - 1) / max(1, each - 1))] for n in range(each)})
        one["calls"] = one["calls"][: one["asked"][-1]]
    FILE.write_text(json.dumps(told, indent=None, separators=(",", ":"), sort_keys=True) + "\n")
    print(f"{FILE}: {sum(len(one['asked']) for one in told)} moments, {FILE.stat().st_size:,} bytes")


def _last_state(name: str) -> dict[str, Any]:
    case, watched = read_case(CASES / name), Keeping(SEED, share=0.0)
    assert case.file.split == "train", name
    PlannerContestant("rules", lambda _: watched).answer(case.shown, SEED)
    last = watched.seen[-1]
    return {
        "case": name,
        "limits": last.limits.model_dump(mode="json"),
        "asked": [view.decisions for view in watched.seen if calls(menu(view)) > 1],
        "calls": [_call(vars(call)) for call in last.record.calls],
    }


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    """Keep what a planner reads: not the tables."""
    return {name: call[name] for name in ("call_id", "tool", "arguments", "result", "error")}


if __name__ == "__main__":
    main()
