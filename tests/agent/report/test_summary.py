"""The answer for programs and for a terminal."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from vgo_agent.agent.record import FinishedRun
from vgo_agent.agent.report.diagnosis import summary, text

Finished = Callable[[str], FinishedRun]
KEYS = {
    "plain",
    "headline",
    "verdict",
    "broke",
    "not_accepted",
    "failing",
    "failing_under",
    "failures",
    "gain",
    "runs",
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
    answer = summary(finished("confirmed"))
    cause, remedy = answer["verdict"]["cause"], answer["verdict"]["remedy"]
    assert (cause["kind"], [part["factor"] for part in cause["parts"]]) == ("explained", ["cpu_migrations"])
    assert (remedy["kind"], remedy["mitigation"]) == ("confirmed", "pin_to_cpu")
    assert remedy["command"] == "taskset -c 0 ./bench.sh --size 12"
    for name in ("claim", "sd"):
        assert remedy[name]["low"] < remedy[name]["ratio"] < remedy[name]["high"] < 0.66
    assert answer["runs"] == 960
    assert remedy["claim"]["p_value"] < 0.05


def test_what_does_not_apply_is_null(finished: Finished) -> None:
    answer = summary(finished("not visible"))
    assert (answer["verdict"]["cause"]["kind"], answer["verdict"]["remedy"]["kind"]) == ("not visible", "not tried")
    assert answer["resume"] is None
    assert [answer[name] for name in ("broke", "not_accepted", "failures")] == [{}, {}, []]
    assert answer["baseline"]["n"] == 120


def test_the_last_words_fit_a_screen_and_name_the_report(any_run: FinishedRun) -> None:
    lines = text(any_run).splitlines()
    assert len(lines) <= 25
    assert all(len(line) <= 96 for line in lines)
    assert lines[-1] == f"Report: {any_run.run_dir}/report.html"
    assert not re.search(r"\b(nan|None(?! of)|inf)\b", "\n".join(lines))


def test_the_command_line_stands_whole_on_its_own_line(finished: Finished) -> None:
    assert "  taskset -c 0 ./bench.sh --size 12" in text(finished("confirmed")).splitlines()
