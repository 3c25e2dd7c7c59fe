"""Run the diagnosis of one folder until it ends: `python -m vgo_agent.agent.worker FOLDER auto|step`."""

from __future__ import annotations

import sys
from pathlib import Path

from ...knowledge.errors import VgoError
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
                work(folder, steered, steered)
            finally:
                control.close()
    except VgoError as error:
        print(error, file=sys.stderr)
        return 1
    (folder.path / LOG).unlink(missing_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(RunFolder(Path(sys.argv[1])), "step" if sys.argv[2:] == ["step"] else "auto"))
