"""The cases that come along: sound, enough of them, and each with all that was promised."""

from __future__ import annotations

import shlex
from functools import cache

import polars as pl
import pytest

from vgo_agent.evals.recorded.draft import truth_of_workload
from vgo_agent.evals.recorded.folders import CASES, TABLE
from vgo_agent.evals.recorded.gate import load_cases
from vgo_agent.evals.recorded.recorded_case import RecordedCase
from vgo_agent.evals.recorded.schema import SERIES
from vgo_agent.evals.recorded.truth import read_truth, why_not
from vgo_agent.evals.scores.effects import doubts
from vgo_agent.evals.workloads.registry import workloads

LEAST = 200
"""Runs of each condition."""


@cache
def cases() -> tuple[RecordedCase, ...]:
    found = load_cases(CASES)
    assert [case for case in found if not isinstance(case, RecordedCase)] == []
    return tuple(case for case in found if isinstance(case, RecordedCase))


def keys() -> list[str]:
    return sorted(path.name for path in CASES.iterdir() if path.is_dir() and not path.name.startswith("."))


def case_of(key: str) -> RecordedCase:
    return next(case for case in cases() if case.file.key == key)


def test_there_are_enough_and_enough_of_them_are_controls() -> None:
    controls = [case for case in cases() if read_truth(case.folder).control]
    assert len(cases()) >= 25 and len(controls) >= 8
    assert {case.file.split for case in controls} == {"train", "held-out"}
    assert {case.file.workload for case in cases()} >= {workload.name for workload in workloads() if workload.recorded}


@pytest.mark.parametrize("key", keys())
@pytest.mark.cells(4)
def test_each_condition_has_its_runs(key: str) -> None:
    case = case_of(key)
    counted = pl.read_parquet(case.folder / TABLE, columns=[SERIES])[SERIES].value_counts()
    runs = dict(counted.iter_rows())
    assert min(runs["baseline"], runs["profile"]) >= LEAST
    assert all(trial.pairs >= LEAST for trial in case.recording.trials.values() if trial.pairs)
    assert all(len(case.shown.pairs(key)) == trial.pairs for key, trial in case.recording.trials.items() if trial.pairs)


@pytest.mark.parametrize("key", keys())
def test_the_truth_is_that_of_the_workload(key: str) -> None:
    file, truth = case_of(key).file, read_truth(CASES / key)
    if not file.workload:
        pytest.skip("a program that is no workload under this name")
    said = truth_of_workload(file.workload, file.steady)
    assert set(truth.must_not_help) >= set(said.must_not_help)
    if not said.control:  # whose recorded pairs name more
        assert truth.must_not_help == said.must_not_help
    assert truth.accepted[: len(said.accepted)] == said.accepted  # and then what its pairs prove
    found = said.model_copy(update={"must_not_help": truth.must_not_help, "accepted": truth.accepted})
    assert truth.model_copy(update={"history": (), "unproved": {}}) == found


@pytest.mark.parametrize("key", keys())
def test_a_cure_was_recorded_where_there_is_one(key: str) -> None:
    case, truth = case_of(key), read_truth(case_of(key).folder)
    measured = {name for name, trial in case.recording.trials.items() if trial.pairs}
    if truth.verdicts[0] == "remedy confirmed":
        assert measured & set(truth.accepted)
    assert case.recording.machine_words and case.file.made_by.startswith("vgo-agent eval record ")


@pytest.mark.parametrize("key", keys())
@pytest.mark.cells(2)
def test_truth_and_pairs_agree(key: str) -> None:
    assert doubts(case_of(key), read_truth(case_of(key).folder)) == ()


@pytest.mark.parametrize("key", keys())
def test_what_has_no_pairs_has_a_reason_in_its_truth(key: str) -> None:
    case, truth = case_of(key), read_truth(case_of(key).folder)
    named = {*truth.accepted, *truth.must_not_help}
    measured = {name for name, trial in case.recording.trials.items() if trial.pairs}
    assert named - measured <= set(truth.unproved) <= named
    assert all(truth.unproved[name].endswith(why_not(case.recording, name)) for name in named - measured)


@pytest.mark.parametrize("key", keys())
def test_no_case_tells_where_it_was_made(key: str) -> None:
    made_by = case_of(key).file.made_by
    assert not [word for word in shlex.split(made_by) if word.startswith("/")]
