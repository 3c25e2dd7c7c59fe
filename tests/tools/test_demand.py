"""How many CPUs a program asks for: told from its runs, also where others took them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgo_agent.tools.machine import demand

Cells = dict[str, Any]


def spun(wall: float, cpu: float, **more: Any) -> Cells:
    """A run, in seconds: of all threads on a CPU."""
    return {"wall_s": wall, "user_s": cpu, "system_s": 0.0, **more}


ALONE = spun(1.0, 1.0, run_delay_ms=0.0)


@given(st.floats(0.0, 20.0), st.integers(1, 4))
def test_competition_does_not_change_what_is_told_of_spinning(others: float, threads: int) -> None:
    share = threads / (threads + others)
    row = spun(1.0, threads * share, **{"delay.cpu_ms": 1e3 * threads * (1 - share)})
    assert demand([row] * 4).busy_cpus == pytest.approx(threads)


def test_what_the_main_thread_waited_for_counts_for_use() -> None:
    assert demand([spun(2.0, 1.2, run_delay_ms=1400.0)] * 5).busy_cpus == pytest.approx(1.3)


def test_the_median_run_counts_for_use() -> None:
    assert demand([*[ALONE] * 5, spun(1.0, 2.0)]).busy_cpus == 1.0


def test_what_was_not_read_is_not_known() -> None:
    assert demand([{"wall_s": 1.0}]) == (None, None)
    assert demand([ALONE | {"max_rss_kb": 1000.0}, ALONE | {"max_rss_kb": 3000.0}, ALONE]).peak_bytes == 3_072_000
