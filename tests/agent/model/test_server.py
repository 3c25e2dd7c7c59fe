"""A model on a server is asked as that server takes it; whatever the server does costs one sentence, never more."""

from __future__ import annotations

import itertools
import json
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest

from vgo_agent.agent.model.exchange import MOST_BYTES, checked_address
from vgo_agent.agent.model.language_model import ModelFailed
from vgo_agent.agent.model.server import ModelServer, canonical
from vgo_agent.knowledge.errors import VgoError

from .stand_in import Answer, Request, Response, standing_in

SCHEMA = {
    "anyOf": [
        {"type": "object", "properties": {"tool": {"const": "label"}, "args": {"type": "object", "properties": {}}}},
        {
            "type": "object",
            "properties": {
                "tool": {"const": "profile"},
                "args": {
                    "type": "object",
                    "properties": {"layers": {"enum": [["process"], ["perf"]]}, "seconds": {"enum": [30.0, 60.0]}},
                },
            },
        },
    ]
}
CALL = '{"tool":"profile","args":{"layers":["perf"],"seconds":60.0}}'
REQUEST = {
    "messages": [{"role": "user", "content": "decide"}],
    "grammar": 'root ::= "a"',
    "schema": SCHEMA,
    "most": 70,
    "temperature": 0.0,
    "seed": 1,
}
KEY = "sk-very-secret"


def said(text: str | None, why: str = "stop") -> Response:
    reply = {"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": why}]}
    return Response(body=json.dumps(reply | {"usage": {"prompt_tokens": 5, "completion_tokens": 7}}).encode())


def server(owner: str, chat: Answer | Response, **more: Any) -> Answer:
    """Answer as the server of that owner does; `more` is said to other GETs, by name."""

    def answer(request: Request) -> Response:
        if request.path == "/v1/models":
            listed = [
                {"id": "org/first", "object": "model", "owned_by": owner, "max_model_len": 8192},
                {"id": "second"},
            ]
            return Response(body=json.dumps({"object": "list", "data": listed}).encode())
        if request.path.strip("/") in more:
            return Response(body=json.dumps(more[request.path.strip("/")]).encode())
        if request.method == "POST":
            return chat if isinstance(chat, Response) else chat(request)
        return Response(status=404)

    return answer


