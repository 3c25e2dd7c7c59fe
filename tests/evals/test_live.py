"""Live mode: what a workload's diagnosis said, against what the registry says is right."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vgo_agent.evals.live import live_markdown
from vgo_agent.evals.scores.live_scores import LiveResults, LiveRow, judged, live_words, skipped
from vgo_agent.evals.workloads.registry import find

Vgo = Callable[..., Any]


def said(verdict: str = "mitigated", **more: Any) -> dict[str, Any]:
    """What `demo --json` answers."""
    ratio = {"value": 0.2, "low": 0.1, "high": 0.3}
    found = {
        "verdict": verdict,
        "reason": "Because.",
        "factor": "page_faults",
        "mitigation": "glibc_hugetlb",
        "sd_ratio": ratio,
        "cv_ratio": ratio,
        "mean_ratio": 0.9,
        "warnings": [],
        "runs": 300,
        "seconds": 12.3,
        "run_dir": "vgo-runs/1",
    }
    return found | more


def results(*rows: LiveRow) -> LiveResults:
    return LiveResults(made="now", version="0", commit="", knowledge="", machine="made", rows=rows)


FAULTS = find("page-faults")


def test_a_right_diagnosis() -> None:
    row = judged(FAULTS, False, said())
    assert (row.right, row.cause, row.cure, row.harm, row.untold_cost) == (True, True, True, False, False)
    assert (row.sd_ratio, row.why) == (0.2, "")


def test_a_wrong_one_says_why() -> None:
    row = judged(FAULTS, False, said("no visible factor", factor=None, mitigation=None, sd_ratio=None))
    assert (row.right, row.cause, row.cure, row.sd_ratio) == (False, False, None, None)
    assert "page-faults: Because." in live_words(results(row))


def test_a_mitigation_that_is_known_not_to_help_is_harm() -> None:
    assert judged(FAULTS, False, said(mitigation="pin_to_cpu")).harm is True


def test_a_worse_mean_has_to_be_told() -> None:
    assert judged(FAULTS, False, said(mean_ratio=1.2)).untold_cost
    told = ["It is steadier at a price: the mean is 1.2 times the baseline's."]
    assert not judged(FAULTS, False, said(mean_ratio=1.2, warnings=told)).untold_cost


def test_a_twin_is_right_to_find_nothing_or_what_else_interferes() -> None:
    nothing = said("nothing to reduce", factor=None, mitigation=None, sd_ratio=None)
    assert judged(FAULTS, True, nothing).right
    assert judged(FAULTS, True, said("cause found, no mitigation helped", factor="other_processes")).right
    assert not judged(FAULTS, True, said()).right


def test_the_geometric_mean_counts_what_was_left_as_it_was() -> None:
    left = judged(FAULTS, False, said("cause found, no mitigation helped"))
    failed = judged(FAULTS, False, {"error": "no answer"})
    rows = (judged(FAULTS, False, said(sd_ratio={"value": 0.25, "low": 0.1, "high": 0.4})), left, failed)
    done = results(*rows, skipped(FAULTS, False, "no disk"), judged(FAULTS, True, said()))
    assert done.sd_ratios == [0.25, 1.0, 1.0]
    assert done.summary()["sd_ratio_geometric_mean"] == pytest.approx(0.25 ** (1 / 3))


def test_everything_is_written_down() -> None:
    done = results(
        judged(FAULTS, False, said()), judged(FAULTS, False, {"error": "it died"}), skipped(FAULTS, True, "no disk")
    )
    for text in (live_words(done), live_markdown(done)):
        for word in ("page-faults", "glibc", "0.2", "it died", "no disk", "geometric mean over 2"):
            assert word in text
    assert LiveResults.model_validate_json(done.model_dump_json()) == done


def test_a_workload_is_run_through_the_front_door(vgo: Vgo, tmp_path: Path) -> None:
    shown = vgo("eval", "--live", "steady", "--budget", "3", "--quiet", "--json", "--save", "live.json")
    assert shown.returncode == 0, shown.stderr
    told = json.loads(shown.stdout)
    [row] = told["rows"]
    assert row["name"] == "steady"
    assert row["verdict"] or row["why"]
    assert told["summary"]["run"] == 1
    assert LiveResults.model_validate_json((tmp_path / "live.json").read_bytes()).rows[0].name == "steady"


def test_a_workload_that_may_not_change_the_system_is_left_out(vgo: Vgo) -> None:
    shown = vgo("eval", "--live", "cpu-quota", "--quiet")
    assert shown.returncode == 0
    assert "cpu-quota: not run: " in shown.stdout
