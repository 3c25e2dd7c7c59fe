"""A layer of the user runs nothing until the user has trusted the file as it is."""

from pathlib import Path

import pytest

from vgo_agent import layers
from vgo_agent.knowledge.errors import VgoError
from vgo_agent.layers.loader import find_layer
from vgo_agent.layers.reading import commands, store, trust
from vgo_agent.layers.sharp import files_of

WRAPPER = """\
key: mine
description: A wrapper of the user's.
run: env A=1 $CMD $ARGS
environment: {LD_PRELOAD: /tmp/x.so}
columns:
  - {name: mine.value, unit: count, description: A number., extract: {shell: "grep x | wc -l"}}
"""
HARMLESS = """\
key: mine
description: A number that the program prints.
columns:
  - {name: mine.value, unit: count, description: A number., extract: {regex: "x=(.*)"}}
"""


pytestmark = pytest.mark.usefixtures("own_state")


@pytest.fixture
def mine(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(WRAPPER)
    return path


def test_an_untrusted_file_is_refused_and_every_command_is_shown(mine):
    with pytest.raises(VgoError) as refused:
        find_layer(str(mine))
    for words in (
        "run: env A=1 $CMD $ARGS",
        "LD_PRELOAD=/tmp/x.so",
        "shell: grep x | wc -l",
        f"`vgo-agent layers --trust {mine}`",
    ):
        assert words in str(refused.value)


def test_a_trusted_file_is_loaded_until_it_changes(mine):
    trust(files_of(mine))
    assert find_layer(str(mine)).run == "env A=1 $CMD $ARGS"
    mine.write_text(WRAPPER.replace("A=1", "A=2"))
    with pytest.raises(VgoError, match="not trusted"):
        find_layer(str(mine))
    mine.write_text(WRAPPER)
    assert find_layer(str(mine)).key == "mine"


def test_the_same_bytes_at_another_place_are_not_trusted(mine, tmp_path):
    trust(files_of(mine))
    (tmp_path / "other").mkdir()
    (tmp_path / "other/mine.yaml").write_text(WRAPPER)
    with pytest.raises(VgoError, match="not trusted"):
        find_layer(str(tmp_path / "other/mine.yaml"))


def test_a_file_that_runs_nothing_needs_no_trust(mine):
    mine.write_text(HARMLESS)
    assert commands(find_layer(str(mine))) == []


def test_a_built_in_probe_that_is_told_what_to_load_needs_trust(mine):
    told = "parameters: {library: /tmp/x.so}\ncolumns: []\n"
    mine.write_text(f"key: mine\ndescription: A library.\nprobe: process\n{told}")
    with pytest.raises(VgoError, match="it would run: probe: process with library=/tmp/x.so"):
        find_layer(str(mine))


def test_the_example_of_the_handbook_loads_and_is_refused_until_it_is_trusted(tmp_path):
    text = (Path(layers.__file__).parent / "README.md").read_text()
    path = tmp_path / "blur.yaml"
    path.write_text(text.split("```yaml\n")[1].split("```")[0])
    with pytest.raises(VgoError, match="not trusted.*numactl"):
        find_layer(str(path))
    trust(files_of(path))
    layer = find_layer(f"{path}:node=1")
    assert layer.parameters == {"node": 1}
    assert [column.name for column in layer.columns] == ["blur.tiles", "blur.retries", "blur.mode"]


def test_a_layer_in_the_folder_of_the_user_has_a_name_and_needs_trust_too(mine, tmp_path):
    folder = tmp_path / "config/vgo-agent/layers"
    folder.mkdir(parents=True)
    mine.rename(folder / "mine.yaml")
    with pytest.raises(VgoError, match="not trusted"):
        find_layer("mine")
    trust(files_of(folder / "mine.yaml"))
    assert find_layer("mine").key == "mine"


def test_two_files_are_trusted_beside_each_other(mine, tmp_path):
    second = tmp_path / "second.yaml"
    second.write_text(WRAPPER.replace("mine", "second"))
    trust(files_of(mine))
    trust(files_of(second))
    assert (find_layer(str(mine)).key, find_layer(str(second)).key) == ("mine", "second")


def test_a_broken_store_is_named_and_trusts_nothing(mine):
    trust(files_of(mine))
    store().write_text("{")
    with pytest.raises(VgoError, match="delete it and trust your layers again"):
        find_layer(str(mine))
