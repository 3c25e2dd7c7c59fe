"""Where `vgo-agent` begins: signals are heard before anything else is imported."""

from __future__ import annotations

from .ending import run


def main() -> int:
    """Carry out the command line."""
    return run(_command)


def _command() -> int:
    from .cli import main as carry_out

    return carry_out()
