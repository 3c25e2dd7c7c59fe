"""The files: what is written is read again, and what is broken, newer or foreign is refused in a sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.tools.machine_profile.form import Calibration, Profile, read, write

from .made import profile

ONE = profile({"cpu-a": [1.0, 2.0]}, failed={"cpu-b": "ended by signal 11"})


def changed(path: Path, **fields: object) -> Path:
    path.write_text(json.dumps(json.loads(ONE.model_dump_json()) | fields))
    return path


def test_a_profile_is_read_as_it_was_written(tmp_path: Path) -> None:
    write(tmp_path / "a.json", ONE)
    assert read(tmp_path / "a.json", Profile) == ONE
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_one_of_a_newer_version_asks_for_an_update(tmp_path: Path) -> None:
    with pytest.raises(VgoError, match="has version 2 .* update vgo-agent"):
        read(changed(tmp_path / "a.json", version=2, novel="field"), Profile)


def test_a_broken_field_is_named(tmp_path: Path) -> None:
    with pytest.raises(VgoError, match=r"is broken \(battery\.seconds: has to be"):
        read(changed(tmp_path / "a.json", battery=ONE.battery.model_dump() | {"seconds": -1}), Profile)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"format": "other"}'])
def test_what_is_no_profile_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(VgoError, match="vgo-agent machine profile"):
        read(tmp_path / "a.json", Profile)


def test_a_profile_is_no_calibration(tmp_path: Path) -> None:
    with pytest.raises(VgoError, match="is no vgo-agent machine calibration: .* machine calibrate"):
        read(changed(tmp_path / "a.json"), Calibration)


def test_a_missing_file_and_a_missing_folder_are_sentences(tmp_path: Path) -> None:
    with pytest.raises(VgoError, match="Cannot read"):
        read(tmp_path / "none.json", Profile)
    with pytest.raises(VgoError, match="Cannot write"):
        write(tmp_path / "none/a.json", ONE)
