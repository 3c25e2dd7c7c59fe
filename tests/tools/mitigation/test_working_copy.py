"""The working copy on tmpfs."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.knowledge.schema import Mitigation
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.execution.spawn import Spawner
from vgo_agent.tools.machine import Machine
from vgo_agent.tools.mitigation.engine import applied
from vgo_agent.tools.mitigation.owned_folder import LARGEST, working_copy
from vgo_agent.tools.mitigation.restore import restore
from vgo_agent.tools.subject import Subject


def test_a_script_that_goes_to_its_own_folder_writes_on_tmpfs(
    one: Callable[..., Mitigation], tmp_path: Path, spawner: Spawner, machine: Machine
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    script = work / "bench.sh"
    script.write_text('#!/bin/sh\ncd "$(dirname "$0")" && pwd && cat data && echo "$TMPDIR" && echo more > written\n')
    script.chmod(0o755)
    (work / "data").write_text("the data\n")
    subject = Subject(command=("./bench.sh",), argv=(str(script),), directory=str(work))
    base = Launch(argv=subject.argv, directory=work)
    with applied(one(apply={"tmpfs_directory": True}), base, subject, machine) as change:
        run = spawner.run(change.launch, capture=True)
        folder, data, temporary = run.output.decode().splitlines()
        assert Path(folder) == change.launch.directory
        assert Path(temporary).is_dir()
        assert folder.startswith(f"/dev/shm/vgo-agent-{os.getpid()}-")
    assert data == "the data"
    assert not (work / "written").exists()
    assert not Path(folder).exists()


def test_our_results_sockets_and_pipes_are_not_copied(tmp_path: Path) -> None:
    (tmp_path / "vgo-runs/1").mkdir(parents=True)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("data")
    (tmp_path / "data").write_text("d")
    with working_copy(tmp_path) as copy:
        assert sorted(path.name for path in copy.directory.iterdir()) == ["data", "link"]
        assert (copy.directory / "link").readlink() == Path("data")


def test_files_that_come_and_go_meanwhile_are_no_hindrance(tmp_path: Path) -> None:
    ended, paths = Event(), [tmp_path / f"temporary-{place}" for place in range(50)]

    def comes_and_goes() -> None:
        while not ended.is_set():
            for path in paths:
                path.write_text("")
            for path in paths:
                path.unlink()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(comes_and_goes)
        try:
            for _ in range(50):
                with working_copy(tmp_path):
                    pass
        finally:
            ended.set()


def test_our_results_do_not_count_for_the_size(tmp_path: Path) -> None:
    (tmp_path / "vgo-runs").mkdir()
    with (tmp_path / "vgo-runs/large").open("wb") as file:
        file.truncate(LARGEST + 1)
    with working_copy(tmp_path) as copy:
        assert not list(copy.directory.iterdir())


def test_a_large_directory_is_refused_before_anything_is_copied(tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(LARGEST + 1)
    with pytest.raises(VgoError, match="holds more than the .* MB"), working_copy(tmp_path):
        pass


def test_a_directory_that_cannot_hold_a_copy_is_named(tmp_path: Path) -> None:
    with pytest.raises(VgoError, match="mount a tmpfs"), working_copy(tmp_path, tmp_path / "not there"):
        pass


def test_the_copy_of_a_living_agent_is_not_touched_and_that_of_a_dead_one_goes(tmp_path: Path) -> None:
    work, memory = tmp_path / "work", tmp_path / "shm"
    work.mkdir()
    memory.mkdir()
    # No process has that start time.
    dead = memory / f"vgo-agent-{os.getpid()}-1-abcdef"
    (dead / "work").mkdir(parents=True)
    (memory / "vgo-agent-of-someone").mkdir()
    with working_copy(work, memory) as copy:
        (said,) = restore(shared_memory=memory, temporary=tmp_path)
        assert said.startswith(f"{dead}: removed")
        assert copy.directory.exists()
    assert [path.name for path in memory.iterdir()] == ["vgo-agent-of-someone"]
