"""restore: put back what a killed vgo-agent left."""

from __future__ import annotations

from dataclasses import dataclass

from .options import Answering, option


@dataclass(frozen=True, kw_only=True)
class RestoreCommand(Answering):
    """Put back what a killed vgo-agent left."""

    EPILOG = """\
example:
  vgo-agent restore

Puts settings of this machine back to what they were before an agent that is dead changed them, and removes its working
copies and temporary folders. A setting that someone else has changed since is left alone and named. Safe to repeat.
"""

    force: bool = option("also what a living agent has changed", False)

    def run(self) -> int:
        """Restore."""
        from ...tools.mitigation.restore import restore

        told = restore(force=self.force)
        return self.answer({"restored": told}, "\n".join(told) or "Nothing was left to put back.")
