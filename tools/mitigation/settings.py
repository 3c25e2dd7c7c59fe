"""Settings that outlive a run, journalled and switched around it, and files that are in force while held open."""

from __future__ import annotations

import contextlib
import os
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from ...knowledge.actions import Hold
from ...knowledge.errors import VgoError
from ..ending_signals import held
from .journal import Journal, JournalEntry, new_entry, put_back
from .kernel_file import KernelFiles, KernelRefusal, SavedKnob, as_before, in_force, put_group_back
from .kernel_settings import KernelSetting, rounded, same
from .verification import Check

HELD = ("/dev/cpu_dma_latency",)
"""Elsewhere an open file with a number in it is no request that ends with it."""


class MitigationKnobs:
    """The knobs of one mitigation; the entry stands in the journal as long as this lives."""

    maker = "kernel"
    """Who may make another value of the one that is set."""
    culprits = "tuned? sysctl?"
    """Who else may set it."""

    def __init__(
        self, knobs: Iterable[KernelSetting], entry: JournalEntry, journal: Journal, files: KernelFiles
    ) -> None:
        self._knobs = {knob.path: knob for knob in knobs}
        self._entry = entry
        self._journal = journal
        self._files = files
        self._touched = self._set = False
        self.notices: list[str] = []
        """What a user should hear: settings left out, rounded, or changed by someone else."""
        journal.record(entry)

    def on(self) -> tuple[Check, ...]:
        """Set the values and read each back (level 1); a knob that someone else changed is left alone and told."""
        if not self._set:
            self._refuse_foreign()
            self._touched = self._set = True
            for group in self._entry.groups:
                self._write(group)
        if not self._entry.applied:
            self._confirm()
        return tuple(self._check(group) for group in self._entry.groups)

    def off(self) -> tuple[Check, ...]:
        """Put the old values back and check them (level 1)."""
        checks = tuple(self._unset(group) for group in reversed(self._entry.groups))
        self._set = False
        return checks

    def close(self) -> None:
        """Put everything back, and only then forget it."""
        if self._touched:
            self.notices += (returned.said for returned in put_back(self._entry) if returned.foreign)
        self._journal.remove(self._entry)

    def _refuse_foreign(self) -> None:
        """The entry says what to go back to, so all must still be like that."""
        for group in self._entry.groups:
            if not as_before(self._files, group):
                raise self._changed(group, self._files.read(group.path))

    def _write(self, group: SavedKnob) -> None:
        knob = self._knobs[group.path]
        if same(knob.value, self._files.read(knob.path)):
            return  # a managed interrupt refuses even what it has
        try:
            self._files.write(knob.path, knob.value)
        except KernelRefusal as refused:
            if not knob.optional or self._entry.applied:
                raise
            self._leave_out(group, str(refused))

    def _leave_out(self, group: SavedKnob, why: str) -> None:
        """Go on without a knob that refuses; at least one must hold."""
        self.notices.append(f"{group.path}: left out ({why})")
        del self._knobs[group.path]
        if not self._knobs:
            raise KernelRefusal(f"Nothing of {self._entry.mitigation} can be set here ({why}).")

    def _confirm(self) -> None:
        """Journal what was made of the values: from now on any other one is someone else's."""
        groups = list[SavedKnob]()
        for group in self._entry.groups:
            if group.path in self._knobs:
                asked, seen = in_force(self._knobs[group.path].value), self._files.read(group.path)
                groups.append(replace(group, wanted=seen))
                if not same(asked, seen) and rounded(asked, seen):
                    self.notices.append(f"{group.path}: the {self.maker} made {seen} of {asked}")
        self._entry = self._entry.model_copy(update={"groups": tuple(groups), "applied": True})
        self._journal.record(self._entry)

    def _check(self, group: SavedKnob) -> Check:
        asked, seen = in_force(self._knobs[group.path].value), self._files.read(group.path)
        if seen != group.wanted:
            raise self._changed(group, seen)
        passed = same(asked, seen) or rounded(asked, seen)
        return Check(level=1, what=group.path, expected=asked, seen=seen, passed=passed)

    def _unset(self, group: SavedKnob) -> Check:
        returned = put_group_back(self._files, group, self._entry.applied) if self._touched else None
        seen, old = self._files.read(group.path), group.saved[group.path]
        if returned and returned.foreign:
            raise self._changed(group, seen)
        return Check(level=1, what=group.path, expected=old, seen=seen, passed=seen == old)

    def _changed(self, group: SavedKnob, seen: str) -> VgoError:
        """The runs from here on would be labelled with a condition that does not hold."""
        return VgoError(
            f"Someone else set {group.path} to {seen} during the measurement (it was {group.saved[group.path]}, and "
            f"{group.wanted} for the mitigation): find out who ({self.culprits}) and measure again."
        )


