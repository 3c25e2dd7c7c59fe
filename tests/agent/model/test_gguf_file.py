"""What a GGUF file says of itself is read without loading it; a damaged or hostile one costs one sentence."""

from __future__ import annotations

import errno
import hashlib
import os
import struct
from pathlib import Path

import numpy as np
import pytest
from gguf import GGUFWriter
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vgo_agent.agent.model.gguf_file import read_gguf, sha256_of
from vgo_agent.knowledge.errors import VgoError

from ...examples import examples
from ...tiny_gguf import CHAT, huge, tiny


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny(tmp_path_factory.mktemp("gguf") / "tiny.gguf", metadata={"general.license": "mit"})


def refused(path: Path) -> str:
    with pytest.raises(VgoError) as caught:
        read_gguf(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_file_tells_what_it_is(model: Path) -> None:
    found = read_gguf(model)
    assert (found.architecture, found.text("general.name"), found.text("general.license")) == ("llama", "tiny", "mit")
    assert (found.context, found.vocabulary) == (4096, 3 + 256 + 95)
    assert found.text("tokenizer.chat_template") == CHAT
    assert found.parameters == 2 * 354 * 32 + 32 + 2 * (4 * 32 * 32 + 3 * 64 * 32 + 2 * 32)
    assert found.parameters * 4 <= found.weights < found.bytes
    assert found.stored_as == ("F32",)
    assert (found.whole("attention.head_count"), found.each_layer("attention.head_count_kv")) == (2, [2, 2])


def test_the_same_seed_gives_the_same_file(tmp_path: Path, model: Path) -> None:
    again = tiny(tmp_path / "again.gguf", metadata={"general.license": "mit"})
    assert again.read_bytes() == model.read_bytes()
    assert tiny(tmp_path / "other.gguf", seed=2).read_bytes() != model.read_bytes()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is not a GGUF file"),
        (b"GG", "is not a GGUF file"),
        (b"<!DOCTYPE html><html>", "is not a GGUF file"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0", "a pointer of git-lfs"),
        (b"GGUF", "is cut off: it has 4 of 8 bytes"),
        (b"GGUF" + struct.pack("<IQQ", 1, 0, 0), "of version 1"),
        (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "of version unknown"),
        (b"GGUF" + struct.pack("<IQQ", 3, 1 << 60, 1 << 60), "is cut off"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 0), "names no architecture"),
    ],
)
def test_what_is_no_model_is_told(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(content)
    assert says in refused(path)


def test_what_is_no_file_is_told(tmp_path: Path) -> None:
    assert "No such file" in refused(tmp_path / "nowhere.gguf")
    assert "is not a file" in refused(tmp_path)
    os.mkfifo(tmp_path / "pipe.gguf")
    assert "is not a file" in refused(tmp_path / "pipe.gguf")


def test_a_file_cut_off_anywhere_is_refused(tmp_path: Path, model: Path) -> None:
    whole, path = model.read_bytes(), tmp_path / "cut.gguf"
    for length in [*range(4, 1500, 7), *range(1500, len(whole), 997), len(whole) - 1]:
        path.write_bytes(whole[:length])
        said = refused(path)
        assert "is cut off: it has" in said or "is damaged" in said
    assert f"{len(whole) - 1:,} of {len(whole):,} bytes" in said


def test_a_file_that_cannot_be_mapped_is_told(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room(*_: object, **__: object) -> None:
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))

    monkeypatch.setattr(np, "memmap", no_room)
    assert "cannot be read (Cannot allocate memory)" in refused(model)


@settings(
    max_examples=examples(3),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
)
@given(data=st.data())
def test_changed_bytes_are_read_or_refused(tmp_path: Path, model: Path, data: st.DataObject) -> None:
    content = bytearray(model.read_bytes())
    head = 12_000
    for place in data.draw(st.lists(st.integers(4, head), min_size=1, max_size=6)):
        content[place : place + 8] = data.draw(st.binary(min_size=8, max_size=8))
    path = tmp_path / "changed.gguf"
    path.write_bytes(content)
    try:
        found = read_gguf(path)
    except VgoError:
        return
    assert found.parameters >= 0
    assert found.architecture


@pytest.mark.parametrize(
    ("architecture", "metadata", "says"),
    [
        ("llama", {"general.type": "adapter"}, "is an adapter to a model"),
        ("llama", {"general.type": "mmproj"}, "is the eyes of a model"),
        ("nomic-bert", {}, "writes no text"),
    ],
)
def test_what_cannot_decide_is_told(tmp_path: Path, architecture: str, metadata: dict[str, str], says: str) -> None:
    assert says in refused(tiny(tmp_path / "x.gguf", architecture=architecture, metadata=metadata))


def test_a_part_and_a_vocabulary_are_told(tmp_path: Path) -> None:
    for name in ("part", "vocabulary"):
        writer = GGUFWriter(tmp_path / f"{name}.gguf", "llama")
        if name == "part":
            writer.add_uint16("split.count", 3)
            writer.add_tensor("x", np.zeros(4, np.float32))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
    assert "is one of 3 parts" in refused(tmp_path / "part.gguf")
    assert "a vocabulary and no weights" in refused(tmp_path / "vocabulary.gguf")


def test_a_hole_counts_as_weights(tmp_path: Path) -> None:
    path = huge(tmp_path / "huge.gguf", 1 << 40)
    assert read_gguf(path).weights >= (1 << 40) - (1 << 20)
    assert path.stat().st_blocks * 512 < 1 << 20


def test_the_hash_is_remembered_until_the_file_changes(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "x.gguf"
    path.write_bytes(model.read_bytes())
    first = sha256_of(path)
    assert first == hashlib.sha256(model.read_bytes()).hexdigest()
    known = tmp_path / "cache" / "vgo-agent" / "model-hashes.json"
    known.write_text(known.read_text().replace(first, "remembered"))
    assert sha256_of(path) == "remembered"
    path.write_bytes(b"other")
    assert sha256_of(path) == hashlib.sha256(b"other").hexdigest()
    known.write_text("[1, {]")
    assert sha256_of(path) == hashlib.sha256(b"other").hexdigest()