def asked(answer: Answer, seconds: float = 20.0, **changed: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Ask once; give the answer and the body that was sent."""
    with standing_in(answer) as place:
        got = ModelServer(place.address).ask(REQUEST | changed, seconds)
        return got, json.loads(place.requests[-1].body)


def failure(answer: Answer, seconds: float = 20.0) -> str:
    with standing_in(answer) as place, pytest.raises(ModelFailed) as caught:
        ModelServer(place.address).ask(REQUEST, seconds)
    assert "\n" not in str(caught.value)
    return str(caught.value)


FORM = {"type": "json_schema", "json_schema": {"name": "call", "strict": True, "schema": SCHEMA}}
PLAIN = {"chat_template_kwargs": {"enable_thinking": False}}


@pytest.mark.parametrize(
    ("owner", "more", "schema", "sent"),
    [
        ("me", {}, SCHEMA, {"grammar": 'root ::= "a"'}),
        ("llamacpp", {"props": {}}, SCHEMA, {"grammar": 'root ::= "a"', "cache_prompt": False, **PLAIN}),
        ("vllm", {"version": {"version": "0.10.0"}}, SCHEMA, {"response_format": FORM, **PLAIN}),
        ("vllm", {"version": {"version": "0.10.0"}}, None, {"guided_grammar": 'root ::= "a"', **PLAIN}),
        (
            "vllm",
            {"version": {"version": "0.14.1"}},
            None,
            {"structured_outputs": {"grammar": 'root ::= "a"'}, **PLAIN},
        ),
        ("vllm", {}, None, {"structured_outputs": {"grammar": 'root ::= "a"'}, **PLAIN}),
        ("library", {}, SCHEMA, {"response_format": FORM}),
    ],
)
def test_each_server_is_told_in_its_own_words_what_may_be_written(
    owner: str, more: dict[str, Any], schema: Any, sent: dict[str, Any]
) -> None:
    got, body = asked(server(owner, said(CALL), **more), schema=schema)
    assert got == {"text": CALL, "ended": "stop", "prompt_tokens": 5, "tokens": 7, "framed": got["framed"]}
    usual = {"model": "org/first", "max_tokens": 72, "temperature": 0.0, "seed": 1, "stream": False}
    assert body == usual | {"messages": REQUEST["messages"]} | sent


def test_free_text_is_asked_for_without_any_of_it() -> None:
    for owner in ("me", "llamacpp", "vllm", "library"):
        got, body = asked(server(owner, said("well then")), grammar="", schema=None)
        assert got["text"] == "well then"
        assert not body.keys() & {"grammar", "response_format", "structured_outputs", "guided_grammar"}


def test_a_server_says_what_it_is() -> None:
    props = {"build_info": "b6730-abc", "default_generation_settings": {"n_ctx": 16384}}
    for owner, more, library, context in (
        ("llamacpp", {"props": props}, "llama-server b6730-abc", 16384),
        ("vllm", {"version": {"version": "0.11.0"}}, "vLLM 0.11.0", 8192),
        ("me", {}, "llama_cpp.server", 2048),
        ("openai", {}, "other", 2048),
    ):
        with standing_in(server(owner, said(""), **more)) as place:
            told = ModelServer(f"{place.address}").describe()
        assert told == {"name": "first", "kind": "server", "library": library, "context": context, "metadata": {}}


def test_one_of_several_models_is_named_behind_the_address() -> None:
    with standing_in(server("me", said(CALL))) as place:
        assert ModelServer(f"{place.address}#second").describe()["name"] == "second"
        with pytest.raises(ModelFailed, match="it has no model third, but org/first, second"):
            ModelServer(f"{place.address}#third").describe()


@pytest.mark.parametrize(
    "text",
    [
        CALL,
        '{\n  "args": {"seconds": 60, "layers": [ "perf" ]},\n  "tool": "profile"\n}',
        '{"tool" : "profile", "args" : {"seconds" : 6e1, "layers" : ["perf"]}}',
    ],
)
def test_a_call_is_written_as_the_planner_reads_it(text: str) -> None:
    assert canonical(text, SCHEMA) == CALL


@pytest.mark.parametrize("text", ["", "no call", "[" * 5000, '{"tool":', '"label"', '{"tool":"rm","args":{"x":[1,2]}}'])
def test_what_is_no_call_stays_as_it_is(text: str) -> None:
    assert canonical(text, SCHEMA) == text


def forever(pause: float) -> Iterator[bytes]:
    for _ in itertools.count():
        time.sleep(pause)
        yield b" "


@pytest.mark.parametrize(
    ("chat", "says"),
    [
        (Response(status=500, body=b"<html>oh</html>"), "the server answers 500 to /v1/chat/completions"),
        (Response(status=400, body=b'{"error": {"message": "bad\\n grammar"}}'), "answers 400 to .*: bad grammar"),
        (Response(status=302, headers={"Location": "http://127.0.0.1:9/"}), "the server answers 302"),
        (Response(body=b"<!DOCTYPE html>"), "something else than a chat completion"),
        (Response(body=b"[" * 100_000), "something else than a chat completion"),
        (Response(body=b'{"choices": []}'), "something else than a chat completion"),
        (Response(body=b'{"choices": [{"message": {"content": 5}}]}'), "something else than a chat completion"),
        (Response(body=b'{"choices":[{"message":{"content":"\\ud800"}}]}'), "something else than a chat completion"),
        (Response(body=b"x" * (MOST_BYTES + 1)), "the server answers more than 1 MB"),
        (Response(body=b"{}" * 50, cut_after=20), "the server cannot be talked to"),
        (Response(body=b"\x1f\x8b", headers={"Content-Encoding": "gzip"}), "something else than a chat completion"),
    ],
)
def test_rubbish_is_told_in_one_sentence(chat: Response, says: str) -> None:
    assert re.search(says, failure(server("me", chat)))


def test_a_server_that_never_ends_is_left_in_time() -> None:
    assert failure(server("me", Response(body=forever(0.05))), seconds=1.0) == "no answer within 1 s"


def test_a_server_that_is_gone_is_told() -> None:
    with standing_in(server("me", said(CALL))) as place:
        model = ModelServer(place.address)
        model.describe()
    with pytest.raises(ModelFailed, match="the server cannot be talked to"):
        model.ask(REQUEST, 5.0)


def test_what_is_cut_or_empty_is_no_answer() -> None:
    assert asked(server("me", said("{", "length")))[0]["ended"] == "length"
    assert asked(server("me", said(None, "content_filter")))[0] | {"text": ""} == asked(server("me", said("", "x")))[0]


def test_the_key_is_sent_and_told_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VGO_AGENT_API_KEY", f" {KEY}\n")
    angry = Response(status=401, body=json.dumps({"error": {"message": f"{KEY} is wrong"}}).encode())
    with standing_in(server("me", angry)) as place:
        model = ModelServer(place.address)
        with pytest.raises(ModelFailed) as caught:
            model.ask(REQUEST, 5.0)
        assert all(request.headers["authorization"] == f"Bearer {KEY}" for request in place.requests)
        assert KEY not in json.dumps(model.describe())
    assert str(caught.value).endswith("[key] is wrong")
    monkeypatch.setenv("VGO_AGENT_API_KEY", "käse")
    with pytest.raises(VgoError, match="VGO_AGENT_API_KEY holds characters"):
        ModelServer("http://127.0.0.1:1")


def test_no_proxy_stands_between_a_machine_and_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    assert asked(server("me", said(CALL)))[0]["text"] == CALL


@pytest.mark.parametrize(
    ("spec", "address"),
    [
        ("http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080"),
        ("HTTPS://Host.org/llm/v1#a/b", "https://Host.org/llm#a/b"),
        ("http://[::1]:80", "http://[::1]:80"),
    ],
)
def test_an_address_is_kept_without_its_version(spec: str, address: str) -> None:
    assert checked_address(spec) == address


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("http://", "is no address"),
        ("http://host:port", "is no address"),
        ("http://[::1", "is no address"),
        ("http://a b", "is no address"),
        ("http://me:word@host", "holds a user, a password"),
        ("http://host?key=word", "holds a user, a password"),
    ],
)
def test_an_address_that_cannot_be_meant_is_refused(spec: str, says: str) -> None:
    with pytest.raises(VgoError, match=says) as caught:
        checked_address(spec)
    assert "word" not in str(caught.value).replace("a password", "")
