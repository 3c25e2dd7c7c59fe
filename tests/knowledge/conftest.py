"""A copy of everything that is known, to break."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from vgo_agent.knowledge.loader import HERE


def copy_knowledge(target: Path) -> Path:
    for kind in ("factors", "mitigations", "papers"):
        shutil.copytree(HERE / kind, target / kind)
    shutil.copy(HERE / "wording.yaml", target)
    return target


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    return copy_knowledge(tmp_path / "knowledge")
