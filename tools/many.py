"""The columns that say where and when runs of many hosts were made."""

from __future__ import annotations

from ..layers.launcher import HOST
from ..layers.schema import Column, Layer

SLOT = Column(name="slot", description="Place of the worker on its host.", unit="place", role="setting", level=True)
"""Only runs of many hosts have it."""
FLEET = Layer(
    key="fleet",
    description="Where and when each run was made, of several hosts.",
    columns=(
        HOST,
        SLOT,
        Column(
            name="machine",
            description="SHA-256 of the description of the host, its first 12 digits; hosts.json has it.",
            unit="",
            type="text",
            role="setting",
        ),
        Column(
            name="began_s",
            description="When the run began: seconds since 1970, the clocks of the hosts brought to ours.",
            unit="s",
            role="setting",
            level=True,
        ),
    ),
)
