"""A mitigation of the user's own is refused for what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.tools.mitigation.scripts import read_own

PLAIN = "key: mine\nname: Mine\ndescription: d\nscope: process\nwhen: w\nhurts: h\n"


@pytest.mark.parametrize(
    ("apply", "verify", "said"),
    [
        (
            '{environment: {MY: "1"}}',
            "{environment: [MY], mapped: libjemalloc.so.2}",
            "verify.mapped looks for libjemalloc.so.2, which apply does not preload",
        ),
        ("{preload: libjemalloc.so.2}", "{}", "apply changes preload and verify does not look at it"),
        ("{preload: libjemalloc.so.2}", "{mapped: libother.so}", "apply changes preload"),
    ],
)
def test_a_library_is_preloaded_and_looked_for_or_neither(tmp_path: Path, apply: str, verify: str, said: str) -> None:
    own = tmp_path / "mine.yaml"
    own.write_text(f"{PLAIN}apply: {apply}\nverify: {verify}\n")
    with pytest.raises(VgoError) as refused:
        read_own(own)
    assert said in str(refused.value)
