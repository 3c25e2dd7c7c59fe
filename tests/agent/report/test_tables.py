"""runs.csv and runs.md, and the page of two machines."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable

from vgo_agent.agent.record import FinishedRun
from vgo_agent.agent.render.html import html_page
from vgo_agent.agent.report.machine import document
from vgo_agent.agent.report.tables import runs_csv, runs_md
from vgo_agent.tools.findings import Findings
from vgo_agent.tools.machine_profile.compare import compare
from vgo_agent.tools.record import Record
from vgo_agent.tools.results import ProfileResult
from vgo_agent.tools.row import FIXED

from ...tools.machine_profile.made import profile

Finished = Callable[[str], FinishedRun]


def _rows(run: FinishedRun) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(runs_csv(run.record).decode())))


def test_every_recorded_run_is_one_row_that_names_its_step(finished: Finished) -> None:
    rows = _rows(finished("confirmed"))
    # Measured, profiled, three batches of 60 pairs; the mitigation that was not in force left none.
    assert len(rows) == 120 + 120 + 2 * (240 + 2 * 60)
    assert list(rows[0])[: 4 + len(FIXED)] == ["call", "tool", "batch", "block", *FIXED]
    assert {(row["tool"], row["batch"]) for row in rows} == {
        ("measure", ""),
        ("profile", ""),
        ("apply_mitigation", "1"),
        ("apply_mitigation", "2"),
    }


def test_a_metric_that_a_step_did_not_read_is_empty_and_numbers_are_kept_to_the_last_digit(finished: Finished) -> None:
    run = finished("confirmed")
    rows = _rows(run)
    profiled = [row for row in rows if row["tool"] == "profile"]
    assert {row["minor_faults"] for row in rows if row["tool"] == "measure"} == {""}
    table = run.record.runs(Findings(run.record).last(ProfileResult).call)
    assert [float(row["outcome"]) for row in profiled] == table.outcome().tolist()
    assert [float(row["minor_faults"]) for row in profiled] == table.column("minor_faults").tolist()


def test_before_anything_was_measured_there_is_a_header_alone(finished: Finished) -> None:
    empty = runs_csv(Record((), finished("confirmed").record.store))
    assert empty.decode() == ",".join(["call", "tool", "batch", "block", *FIXED]) + "\n"


def test_the_page_gives_subject_limits_and_machine_to_a_program(finished: Finished) -> None:
    run = finished("confirmed")
    found = re.search(r"```json\n(.*?)\n```", runs_md(run).decode(), re.S)
    assert found
    facts = json.loads(found.group(1))
    assert facts["subject"]["command"] == list(run.subject.command)
    assert facts["limits"]["seed"] == run.limits.seed
    assert facts["machine"]["cpu"] == "Test CPU"


def test_the_page_describes_every_column_of_the_table(finished: Finished) -> None:
    run = finished("confirmed")
    page = runs_md(run).decode()
    for name in _rows(run)[0]:
        assert f"| `{name}` |" in page
    assert "| `migrations` | count | factor | process |" in page


def test_the_page_says_what_this_machine_does_not_show_and_why(finished: Finished) -> None:
    page = runs_md(finished("confirmed")).decode()
    assert "| process: perf.cycles, perf.instructions | no hardware counters |" in page
    assert "RAPL" in page


def test_no_heading_on_the_page_of_two_machines_is_empty() -> None:
    rates = {"cpu-a": [1.0, 2.0], "cpu-b": [2.0, 3.0]}
    page = html_page(document(compare(profile(rates), profile(rates))))
    assert re.findall("<h2>(.*?)</h2>", page) == ["Every stressor"] and "Predicted for CPU-bound programs" in page
