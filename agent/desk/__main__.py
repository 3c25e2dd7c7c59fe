"""Serve the duties of the desk until standard input ends."""

from __future__ import annotations

from ...knowledge.errors import VgoError
from ...tools.child import serve
from ...tools.record import ToolError
from .duties import DUTIES

if __name__ == "__main__":
    serve(DUTIES, (VgoError, ToolError))
