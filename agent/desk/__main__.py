"""Answer JSON lines on standard input until it ends: `{"duty": NAME, "wanted": {...}}`."""

from __future__ import annotations

import json
import os
import sys

from ...knowledge.errors import VgoError
from ...tools.base import ToolError
from .duties import DUTIES


def main() -> int:
    """Answer; standard output is kept for answers alone."""
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    for line in sys.stdin.buffer:
        question = json.loads(line)
        try:
            answer = {"given": DUTIES[question["duty"]](**question["wanted"])}
        except (VgoError, ToolError) as error:
            answer = {"error": str(error)}
        out.write(json.dumps(answer).encode() + b"\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
