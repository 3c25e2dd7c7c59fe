"""The diagnosis of one folder, worked on until it ends."""

from __future__ import annotations

import sys

from ...knowledge.errors import VgoError
from ..began import process_began_s
from ..clock import BudgetClock
from ..run_folder import RunFolder
from ..session import held, work
from .control import UNWATCHED_S, Control
from .steered import Steered
from .wire import LOG, Mode


def main(folder: RunFolder, mode: Mode, unwatched_s: float = UNWATCHED_S) -> int:
    """Work, and leave nothing of the wire behind; what went wrong is the last line of the log."""
    try:
        with held(folder):
            control = Control(folder, mode, unwatched_s)
            steered = Steered(control)
            try:
                work(folder, steered, steered, BudgetClock(process_began_s(), now_s=control.now_s))
            finally:
                control.close()
    except VgoError as error:
        print(error, file=sys.stderr)
        return 1
    (folder.path / LOG).unlink(missing_ok=True)
    return 0
