"""A law: a mitigation followed by its revert is the identity, for plain and bracketed files alike."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.tools.mitigation.journal import Journal
from vgo_agent.tools.mitigation.kernel_file import KernelFiles, in_force
from vgo_agent.tools.mitigation.kernel_settings import KernelSetting
from vgo_agent.tools.mitigation.settings import switchable

WORDS = st.from_regex(r"[a-z0-9_+-]{1,8}", fullmatch=True)
PLAIN = st.lists(WORDS, min_size=1, max_size=4).map(lambda words: " ".join(words) + "\n")


@st.composite
def bracketed(draw: st.DrawFn) -> str:
    words = draw(st.lists(WORDS, min_size=1, max_size=5, unique=True))
    chosen = draw(st.sampled_from(words))
    mark = draw(st.sampled_from(["[{}]", "({})"]))
    return " ".join(mark.format(word) if word == chosen else word for word in words) + "\n"


FILES = st.dictionaries(WORDS, PLAIN | bracketed(), min_size=1, max_size=4)


@settings(deadline=None)
@given(FILES, st.data())
def test_on_and_off_in_any_order_end_where_they_began(files: dict[str, str], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "sys").mkdir()
        for name, text in files.items():
            (root / "sys" / name).write_text(text)
        before = {name: in_force(text) for name, text in files.items()}
        values = {name: data.draw(WORDS) for name in files}
        knobs = tuple(KernelSetting(path=f"/sys/{name}", value=value) for name, value in values.items())
        kernel = KernelFiles(root)
        journal = Journal(root / "journal")
        with journal.locked(), switchable("law", knobs, journal, root) as switch:
            for on in data.draw(st.lists(st.booleans(), max_size=4)):
                checks = switch.on() if on else switch.off()
                assert all(check.passed for check in checks)
                expected = values if on else before
                assert {name: kernel.read(f"/sys/{name}") for name in files} == expected
        assert {name: kernel.read(f"/sys/{name}") for name in files} == before
        assert not journal.entries()


@given(bracketed())
def test_the_marked_word_is_in_force(text: str) -> None:
    assert f"[{in_force(text)}]" in text or f"({in_force(text)})" in text


@given(PLAIN)
def test_an_unmarked_value_is_all_of_it(text: str) -> None:
    assert in_force(text) == text.strip()
