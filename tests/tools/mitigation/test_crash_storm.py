"""A small crash storm over the mitigations that write kernel files; the large one is in benchmarks/."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

STORM = Path(__file__).parents[3] / "benchmarks/crash_storm.py"


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="kernel settings can be written by root only")
def test_kills_at_random_moments_leave_no_setting_changed_and_no_broken_journal() -> None:
    ended = subprocess.run([sys.executable, STORM, "--kills", "12", "--seed", "7"], capture_output=True, text=True)
    assert ended.returncode in (0, 1), ended.stderr
    found = json.loads(ended.stdout)
    assert found["kills"] == 12
    assert (found["differences"], found["broken journal entries"]) == ([], [])
    assert ended.returncode == 0
