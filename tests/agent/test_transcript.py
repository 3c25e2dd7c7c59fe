"""The transcript: what is appended is read back, and any change of a byte is told."""

import os
import resource
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.agent.model.facts import Said
from vgo_agent.agent.transcript import Decision, EventBody, RunEnd, ToolEnd, ToolStart, Transcript, parse, read
from vgo_agent.knowledge.errors import VgoError

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
BODIES = st.one_of(
    st.builds(ToolStart, call_id=st.text(max_size=9)),
    st.builds(ToolEnd, call_id=st.text(max_size=9), result=st.dictionaries(st.text(max_size=5), JSON, max_size=3)),
    st.builds(
        Decision,
        call_id=st.text(max_size=9),
        tool=st.text(max_size=9),
        arguments=st.dictionaries(st.text(max_size=5), JSON, max_size=3),
        why=st.text(max_size=20),
        origin=st.just("rules"),
        legal=st.just(("conclude",)),
        said=st.none() | st.builds(Said, prompt=st.text(max_size=5), text=st.text(max_size=20)),
    ),
)


def transcript_of(folder: Path, bodies: list[EventBody]) -> tuple[Path, Transcript]:
    path = folder / "transcript.jsonl"
    path.unlink(missing_ok=True)
    transcript = Transcript.open(path)
    for body in bodies:
        transcript.append(body)
    return path, transcript


@given(bodies=st.lists(BODIES, min_size=1, max_size=5))
@settings(max_examples=60, deadline=None)
def test_reading_back_gives_the_events_that_were_appended(tmp_path_factory, bodies):
    path, transcript = transcript_of(tmp_path_factory.mktemp("t"), bodies)
    assert read(path) == transcript.events


@given(bodies=st.lists(BODIES, min_size=1, max_size=4), data=st.data())
@settings(max_examples=120, deadline=None)
def test_any_changed_byte_is_told(tmp_path_factory, bodies, data):
    path, _ = transcript_of(tmp_path_factory.mktemp("t"), bodies)
    content = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] = data.draw(st.integers(0, 255).filter(lambda byte: byte != content[place]))
    path.write_bytes(bytes(content))
    with pytest.raises(VgoError):
        read(path)


def test_a_cut_tail_is_still_a_chain_which_is_why_the_end_record_counts(tmp_path):
    path, _ = transcript_of(tmp_path, [ToolStart(call_id=str(n)) for n in range(4)])
    lines = path.read_bytes().splitlines(keepends=True)
    assert len(list(parse(b"".join(lines[:2]), "x"))) == 2


def test_opening_takes_off_a_torn_line_and_the_end_of_an_interrupted_run(tmp_path):
    path, transcript = transcript_of(tmp_path, [ToolStart(call_id="c001")])
    kept = path.read_bytes()
    transcript.append(RunEnd(status="interrupted", count=1, tip=transcript.tip))
    with path.open("ab") as file:
        file.write(b'{"body":{"call_id"')
    assert Transcript.open(path).events == transcript.events[:1]
    assert path.read_bytes() == kept


@pytest.mark.parametrize("torn", [b"\0" * 200, b'{"body":' + b"\0" * 64 + b"}\n", b'{"bo' + b"\0" * 9])
def test_zeros_that_a_loss_of_power_leaves_in_place_of_the_last_event_are_taken_off(tmp_path, torn):
    path, transcript = transcript_of(tmp_path, [ToolStart(call_id="c001")])
    kept = path.read_bytes()
    path.write_bytes(kept + torn)
    assert Transcript.open(path).events == transcript.events
    assert path.read_bytes() == kept


def test_a_finished_run_keeps_its_end(tmp_path):
    path, transcript = transcript_of(tmp_path, [ToolStart(call_id="c001")])
    transcript.append(RunEnd(status="finished", count=1, tip=transcript.tip))
    assert Transcript.open(path).events == transcript.events


@pytest.mark.parametrize("call", ["open", "fsync"])
def test_what_follows_a_signal_still_follows_what_stands_in_the_file(tmp_path, monkeypatch, call):
    """SIGTERM while a slow disk writes an event; the end of the run is appended afterwards."""
    path, transcript = transcript_of(tmp_path, [ToolStart(call_id="c001")])
    place = Path if call == "open" else os
    real = getattr(place, call)

    def slow(*args, **named):
        os.kill(os.getpid(), signal.SIGTERM)
        return real(*args, **named)

    before = signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        with monkeypatch.context() as patched:
            patched.setattr(place, call, slow)
            with pytest.raises(SystemExit):
                transcript.append(ToolStart(call_id="c002"))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert read(path) == transcript.events
    transcript.append(RunEnd(status="interrupted", count=len(transcript.events), tip=transcript.tip))
    assert read(path) == transcript.events and len(transcript.events) == (2 if call == "open" else 3)


def test_an_event_that_found_no_room_is_taken_off_again(tmp_path):
    path, transcript = transcript_of(tmp_path, [ToolStart(call_id="c001")])
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 10, before[1]))
    try:
        with pytest.raises(VgoError, match="free space there"):
            transcript.append(ToolStart(call_id="c002"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    transcript.append(RunEnd(status="interrupted", count=len(transcript.events), tip=transcript.tip))
    assert read(path) == transcript.events and len(transcript.events) == 2


def test_another_kind_of_line_end_is_a_change(tmp_path):
    path, _ = transcript_of(tmp_path, [ToolStart(call_id=str(n)) for n in range(3)])
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r", 1))
    with pytest.raises(VgoError):
        read(path)


def test_a_transcript_from_before_models_were_asked_keeps_its_bytes(tmp_path):
    before = Path(__file__).with_name("format_1.jsonl")
    events = read(before)
    path, _ = transcript_of(tmp_path, [event.body for event in events])
    assert path.read_bytes() == before.read_bytes()
