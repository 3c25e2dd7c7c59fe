"""Conversations over runs with every verdict, in folders of their own, with one knowledge index for all tests."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from vgo_agent.agent.answers.conversation import Conversation
from vgo_agent.agent.answers.speaker import Speaker
from vgo_agent.agent.conduct import finished_run
from vgo_agent.agent.run_folder import RunFolder
from vgo_agent.agent.transcript import Transcript, read
from vgo_agent.knowledge.index import Index, open_index
from vgo_agent.knowledge.loader import load

from ..report.conftest import MAKERS
from .run_made import written

Open = Callable[..., Conversation]


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the commands of these tests keep their index."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def index(cache: Path) -> Iterator[Index]:
    """Build and open the index once."""
    with open_index(folder=cache / "vgo-agent" / "index") as opened:
        yield opened


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Give the folder of a run with a verdict, written when it is first asked for."""
    parent, made = tmp_path_factory.mktemp("runs"), dict[str, Path]()

    def folder(verdict: str) -> Path:
        if verdict not in made:
            made[verdict] = written(MAKERS[verdict](), parent / verdict.replace(" ", "-").replace(",", ""))
        return made[verdict]

    return folder


@pytest.fixture(scope="session")
def talk(folders: Callable[[str], Path], index: Index) -> Open:
    """Begin conversations; the record of a run is read once."""
    begun = dict[str, Conversation]()

    def open_one(verdict: str = "confirmed", speaker: Speaker | None = None) -> Conversation:
        if verdict not in begun:
            folder = RunFolder(folders(verdict))
            run = finished_run(folder, Transcript(None, read(folder.transcript)), load())
            begun[verdict] = Conversation(run, run.knowledge.digest, index=index)
        conversation = copy.copy(begun[verdict])
        conversation.speaker = speaker
        return conversation

    return open_one
