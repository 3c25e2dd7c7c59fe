"""How often a level is simulated."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Draws = Callable[[int, int], int]


@pytest.fixture(scope="session")
def draws(pytestconfig: pytest.Config) -> Draws:
    """Give the first number, the fewest draws that a broken law fails by; with --all the second."""
    return lambda few, many: many if pytestconfig.getoption("--all") else few