KnobsT = TypeVar("KnobsT", bound=MitigationKnobs)


def switchable(
    mitigation: str, knobs: Sequence[KernelSetting], journal: Journal, root: Path = Path("/")
) -> AbstractContextManager[MitigationKnobs]:
    """Journal the old values, and put them back at the end whatever happens; the caller holds the journal's lock."""
    files = KernelFiles(root)
    entry = new_entry(mitigation, saved_knobs(knobs, files), root)
    return closed_at_the_end(MitigationKnobs(knobs, entry, journal, files))


@contextlib.contextmanager
def closed_at_the_end(settings: KnobsT) -> Iterator[KnobsT]:
    """Put the old values back at the end of the context, and let no signal come between."""
    try:
        yield settings
    finally:
        with held():
            settings.close()


def saved_knobs(knobs: Sequence[KernelSetting], files: KernelFiles) -> tuple[SavedKnob, ...]:
    """Read what is to be put back."""
    shared = Counter(path for knob in knobs for path in {knob.path, *knob.siblings})
    return tuple(
        SavedKnob(
            path=knob.path,
            wanted=in_force(knob.value),
            saved={path: files.read(path) for path in (knob.path, *knob.siblings)},
            coupled=any(shared[path] > 1 for path in (knob.path, *knob.siblings)),
        )
        for knob in knobs
    )


class Holds:
    """The files of one mitigation."""

    def __init__(self, holds: Sequence[Hold], root: Path = Path("/")) -> None:
        """Refuse what is no request of this kind."""
        self._holds = holds
        self._root = root
        self._open: dict[str, int] = {}
        for hold in holds:
            if hold.path not in HELD:
                raise VgoError(f"{hold.path} is no file whose value ends when it is closed: take it out.")
        self._before = {hold.path: self._unheld(hold.path) for hold in holds}

    def on(self) -> tuple[Check, ...]:
        """Write the values, keep the files open, and read them back (level 1)."""
        for hold in self._holds:
            if hold.path not in self._open:
                file = self._opened(hold.path, os.O_RDWR)
                self._open[hold.path] = file
                os.pwrite(file, struct.pack("=i", hold.int32), 0)
        return tuple(self._check(hold) for hold in self._holds)

    def off(self) -> tuple[Check, ...]:
        """Close the files, and see that they are as before (level 1)."""
        self.close()
        seen = {hold.path: self._unheld(hold.path) for hold in self._holds}
        return tuple(
            Check(level=1, what=path, expected=str(old), seen=str(seen[path]), passed=seen[path] == old)
            for path, old in self._before.items()
        )

    def close(self) -> None:
        """Close the files."""
        while self._open:
            os.close(self._open.popitem()[1])

    def _check(self, hold: Hold) -> Check:
        seen = _read(self._open[hold.path])
        # The kernel shows the strictest of all requests.
        return Check(level=1, what=hold.path, expected=str(hold.int32), seen=str(seen), passed=0 <= seen <= hold.int32)

    def _unheld(self, path: str) -> int:
        file = self._opened(path, os.O_RDONLY)
        try:
            return _read(file)
        finally:
            os.close(file)

    def _opened(self, path: str, mode: int) -> int:
        try:
            return os.open(self._root / path.lstrip("/"), mode | os.O_CLOEXEC)
        except OSError as error:
            cure = "run vgo-agent as root" if isinstance(error, PermissionError) else "leave it out"
            raise VgoError(f"Cannot hold {path} ({error.strerror}): {cure}.") from error


def _read(file: int) -> int:
    (value,) = struct.unpack("=i", os.pread(file, 4, 0))
    return int(value)
