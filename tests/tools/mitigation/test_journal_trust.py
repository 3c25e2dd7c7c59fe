"""What stands in the journal is believed only where nobody else could have written it."""

from __future__ import annotations

from pathlib import Path

import pytest

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.tools.mitigation.journal import Journal, new_entry
from vgo_agent.tools.mitigation.kernel_file import SavedKnob
from vgo_agent.tools.mitigation.restore import restore


def planted(folder: Path, path: str) -> None:
    """An entry of a process that is dead, with a value of somebody's choice."""
    group = SavedKnob(path=path, wanted="1", saved={path: "evil"})
    entry = new_entry("thp_always", (group,), Path("/")).model_copy(update={"pid": 2**22 + 1})
    folder.mkdir(exist_ok=True)
    Journal(folder).record(entry)


def test_a_folder_in_which_others_may_write_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "journal"
    planted(folder, "/proc/sys/vm/swappiness")
    folder.chmod(0o777)
    with pytest.raises(VgoError, match="not yours alone"):
        restore(folder=folder)


def test_an_entry_that_names_no_kernel_setting_writes_nothing(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("1")
    planted(tmp_path / "journal", str(victim))
    with pytest.raises(VgoError, match="no kernel setting"):
        restore(folder=tmp_path / "journal")
    assert victim.read_text() == "1"


@pytest.mark.parametrize("before", ['"mitigation":', '"path":'])
def test_an_entry_that_says_more_than_is_known_is_refused(tmp_path: Path, before: str) -> None:
    folder = tmp_path / "journal"
    planted(folder, "/proc/sys/vm/swappiness")
    (entry,) = folder.glob("*.json")
    entry.write_text(entry.read_text().replace(before, f'"later": 1, {before}', 1))
    with pytest.raises(VgoError, match="cannot be read"):
        restore(folder=folder)
