"""A seeded sample of mistakes at every command: no traceback, no hang, nothing but an answer or one sentence.

The check draws the same each time, `--all` another for each commit. `VGO_AGENT_FUZZ_SEED` and `VGO_AGENT_FUZZ_CASES`
choose another, and `python benchmarks/fuzz.py` does thousands.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).parents[2] / "benchmarks/fuzz.py"


@pytest.mark.timeout(900)
def test_no_mistake_ends_in_a_traceback_or_never(pytestconfig):
    usual = (
        ("SEED", of_commit() if pytestconfig.getoption("--all") else "1"),
        ("CASES", "40" if pytestconfig.getoption("--all") else "30"),
    )
    seed, cases = (os.environ.get(f"VGO_AGENT_FUZZ_{name}", value) for name, value in usual)
    done = subprocess.run(
        [sys.executable, str(FUZZ), "--seed", seed, "--cases", cases, "--json"], capture_output=True, text=True
    )
    assert done.returncode in (0, 1), done.stderr
    assert json.loads(done.stdout) == [], f"--seed {seed}"


def of_commit() -> str:
    """A seed that is another for each commit; 1 in a copy without its history."""
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=FUZZ.parent, capture_output=True, text=True)
    return str(int(head.stdout[:8], 16)) if head.returncode == 0 else "1"
