"""How the transcript of a run folder is closed: why it ended, and the hashes of the files that were made."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Literal

from ..knowledge.errors import VgoError
from .clock import BudgetClock
from .run_folder import RunFolder
from .transcript import RunEnd, Transcript

Status = Literal["finished", "interrupted", "failed"]


@contextmanager
def closing(close: Callable[[Status, str], None]) -> Iterator[None]:
    """Close a transcript where an exception ends what is done here, and let it pass."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit) as stop:  # SystemExit: the spawner makes it of SIGTERM and SIGHUP
        how = "Ctrl-C" if isinstance(stop, KeyboardInterrupt) else f"exit {stop.code}"
        close("interrupted", "; ".join([how, *getattr(stop, "__notes__", ())]))
        raise
    except VgoError as error:
        close("failed", str(error))
        raise


def append_end(
    transcript: Transcript,
    folder: RunFolder,
    clock: BudgetClock,
    outputs: Iterable[str],
    status: Status = "finished",
    reason: str = "",
) -> None:
    """Append the end record, with the hashes of those of the files that are there."""
    files = {name: folder.path / name for name in outputs}
    transcript.append(
        RunEnd(
            status=status,
            reason=reason,
            count=len(transcript.events),
            tip=transcript.tip,
            outputs={
                name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items() if path.exists()
            },
            elapsed_s=round(clock.elapsed_s(), 3),
        )
    )
