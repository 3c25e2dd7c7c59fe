"""What is known speaks of columns that some layer measures."""

from __future__ import annotations

import pytest

from vgo_agent.knowledge.loader import load
from vgo_agent.layers.loader import load_layers

KNOWN = load()
MEASURED = {column.name for layer in load_layers().values() for column in layer.columns} | {"run_index"}
"""`run_index` is made by the run table itself."""


@pytest.mark.parametrize("key", KNOWN.factors)
def test_the_signals_of_a_factor_are_measured(key: str) -> None:
    assert set(KNOWN.factors[key].signals) <= MEASURED


@pytest.mark.parametrize("key", KNOWN.mitigations)
def test_what_a_mitigation_should_move_is_measured(key: str) -> None:
    assert set(KNOWN.mitigations[key].moves) <= MEASURED
