"""Kernel settings that outlive a run: journalled for the whole batch, switched on and off around each run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from ...knowledge.actions import Write
from ...knowledge.errors import VgoError
from .checks import Check
from .journal import Entry, Group, Journal, as_before, new_entry, put_back, put_group_back
from .kernel_file import KernelFiles, in_force
from .restore import restore_entries


class Settings:
    """The writes of one mitigation; the entry stands in the journal as long as this lives."""

    def __init__(self, writes: tuple[Write, ...], entry: Entry, journal: Journal, told: list[str]) -> None:
        """Change nothing yet."""
        self._writes = writes
        self._entry = entry
        self._journal = journal
        self._files = KernelFiles(Path(entry.root))
        self._touched = False
        self.told = told
        """What a user should hear: settings of a dead agent put back, settings that someone else changed."""

    def on(self) -> tuple[Check, ...]:
        """Write the values and read each back (level 1); a knob that someone else changed is left alone and told."""
        self._touched = True
        checks = tuple(self._set(write, group) for write, group in zip(self._writes, self._entry.groups, strict=True))
        if not self._entry.applied:
            self._confirm()
        return checks

    def off(self) -> tuple[Check, ...]:
        """Put the old values back and check them (level 1)."""
        return tuple(self._unset(group) for group in reversed(self._entry.groups))

    def _set(self, write: Write, group: Group) -> Check:
        if as_before(self._files, group):
            self._files.write(write.path, write.value)
        seen, wanted = self._files.read(write.path), in_force(write.value)
        if self._entry.applied and seen != group.wanted:
            raise _changed_meanwhile(group, seen)
        return Check(level=1, what=write.path, expected=wanted, seen=seen, passed=seen == wanted)

    def _unset(self, group: Group) -> Check:
        returned = put_group_back(self._files, group, self._entry.applied) if self._touched else None
        seen = self._files.read(group.path)
        if returned and returned.foreign:
            raise _changed_meanwhile(group, seen)
        old = group.saved[group.path]
        return Check(level=1, what=group.path, expected=old, seen=seen, passed=seen == old)

    def _confirm(self) -> None:
        """Journal what the kernel made of the values: from now on any other one is someone else's."""
        groups = tuple(
            group.model_copy(update={"wanted": self._files.read(group.path)}) for group in self._entry.groups
        )
        self._entry = self._entry.model_copy(update={"groups": groups, "applied": True})
        self._journal.record(self._entry)

    def close(self) -> None:
        """Put everything back, and only then forget it."""
        if self._touched:
            self.told.extend(returned.said for returned in put_back(self._entry) if returned.foreign)
        self._journal.remove(self._entry)


def _changed_meanwhile(group: Group, seen: str) -> VgoError:
    """The runs from here on would be labelled with a condition that does not hold."""
    return VgoError(
        f"Someone else set {group.path} to {seen} during the measurement (it was {group.saved[group.path]}, and "
        f"{group.wanted} for the mitigation): find out who (tuned? sysctl?) and measure again."
    )


@contextlib.contextmanager
def switchable(
    mitigation: str, writes: tuple[Write, ...], journal: Journal, root: Path = Path("/")
) -> Iterator[Settings]:
    """Hold the lock, journal the old values, and put them back at the end whatever happens."""
    files = KernelFiles(root)
    with journal.locked():
        told = restore_entries(journal)
        groups = tuple(_group(files, write) for write in writes)
        entry = new_entry(mitigation, groups, root)
        journal.record(entry)
        settings = Settings(writes, entry, journal, told)
        try:
            yield settings
        finally:
            settings.close()


def _group(files: KernelFiles, write: Write) -> Group:
    saved = {path: files.read(path) for path in (write.path, *write.siblings)}
    return Group(path=write.path, wanted=in_force(write.value), saved=saved)
