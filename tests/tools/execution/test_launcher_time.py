"""What a launcher takes by itself, held against runs through it."""

from __future__ import annotations

import numpy as np
import pytest

from vgo_agent.tools.execution.launcher_time import LauncherAlone

ALONE = LauncherAlone(launcher="ssh", runs=10, mean_s=0.4, sd_s=0.05, error_s=0.003)
RUNS = np.array([0.40, 0.42, 0.44])


def test_means_add_up_and_the_error_of_both_counts() -> None:
    found = ALONE.beside(RUNS)
    assert found is not None and found.program_s is None, "it may be nothing"
    assert found.share == pytest.approx(0.4 / 0.42) and found.runs_sd_s == pytest.approx(0.02)
    longer = ALONE.beside(RUNS + 1)
    assert longer is not None and longer.program_s is not None
    half = 1.96 * np.hypot(0.003, 0.02 / np.sqrt(3))
    assert (longer.program_s.low, longer.program_s.high) == pytest.approx((1.02 - half, 1.02 + half))
    assert longer.words_of("as given").startswith(
        "Of the runs as given, the launcher ssh itself takes 400 ms (28.2 % of"
    )


def test_a_launcher_that_hardly_counts_and_runs_that_are_too_few_are_not_worth_a_word() -> None:
    found = ALONE.beside(RUNS + 100)
    assert found is not None and found.words == found.words_of("as given") == ""
    assert ALONE.beside(RUNS[:2]) is None
