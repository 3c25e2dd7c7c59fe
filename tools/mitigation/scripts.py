"""Run the commands of a mitigation that has no typed action: built in or trusted ones, as words, without a shell."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Container, Sequence
from pathlib import Path

from ...knowledge.actions import Script
from ...knowledge.consistency import problems_of
from ...knowledge.errors import VgoError
from ...knowledge.files import duplicate_keys, read_entry
from ...knowledge.loader import load
from ...knowledge.schema import Mitigation
from ...layers.reading import is_trusted
from .journal import Journal, new_entry
from .verification import Check

PATIENCE_S = 60.0
_PLACE = re.compile(r"\\\{[a-z][a-z0-9_]*\\\}")
_VALUE = r"[\w.,+:-]+"
"""What may stand for a parameter."""


class MitigationScript:
    """The script of one mitigation; the way back stands in the journal as long as this lives."""

    def __init__(self, mitigation: Mitigation, script: Script, journal: Journal, source: Path | None) -> None:
        """Refuse what is not trusted; the caller holds the journal's lock."""
        refuse_untrusted(mitigation, script, source)
        self._script = script
        self._set = False
        entry = new_entry(f"{mitigation.key}-script", (), Path("/"))
        self._journal, self._entry = journal, entry.model_copy(update={"revert": script.revert})
        journal.record(self._entry)

    def on(self) -> tuple[Check, ...]:
        """Apply, and ask whether it is in force (level 1)."""
        if not self._set:
            self._set = True
            ran(self._script.apply)
        return (self._check("in force", True),)

    def off(self) -> tuple[Check, ...]:
        """Revert, and ask whether it is no longer in force (level 1)."""
        self._revert()
        return (self._check("not in force", False),)

    def close(self) -> None:
        """Revert what was applied, and only then forget it."""
        self._revert()
        self._journal.remove(self._entry)

    def _revert(self) -> None:
        if self._set:
            ran(self._script.revert)
            self._set = False

    def _check(self, expected: str, wanted: bool) -> Check:
        done = _run(self._script.verify).returncode == 0
        seen = "in force" if done else "not in force"
        return Check(level=1, what=" ".join(self._script.verify), expected=expected, seen=seen, passed=done == wanted)


def refuse_untrusted(mitigation: Mitigation, script: Script, source: Path | None = None) -> None:
    """Raise VgoError, showing each command, unless the script ships with vgo-agent or its file is trusted."""
    if _ships(mitigation.key, script) or (source is not None and is_trusted([source])):
        return
    shown = "; ".join(" ".join(words) for words in (script.apply, script.verify, script.revert))
    where = source or f"the file of {mitigation.key}"
    raise VgoError(
        f"{mitigation.key} is not trusted to run commands on this machine, and it would run: {shown} - read the file, "
        f"then allow it with `vgo-agent mitigations --trust {where}`."
    )


def ran(words: Sequence[str]) -> None:
    """Run one command; VgoError when it fails."""
    done = _run(words)
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        reason = said[-1] if said else f"exit status {done.returncode}"
        raise VgoError(f"`{' '.join(words)}` failed ({reason}): run it by hand, or leave the mitigation out.")


def _run(words: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=PATIENCE_S)
    except FileNotFoundError as error:
        raise VgoError(f"{words[0]} is not on PATH: install it, or leave the mitigation out.") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise VgoError(f"`{' '.join(words)}` cannot be run ({error}): leave the mitigation out.") from error


def _ships(key: str, script: Script) -> bool:
    """Tell whether these are the words of the mitigation that ships under this key, parameters filled in."""
    shipped = load().mitigations.get(key)
    known = shipped.apply.script if shipped and shipped.apply else None
    if known is None:
        return False
    pairs = ((known.apply, script.apply), (known.verify, script.verify), (known.revert, script.revert))
    return all(len(a) == len(b) and all(map(_fits, a, b)) for a, b in pairs)


def _fits(known: str, word: str) -> bool:
    return re.fullmatch(_PLACE.sub(lambda _: _VALUE, re.escape(known)), word) is not None


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
