"""Run the diagnosis of one folder until it ends: `python -m vgo_agent.agent.worker FOLDER auto|step`."""

from __future__ import annotations

import sys

from ..ending import run


def _command() -> int:
    from pathlib import Path

    from ..run_folder import RunFolder
    from .control import main

    return main(RunFolder(Path(sys.argv[1])), "step" if sys.argv[2] == "step" else "auto")


if __name__ == "__main__":
    sys.exit(run(_command))
