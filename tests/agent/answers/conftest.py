"""Conversations over runs with every verdict, in folders of their own, with one knowledge index for all tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from vgo_agent.agent.answers.conversation import Conversation
from vgo_agent.agent.answers.speaker import Speaker
from vgo_agent.agent.conduct import finished_run
from vgo_agent.agent.run_folder import RunFolder
from vgo_agent.agent.transcript import Transcript, read
from vgo_agent.knowledge.loader import load

from ..report.conftest import MAKERS
from .run_made import written

Open = Callable[..., Conversation]


@pytest.fixture(scope="session", autouse=True)
def one_index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Build the index once, beside that of the user."""
    with pytest.MonkeyPatch.context() as patch:
        cache = tmp_path_factory.mktemp("cache")
        patch.setenv("XDG_CACHE_HOME", str(cache))
        yield cache


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Give the folder of a run with a verdict, written when it is first asked for."""
    parent, made = tmp_path_factory.mktemp("runs"), dict[str, Path]()

    def folder(verdict: str) -> Path:
        if verdict not in made:
            made[verdict] = written(MAKERS[verdict](), parent / verdict.replace(" ", "-").replace(",", ""))
        return made[verdict]

    return folder


@pytest.fixture
def talk(folders: Callable[[str], Path]) -> Iterator[Open]:
    """Open conversations, and close them in the end."""
    opened: list[Conversation] = []

    def open_one(verdict: str = "mitigated", speaker: Speaker | None = None) -> Conversation:
        folder = RunFolder(folders(verdict))
        run = finished_run(folder, Transcript(None, read(folder.transcript)), load())
        opened.append(Conversation(run, run.knowledge.digest, speaker))
        return opened[-1]

    yield open_one
    for conversation in opened:
        conversation.__exit__(None, None, None)
