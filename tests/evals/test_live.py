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
from vgo_agent.agent.render.text import markdown_page, terminal_text
from vgo_agent.evals.contest.answer import ContestAnswer
from vgo_agent.evals.recorded.draft import truth_of_workload
from vgo_agent.evals.scores.live_scores import (
    LiveResults,
    LiveRow,
    judged,
    live_document,
    live_lines,
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
    rows = tuple(row.model_copy(update={"case": f"{row.case} {place}"}) for place, row in enumerate(rows))
    return LiveResults(made="now", command=LINE, version="0", commit="", knowledge="", machine="made", rows=rows)


LINE = "vgo-agent eval --live --allow system"
FAULTS, STEADY = find("page-faults"), find("steady")


def values(row: LiveRow, *names: str) -> list[float | None]:
    return [row.value(name) for name in names]


def summed_up(done: LiveResults) -> str:
    return "\n".join(live_lines(done))


def table(*rows: LiveRow) -> list[list[str]]:
    page = markdown_page(live_document(results(*rows)))
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| ")][2:]


def test_a_right_diagnosis() -> None:
    row = judged(FAULTS, False, said())
    assert values(row, "verdict", "cause@1", "mitigation", "harm", "untold_cost", "sd_ratio") == [1, 1, 1, 0, 0, 0.2]
    assert row.why == ""


def test_a_wrong_one_says_why() -> None:
    row = judged(FAULTS, False, said(verdict=NOT_VISIBLE))
    assert values(row, "verdict", "cause@1", "mitigation", "sd_ratio") == [0, 0, 0, 1]
    assert row.sd is None
    assert "page-faults 0: Because." in terminal_text(live_document(results(row)))


def test_a_mitigation_that_is_known_not_to_help_is_harm() -> None:
    assert judged(FAULTS, False, said(mitigation="pin_to_cpu")).value("harm") == 1


def test_a_worse_mean_has_to_be_told() -> None:
    assert judged(FAULTS, False, said(mean=1.2)).value("untold_cost")
    told = ["It has a price: the mean is 1.2 times the baseline's."]
    assert not judged(FAULTS, False, said(mean=1.2, warnings=told)).value("untold_cost")


def test_a_factor_that_moves_with_the_cause_is_true_and_was_not_put_in() -> None:
    hops = find("cpu-hops")
    named = [judged(hops, False, said(factor=factor)) for factor in (*hops.cause, "page_faults")]
    assert [values(row, "cause@1", "injected@1") for row in named] == [[1, 1], [1, 0], [0, 0]]
    assert "a true cause, or one that moves with it: 67 % [21, 94] of 3" in summed_up(results(*named))
    assert "is the injected cause itself: 33 % [6, 79] of 3" in summed_up(results(*named))


@pytest.mark.parametrize("name", ["tenant", "layout"])
def test_nobody_is_asked_for_a_cause_that_need_not_be_named(name: str) -> None:
    row = judged(find(name), False, said(verdict=NOT_VISIBLE))
    assert values(row, "verdict", "cause@1", "injected@1") == [1, None, None]


@pytest.mark.parametrize("workload", [workload for workload in workloads() if workload.control], ids=lambda w: w.name)
def test_a_mitigation_that_a_control_claims_is_a_false_alarm(workload: Workload) -> None:
    row = judged(workload, False, said(factor="page_faults"))
    assert values(row, "verdict", "false_alarm", "sd_ratio") == [0, 1, None]
    quiet = (NOT_VISIBLE, STILL, UNUSABLE)
    right = next(one for one in quiet if matches(title(one), workload.verdicts))
    kept = judged(workload, False, said(verdict=right))
    assert values(kept, "verdict", "false_alarm") == [1, 0]
    assert "where there is nothing to find: 50 % [9, 91] of 2" in summed_up(results(row, kept))


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
        assert {name: row.scores[name] for name in scores} == scores


def shielded(
    workload: Workload, steady: bool, high: float = 0.7, factor: str = "run_queue_wait", mitigation: str = "sched_fifo"
) -> LiveRow:
    return judged(workload, steady, said(factor, mitigation, spread=claim("spread", 0.5, low=0.4, high=high)))


@pytest.mark.parametrize(("workload", "steady"), [(STEADY, False), (FAULTS, True)])
def test_where_nothing_was_put_in_the_machine_may_be_named(workload: Workload, steady: bool) -> None:
    named = judged(workload, steady, said(verdict=unproved("other_processes")))
    for row in (named, shielded(workload, steady)):
        assert (values(row, "verdict", "alone", "false_alarm"), row.machine) == ([1, 1, 0], True)
        assert row.value("harm") == (0 if truth_of_workload(workload.name, steady).must_not_help else None)
        assert table(row)[0][2] == "machine"
    assert "the verdict is one that is right: 100 % [21, 100] of 1" in summed_up(results(named))
    assert "what the machine does: 1" in summed_up(results(named))
    for row in (
        shielded(workload, steady, high=1.1),
        shielded(workload, steady, factor="page_faults"),
        shielded(workload, steady, mitigation="pin_to_cpu"),
        judged(workload, steady, said(verdict=unproved("run_order", Undecided()))),
        judged(workload, steady, said(verdict=unproved("page_faults"))),
    ):
        assert (values(row, "verdict", "false_alarm"), row.machine) == ([0, 1], False)


def test_what_was_put_in_is_not_what_the_machine_does() -> None:
    assert shielded(find("noise"), False).value("false_alarm") == 1
    assert shielded(find("cpu-hops"), False).machine is False


@pytest.mark.parametrize("verdict", [STILL, NOT_VISIBLE], ids=title)
def test_a_twin_is_right_to_find_nothing(verdict: Verdict) -> None:
    row = judged(FAULTS, True, said(verdict=verdict))
    assert (values(row, "verdict", "false_alarm"), row.machine) == ([1, 0], False)


@pytest.mark.parametrize("name", ["layout", "hash-seed"])
def test_a_cure_makes_a_workload_mitigable_even_if_no_counter_shows_its_cause(name: str) -> None:
    workload = find(name)
    found = judged(workload, False, said(factor=workload.cause[0], mitigation=workload.cures[0]))
    left = judged(workload, False, said(verdict=NOT_VISIBLE))
    assert [values(row, "verdict", "sd_ratio") for row in (found, left)] == [[1, 0.2], [1, 1]]


def test_the_geometric_mean_counts_what_was_left_as_it_was() -> None:
    left = judged(FAULTS, False, said(verdict=unproved("page_faults")))
    failed = judged(FAULTS, False, {"error": "no answer"})
    rows = (judged(FAULTS, False, said(sd=claim("sd", 0.25))), left, failed)
    done = results(*rows, skipped(FAULTS, False, "no disk"), judged(FAULTS, True, said()))
    assert [row.value("sd_ratio") for row in done.rows] == [0.25, 1.0, 1.0, None, None]
    assert done.summary.scores["sd_ratio"].value == pytest.approx(0.25 ** (1 / 3))


def test_everything_is_written_down() -> None:
    done = results(
        judged(FAULTS, False, said()), judged(FAULTS, False, {"error": "it died"}), skipped(FAULTS, True, "no disk")
    )
    for text in (terminal_text(live_document(done)), markdown_page(live_document(done))):
        for word in ("page-faults", "glibc", "0.2", "it died", "no disk", "geometric mean over 2"):
            assert word in text
    assert f"Made by `{LINE}` on now" in markdown_page(live_document(done))
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
    assert (row["case"], row["scores"]["verdict"]["value"]) == (
        "page-faults",
        "remedy confirmed" in row["answer"]["verdict"],
    )
    assert row["answer"]["verdict"] in TITLES
    run = Path(row["run_dir"])
    request = json.loads((run / "request.json").read_text())
    assert request["limits"]["layers"] == ["memory"]
    assert row["layers"] in ([], ["memory"])
    assert row["answer"]["runs"] > 0 and (run / "report.md").exists()
    assert told["summary"]["scores"]["sd_ratio"]["n"] == told["summary"]["scores"]["verdict"]["n"] == 1
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
    assert (shown.returncode, late["why"]) == (0, "stopped: no answer within 0.5 s")
    assert late["scores"]["verdict"]["value"] == 0
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
    assert [row["case"] for row in told["rows"]] == ["cpu-quota"]
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
