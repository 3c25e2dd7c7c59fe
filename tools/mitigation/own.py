"""A mitigation of the user's own: read from its file, and not applied while that file may run commands unasked."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path

from ...knowledge.consistency import problems_of
from ...knowledge.errors import VgoError
from ...knowledge.files import duplicate_keys, read_entry
from ...knowledge.schema import Mitigation
from ...layers.trust import is_trusted


def names_file(word: str) -> bool:
    """Tell whether a word of the user is a file rather than a key."""
    return word.endswith((".yaml", ".yml"))


def read_own(path: Path, shipped: Container[str] = ()) -> Mitigation:
    """Read and check it as those that ship are checked; `shipped` are keys that it must not have."""
    if not path.is_file():
        raise VgoError(f"There is no file {path}; `vgo-agent mitigations` lists what ships.")
    mitigation = read_entry(path, Mitigation)
    wrong = [f"the key {key} stands twice. Keep one." for key in duplicate_keys(path)]
    if mitigation.key in shipped:
        wrong.append(f"{mitigation.key} is a mitigation of vgo-agent itself. Give the key and the file another name.")
    wrong += problems_of(mitigation)
    if wrong:
        raise VgoError(f"{path}: {wrong[0]}")
    return mitigation


def commands(mitigation: Mitigation) -> list[str]:
    """List what it would run, or have the program load: its script, what it puts before the command, its variables."""
    apply = mitigation.apply
    if apply is None:
        return []
    script = apply.script
    steps = (("apply", script.apply), ("verify", script.verify), ("revert", script.revert)) if script else ()
    found = [f"{step}: {' '.join(words)}" for step, words in steps]
    found += [f"put before the command: {' '.join(apply.wrap)}"] if apply.wrap else []
    found += [f"LD_PRELOAD={apply.preload}"] if apply.preload else []
    return found + [f"{name}={value}" for name, value in apply.environment.items()]


def refuse_own(mitigation: Mitigation, source: Path) -> None:
    """Raise VgoError unless it runs nothing, or its file is trusted and still says the same."""
    if not (runs := commands(mitigation)):
        return
    if not is_trusted([source]):
        raise VgoError(
            f"{source} is not trusted on this machine, and it would run or set: {'; '.join(runs)} - read the file, "
            f"then allow it with `vgo-agent mitigations --trust {source}`."
        )
    if read_own(source) != mitigation:
        raise VgoError(f"{source} is not the mitigation that this run began with: begin again with `vgo-agent try`.")
