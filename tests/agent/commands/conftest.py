"""What the tests of commands share: a call of one in this process."""

from collections.abc import Callable
from pathlib import Path

import pytest

from vgo_agent.agent.cli import main


@pytest.fixture
def called_here(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., tuple[int, str, str]]:
    """Run a command in an empty folder, with no settings; give exit code, standard output and standard error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    def run(*words: str) -> tuple[int, str, str]:
        code = main(list(words))
        return code, *capsys.readouterr()

    return run
