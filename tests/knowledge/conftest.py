"""A copy of everything that is known, to break; a small one; and the index of everything, built once."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from vgo_agent.knowledge.index import Index, open_index
from vgo_agent.knowledge.loader import HERE

FEW = ("cpu_migrations", "page_faults", "hash_seed", "context_switches", "tlb_shootdowns", "compaction")


def copy_knowledge(target: Path) -> Path:
    for kind in ("factors", "mitigations", "papers"):
        shutil.copytree(HERE / kind, target / kind)
    for name in ("wording.yaml", "terms.yaml", "states.yaml"):
        shutil.copy(HERE / name, target)
    return target


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    return copy_knowledge(tmp_path / "knowledge")


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Know a handful of factors with one mitigation and one note: their index is built in no time."""
    folder = tmp_path / "small"
    for kind, names in (("factors", FEW), ("mitigations", ("pin_to_cpu",))):
        (folder / kind).mkdir(parents=True)
        for name in names:
            shutil.copy(HERE / kind / f"{name}.yaml", folder / kind)
    (folder / "papers").mkdir()
    shutil.copy(HERE / "papers" / "openmp-variability-cf25.md", folder / "papers")
    return folder


@pytest.fixture(scope="session")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """Build the index of everything once; nobody changes it."""
    with open_index(folder=tmp_path_factory.mktemp("index")) as opened:
        yield opened
