"""The answer for programs and for a terminal."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from vgo_agent.agent.finished import FinishedRun
from vgo_agent.agent.report.summary import summary, text

Finished = Callable[[str], FinishedRun]
KEYS = {
    "verdict",
    "reason",
    "factor",
    "column",
    "mitigation",
    "command",
    "mean_ratio",
    "spread_ratio",
    "sd_ratio",
    "cv_ratio",
    "p_value",
    "broke",
    "changes_promise",
    "not_accepted",
    "failing",
    "failing_under",
    "failures",
    "runs",
    "ran_out",
    "resume",
    "budget_s",
    "elapsed_s",
    "spent_s",
    "seconds",
    "agent_seconds",
    "run_dir",
    "baseline",
    "warnings",
    "tip",
}


def test_the_object_has_every_key_and_is_json(any_run: FinishedRun) -> None:
    answer = summary(any_run)
    assert set(answer) == KEYS
    assert json.loads(json.dumps(answer, allow_nan=False)) == answer


def test_a_mitigated_run_carries_its_proof(finished: Finished) -> None:
    answer = summary(finished("mitigated"))
    assert (answer["verdict"], answer["factor"], answer["mitigation"]) == ("mitigated", "cpu_migrations", "pin_to_cpu")
    assert answer["command"] == "taskset -c 0 ./bench.sh --size 12"
    for name in ("spread_ratio", "sd_ratio"):
        assert answer[name]["low"] < answer[name]["value"] < answer[name]["high"] < 0.66
    assert answer["runs"] == 960
    assert answer["p_value"] < 0.05


def test_what_does_not_apply_is_null(finished: Finished) -> None:
    answer = summary(finished("no visible factor"))
    nothing = (
        "factor",
        "column",
        "mitigation",
        "command",
        "mean_ratio",
        "spread_ratio",
        "sd_ratio",
        "p_value",
        "resume",
    )
    assert {answer[name] for name in nothing} == {None}
    assert [answer[name] for name in ("broke", "not_accepted", "failures", "ran_out")] == [{}, {}, [], []]
    assert answer["baseline"]["n"] == 120


def test_the_last_words_fit_a_screen_and_name_the_report(any_run: FinishedRun) -> None:
    lines = text(any_run).splitlines()
    assert len(lines) <= 25
    assert all(len(line) <= 96 for line in lines)
    assert lines[-1] == f"Report: {any_run.run_dir}/report.html"
    assert not re.search(r"\b(nan|None(?! of)|inf)\b", "\n".join(lines))


def test_the_command_line_stands_whole_on_its_own_line(finished: Finished) -> None:
    assert "  taskset -c 0 ./bench.sh --size 12" in text(finished("mitigated")).splitlines()
