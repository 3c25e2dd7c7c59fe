"""The file of a space: those that ship and the one of the guide are sound, and what is wrong is told with its line."""

from pathlib import Path

import pytest
import yaml

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.tools.sweep.space import EXAMPLES, Space, check, read_space

GUIDE = Path(__file__).parents[3] / "docs/guide/which-setting.md"


def test_the_spaces_that_ship_are_sound():
    assert check() == []
    assert {path.stem for path in EXAMPLES.glob("*.yaml")} == {"cpu", "fio", "fio-modes", "threads"}


def test_the_space_of_the_guide_is_one():
    text = GUIDE.read_text().partition("```yaml\n")[2].partition("```")[0]
    space = Space.model_validate(yaml.safe_load(text))
    assert space.design.kind == "adaptive"
    assert space.parameters["thp"].levels == ("off", "on")


def test_a_switch_may_be_written_as_yaml_reads_it():
    text = "{parameters: {thp: {mitigation: thp_always, levels: [on, off]}}}"
    assert Space.model_validate(yaml.safe_load(text)).parameters["thp"].levels == ("on", "off")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("parameters:\n  a: {levels: [1]}\n  a: {levels: [2]}\n", "the key a stands twice"),
        ("parameters:\n  a: {levels: [1]}\nparameters:\n  b: {levels: [2]}\n", "the key parameters stands twice"),
        ("parameters:\n  a: {levels: [1], range: {low: 1, high: 2}}\n", "line 2: parameters.a"),
        ("parameters:\n  a: {levels: [1], to: threads, environment: E}\n", "it goes to one place"),
        ("parameters:\n  a: {levels: [1], parameter: p}\n", "parameter is one of a mitigation"),
        ("parameters:\n  a: {levels: [1], mitigation: m}\n", "a mitigation without a parameter is off or on"),
        ("parameters:\n  a: {range: {low: 0, high: 2, log: true}}\n", "a log range needs low above zero"),
        ("parameters:\n  a: {levels: [.inf]}\n", "a level is no finite number"),
        ("parameters:\n  A: {levels: [1]}\n", "line 2"),
        ("parameters: [a\n", "not YAML"),
        ("just words", "the file"),
        ("", "the file"),
    ],
)
def test_what_is_wrong_is_told(tmp_path, text, said):
    path = tmp_path / "space.yaml"
    path.write_text(text)
    with pytest.raises(VgoError) as refused:
        read_space(str(path))
    assert said in str(refused.value) and str(path) in str(refused.value)


def test_a_word_that_is_too_long_for_a_name_is_refused_as_any_other() -> None:
    with pytest.raises(VgoError, match="There is no file aaa"):
        read_space("a" * 300)
