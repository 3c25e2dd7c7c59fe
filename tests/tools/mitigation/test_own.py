"""A mitigation of the user's own is refused for what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.tools.mitigation.scripts import read_own

PLAIN = "key: mine\nname: Mine\ndescription: d\nscope: process\nwhen: w\nhurts: h\n"


def test_what_puts_a_program_before_the_command_says_what_that_does(tmp_path: Path) -> None:
    own = tmp_path / "mine.yaml"
    own.write_text(f"{PLAIN}apply: {{wrap: [numactl, --localalloc]}}\n")
    with pytest.raises(VgoError, match="apply changes wrap and verify does not look at it"):
        read_own(own)
