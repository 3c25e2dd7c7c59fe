"""Live mode: what a workload's diagnosis said, against what the registry says is right."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from vgo_agent.agent.cli import main
from vgo_agent.evals.contest.answer import ContestAnswer
from vgo_agent.evals.recorded.draft import truth_of_workload
from vgo_agent.evals.scores.live_scores import (
    LiveResults,
    LiveRow,
    judged,
    live_markdown,
    live_table,
    live_words,
    skipped,
)
from vgo_agent.evals.scores.score import claims
from vgo_agent.evals.workloads.registry import find, missing, workloads
from vgo_agent.evals.workloads.workload import Workload
from vgo_agent.tools.claim import Claim
from vgo_agent.tools.statistics.ratio_test import Measure
from vgo_agent.tools.verdict import (
    TITLES,
    Confirmed,
    Diagnosis,
    Explained,
    Found,
    NotTried,
    NotVisible,
    Refuted,
    Remedy,
    Steady,
    Undecided,
    Unusable,
    Verdict,
    factors_found,
    matches,
    title,
    to_json,
)

Vgo = Callable[..., Any]
COMMAND = Path(sys.executable).with_name("vgo-agent")


NUMBERS: dict[str, Any] = {"low": 0.1, "high": 0.3, "level": 0.95, "p_value": 0.001, "units": (60, 60), "margin": 0.66}


def claim(measure: Measure, ratio: float, **more: Any) -> Claim:
    return Claim(measure=measure, ratio=ratio, design="randomised", **NUMBERS | more)


SPREAD, SD, IN_VAIN = claim("spread", 0.2), claim("sd", 0.2), Refuted(trials=())


def said(
    factor: str = "page_faults",
    mitigation: str = "glibc_hugetlb",
    *,
    verdict: Verdict | None = None,
    spread: Claim = SPREAD,
    sd: Claim = SD,
    mean: float = 0.9,
    warnings: Sequence[str] = (),
) -> dict[str, Any]:
    """What `demo --json` answers: a verdict, else that a mitigation is confirmed."""
    made = dict(claim=spread, sd=sd, mean=claim("mean", mean), comparison="c009", command="./bench.sh")
    confirmed = Diagnosis(cause=cause(factor), remedy=Confirmed(mitigation=mitigation, **made), evidence=())
    return {
        "verdict": to_json(verdict or confirmed),
        "headline": "Because.",
        "warnings": list(warnings),
        "runs": 300,
        "seconds": 12.3,
        "run_dir": "vgo-runs/1",
    }


def cause(factor: str) -> Explained:
    return Explained(parts=(Found(factor=factor, name=factor, column=factor),))


def unproved(factor: str, remedy: Remedy = IN_VAIN) -> Diagnosis:
    return Diagnosis(cause=cause(factor), remedy=remedy, evidence=())


NOT_VISIBLE = Diagnosis(cause=NotVisible(groups=9, p_value=0.4, runs=60), remedy=NotTried(why="made"), evidence=())
STILL = Steady(cv=0.001, limit=0.01, evidence=())
UNUSABLE = Unusable(why="made", cure="mend it", evidence=())


def results(*rows: LiveRow) -> LiveResults:
    return LiveResults(made="now", command=LINE, version="0", commit="", knowledge="", machine="made", rows=rows)


LINE = "vgo-agent eval --live --allow system"
FAULTS, STEADY = find("page-faults"), find("steady")


def test_a_right_diagnosis() -> None:
    row = judged(FAULTS, False, said())
    assert (row.right, row.cause, row.cure, row.harm, row.untold_cost) == (True, True, True, False, False)
    assert (row.sd_ratio, row.why) == (0.2, "")


def test_a_wrong_one_says_why() -> None:
    row = judged(FAULTS, False, said(verdict=NOT_VISIBLE))
    assert (row.right, row.cause, row.cure, row.sd_ratio) == (False, False, None, None)
    assert "page-faults: Because." in live_words(results(row))


def test_a_mitigation_that_is_known_not_to_help_is_harm() -> None:
    assert judged(FAULTS, False, said(mitigation="pin_to_cpu")).harm is True


def test_a_worse_mean_has_to_be_told() -> None:
    assert judged(FAULTS, False, said(mean=1.2)).untold_cost
    told = ["It has a price: the mean is 1.2 times the baseline's."]
    assert not judged(FAULTS, False, said(mean=1.2, warnings=told)).untold_cost


def test_a_factor_that_moves_with_the_cause_is_true_and_was_not_put_in() -> None:
    hops = find("cpu-hops")
    named = [judged(hops, False, said(factor=factor)) for factor in (*hops.cause, "page_faults")]
    assert [(row.cause, row.injected) for row in named] == [(True, True), (True, False), (False, False)]
    assert "factor true where there is one to name: 2 of 3 " in live_words(results(*named))
    assert "factor one that was put in: 1 of 3 " in live_words(results(*named))


@pytest.mark.parametrize("name", ["tenant", "layout"])
def test_nobody_is_asked_for_a_cause_that_need_not_be_named(name: str) -> None:
    row = judged(find(name), False, said(verdict=NOT_VISIBLE))
    assert (row.right, row.cause, row.injected) == (True, None, None)


@pytest.mark.parametrize("workload", [workload for workload in workloads() if workload.control], ids=lambda w: w.name)
def test_a_mitigation_that_a_control_claims_is_a_false_alarm(workload: Workload) -> None:
    row = judged(workload, False, said(factor="page_faults"))
    assert (row.right, row.false_alarm, row.mitigable) == (False, True, False)
    quiet = (NOT_VISIBLE, STILL, UNUSABLE)
    right = next(one for one in quiet if matches(title(one), workload.verdicts))
    kept = judged(workload, False, said(verdict=right))
    assert (kept.right, kept.false_alarm) == (True, False)
    assert "false alarms on controls: 1 of 2 " in live_words(results(row, kept))


@pytest.mark.parametrize("steady", [False, True])
@pytest.mark.parametrize("workload", workloads(), ids=lambda w: w.name)
def test_live_and_recorded_answers_are_judged_alike(workload: Workload, steady: bool) -> None:
    truth = truth_of_workload(workload.name, steady)
    named = [unproved(factor) for factor in ("disk_queue", *workload.cause[:1])]
    verdicts: list[Verdict] = [NOT_VISIBLE, STILL, UNUSABLE, *named, unproved("disk_queue", Undecided())]
    for verdict in verdicts:
        row = judged(workload, steady, said(verdict=verdict))
        causes = tuple(part.factor for part in factors_found(verdict))
        scores = claims(ContestAnswer(verdict=title(verdict), causes=causes), truth)
        if row.machine:
            continue
        assert row.right == bool(scores["verdict"].value)
        assert row.false_alarm == (None if scores["false_alarm"].value is None else scores["false_alarm"].value > 0)


def shielded(
    workload: Workload, steady: bool, high: float = 0.7, factor: str = "run_queue_wait", mitigation: str = "sched_fifo"
) -> LiveRow:
    return judged(workload, steady, said(factor, mitigation, spread=claim("spread", 0.5, low=0.4, high=high)))


@pytest.mark.parametrize(("workload", "steady"), [(STEADY, False), (FAULTS, True)])
def test_where_nothing_was_put_in_the_machine_may_be_named(workload: Workload, steady: bool) -> None:
    named = judged(workload, steady, said(verdict=unproved("other_processes")))
    for row in (named, shielded(workload, steady)):
        assert (row.right, row.machine, row.false_alarm) == (True, True, False)
        assert live_table(results(row)).rows[0][2] == "machine"
    assert "verdict right: 1 of 1 " in live_words(results(named))
    assert "1 of them what the machine does" in live_words(results(named))
    for row in (
        shielded(workload, steady, high=1.1),
        shielded(workload, steady, factor="page_faults"),
        shielded(workload, steady, mitigation="pin_to_cpu"),
        judged(workload, steady, said(verdict=unproved("run_order", Undecided()))),
        judged(workload, steady, said(verdict=unproved("page_faults"))),
    ):
        assert (row.right, row.machine, row.false_alarm) == (False, False, True)


def test_what_was_put_in_is_not_what_the_machine_does() -> None:
    assert shielded(find("noise"), False).false_alarm is True
    assert shielded(find("cpu-hops"), False).machine is False


@pytest.mark.parametrize("verdict", [STILL, NOT_VISIBLE], ids=title)
def test_a_twin_is_right_to_find_nothing(verdict: Verdict) -> None:
    row = judged(FAULTS, True, said(verdict=verdict))
    assert (row.right, row.machine, row.false_alarm) == (True, False, False)


@pytest.mark.parametrize("name", ["layout", "hash-seed"])
def test_a_cure_makes_a_workload_mitigable_even_if_no_counter_shows_its_cause(name: str) -> None:
    workload = find(name)
    found = judged(workload, False, said(factor=workload.cause[0], mitigation=workload.cures[0]))
    left = judged(workload, False, said(verdict=NOT_VISIBLE))
    assert (found.right, found.cure, left.right) == (True, True, True)
    assert results(found, left).sd_ratios == [0.2, 1.0]


def test_the_geometric_mean_counts_what_was_left_as_it_was() -> None:
    left = judged(FAULTS, False, said(verdict=unproved("page_faults")))
    failed = judged(FAULTS, False, {"error": "no answer"})
    rows = (judged(FAULTS, False, said(sd=claim("sd", 0.25))), left, failed)
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
    assert f"Made by `{LINE}` on now" in live_markdown(done)
    assert LiveResults.model_validate_json(done.model_dump_json()) == done


@pytest.mark.slow
def test_a_workload_is_run_through_the_front_door(vgo: Vgo, tmp_path: Path) -> None:
    if reason := missing(FAULTS):
        pytest.skip(reason)
    written = ("--save", "live.json", "--markdown", "live.md")
    shown = vgo("eval", "--live", "page-faults", "--budget", "300", "--layer", "memory", "--quiet", "--json", *written)
    assert shown.returncode == 0, shown.stderr
    told = json.loads(shown.stdout)
    [row] = told["rows"]
    assert (row["name"], row["right"]) == ("page-faults", "remedy confirmed" in row["verdict"])
    assert row["verdict"] in TITLES
    run = Path(row["run_dir"])
    request = json.loads((run / "request.json").read_text())
    assert request["limits"]["layers"] == ["memory"]
    assert row["layers"] in ([], ["memory"])
    assert row["runs"] > 0 and (run / "report.md").exists()
    assert told["summary"]["run"] == told["summary"]["mitigable"] == 1
    assert LiveResults.model_validate_json((tmp_path / "live.json").read_bytes()).rows[0].run_dir == row["run_dir"]
    page = (tmp_path / "live.md").read_text()
    assert (
        "Made by `vgo-agent eval --live page-faults --budget 300 --layer memory --quiet --json --save live.json" in page
    )
    machine = re.search(r"^The machine: (.*)$", page, re.M)
    assert machine and re.search(r"\d+ CPUs, \d+ GB; .*Linux .*root, load .* when it began, ", machine[1])


def test_a_workload_that_may_not_change_the_system_is_left_out(vgo: Vgo) -> None:
    shown = vgo("eval", "--live", "cpu-quota", "--quiet")
    assert shown.returncode == 0
    assert "cpu-quota: not run: " in shown.stdout


def test_a_workload_that_takes_too_long_is_a_row_and_the_rest_goes_on(vgo: Vgo) -> None:
    shown = vgo("eval", "--live", "noise", "cpu-quota", "--limit", "0.5", "--json")
    late, other = json.loads(shown.stdout)["rows"]
    assert (shown.returncode, late["why"], late["right"]) == (0, "stopped: no answer within 0.5 s", False)
    assert other["skipped"]


def test_ctrl_c_keeps_what_was_answered(tmp_path: Path) -> None:
    words = ("eval", "--live", "cpu-quota", "noise", "drift", "--json", "--save", "live.json", "--markdown", "live.md")
    with subprocess.Popen(
        [COMMAND, *words],
        cwd=tmp_path,
        env=os.environ | {"XDG_CONFIG_HOME": str(tmp_path / "config")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C reaches the whole group, and not this test
    ) as child:
        assert child.stderr
        assert next(line for line in child.stderr if line.startswith("1/3"))
        os.killpg(child.pid, signal.SIGINT)
        output, _ = child.communicate(timeout=60)
    told = json.loads(output)
    assert child.returncode == 130
    assert [row["name"] for row in told["rows"]] == ["cpu-quota"]
    assert told["stopped"].startswith("Stopped by Ctrl-C after 1 of 3 workloads")
    assert LiveResults.model_validate_json((tmp_path / "live.json").read_bytes()).stopped == told["stopped"]
    assert told["stopped"] in (tmp_path / "live.md").read_text()


@pytest.mark.parametrize(
    "words",
    [
        *(("--planner", "rules"), ("--cases", "*"), ("--split", "train"), ("--seeds", "3"), ("--folder", "cases")),
        *(("--jobs", "2"), ("--twice",), ("--html", "x.html"), ("--against", "x.json"), ("--gate",)),
    ],
)
def test_an_option_of_recorded_cases_is_refused(words: tuple[str, ...], capsys: Any) -> None:
    assert main(["eval", "--live", "steady", *words]) == 1
    told = capsys.readouterr()
    assert told.err.startswith(f"vgo-agent: {words[0]} is an option of recorded cases, not of --live: leave it out")
    assert (told.out, told.err.count("\n")) == ("", 1)


@pytest.mark.parametrize("words", [("--steady",), ("--budget", "3")])
def test_an_option_of_live_is_refused_without_it(words: tuple[str, ...], capsys: Any) -> None:
    assert main(["eval", *words]) == 1
    assert capsys.readouterr().err.startswith(f"vgo-agent: {words[0]} is an option of --live, not of recorded cases:")


@pytest.mark.parametrize(
    ("words", "said"), [(("--budget", "0"), "--budget 0 leaves no time"), (("--layer", "nope"), "no layer nope")]
)
def test_what_no_diagnosis_takes_is_refused_before_the_first(words: tuple[str, ...], said: str, capsys: Any) -> None:
    assert main(["eval", "--live", "steady", *words]) == 1
    assert said in capsys.readouterr().err


def test_an_unknown_workload_is_refused(capsys: Any) -> None:
    assert main(["eval", "--live", "steady", "cpu-hope"]) == 1
    told = capsys.readouterr()
    assert told.err.startswith("vgo-agent: There is no workload 'cpu-hope'; choose one of ")
    assert (told.out, told.err.count("\n")) == ("", 1)
