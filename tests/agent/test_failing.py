"""Failing as an outcome, through the front door: what goes with it is told, and which mitigation changes it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import fisher_exact

from vgo_agent.tools.execution.expected import Expected
from vgo_agent.tools.failures import failed_arms

TURN = """
import os, random, sys
turns = os.open(__file__ + ".turns", os.O_CREAT | os.O_APPEND | os.O_WRONLY)
os.write(turns, b".")
turn = os.fstat(turns).st_size
print("time", 100 + random.Random(turn).gauss(0, SD))
unlucky = turn % 4 == random.Random(turn // 4).randrange(4)
"""
"""One of every four runs is unlucky, the same ones in every test; what it prints does not depend on the machine."""
GREEDY = (
    TURN.replace("SD", "0.2")
    + """
if unlucky:
    block = bytearray(48 << 20)
    block[::4096] = b"1" * len(block[::4096])
    sys.exit("cache does not fit")
"""
)
SEEDED = (
    TURN.replace("SD", "2")
    + """
if unlucky and os.environ.get("PYTHONHASHSEED") != "0":
    sys.exit("hash collision")
"""
)
METRIC = ("--metric", "time ([0-9.]+)", "--unit", "ms", "--json")


@pytest.mark.slow
def test_a_steady_program_that_fails_is_told_what_goes_with_failing(vgo, script):
    program = str(script("greedy.py", GREEDY))
    done = vgo("diagnose", *METRIC, "--max-runs", "100", "--budget", "120", "--allow", "none", program)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["verdict"]["kind"] == "steady" and "cache does not fit" in said["headline"]
    found = said["failing"]
    assert found["failed"] >= 15 and found["factors"][0]["factor"] == "page_faults"
    assert found["factors"][0]["auc_low"] > 0.6 and found["factors"][0]["p_value"] < 0.01
    (told,) = [one for one in said["warnings"] if "cache does not fit" in one]
    more = f"Failed runs have more {found['factors'][0]['column']}"
    assert more in told and "Minor page faults: The program touches" in told
    report = (Path(said["run_dir"]) / "report.md").read_text()
    assert "with failing goes minor page faults" in report
    asked = vgo("ask", said["run_dir"], "why does it fail?")
    assert more in " ".join(asked.stdout.split())
    for again in (("verify",), ("verify", "--recompute")):
        assert vgo(*again, said["run_dir"]).returncode == 0


@pytest.mark.slow
def test_a_mitigation_under_which_it_fails_less_is_told_so(vgo, script):
    program = str(script("seeded.py", SEEDED))
    done = vgo("try", "python_hash_seed", *METRIC, "--pairs", "50", "--max-runs", "50", "--budget", "120", program)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    under = said["failing_under"]["python_hash_seed"]
    assert under["other_failed"] == 0 and under["other_runs"] == 50 and under["baseline_failed"] >= 8
    assert under["claim"] == "fails less often"
    report = " ".join((Path(said["run_dir"]) / "report.md").read_text().split())
    assert "it fails less often: 0 of 50 runs failed with it" in report
    assert re.search(r"(\d+) runs failed and count nowhere \(\1 x exit 1, hash collision\)", report)


@pytest.mark.parametrize("arms", [(40, 12, 40, 0), (40, 0, 40, 12), (30, 3, 30, 4), (20, 0, 30, 1)])
def test_failures_are_compared_by_fishers_exact_test_in_both_directions(arms):
    runs, failed, other_runs, other_failed = arms
    found = failed_arms(Expected(runs=runs, failed=failed), Expected(runs=other_runs, failed=other_failed), 0.05)
    table = np.array([[other_failed, other_runs - other_failed], [failed, runs - failed]])
    sides = [fisher_exact(table, alternative=side).pvalue for side in ("greater", "less")]
    assert found is not None and found.p_value == pytest.approx(min(1.0, 2 * min(sides)))
    less, more = failed >= 12, other_failed >= 12
    assert found.claim == ("fails less often" if less else "fails more often" if more else "")


def test_where_nothing_failed_nothing_is_compared():
    assert failed_arms(Expected(runs=20), Expected(runs=20), 0.05) is None
