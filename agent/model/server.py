"""A model on a server with the interface of OpenAI, asked under a grammar or a schema as that server takes it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeVar

from pydantic import AliasPath, BaseModel, Field, ValidationError

from ...knowledge.errors import VgoError
from .exchange import Site
from .language_model import ModelFailed

KEY = "VGO_AGENT_API_KEY"
"""Variable with the key of the server; it is in no settings file and in no record."""
LOOK_S = 10.0
"""Seconds to say which model there is."""
UNTOLD_CONTEXT = 2048
"""Tokens, where a server does not say: what llama_cpp.server takes without being told."""
LONGEST_NAME = 80
Kind = Literal["llama-server", "llama_cpp.server", "vLLM", "other"]
OWNERS: Mapping[str, Kind] = {"llamacpp": "llama-server", "me": "llama_cpp.server", "vllm": "vLLM"}
"""By `owned_by` in the list of models."""
ENDING = 2
"""Tokens that end an answer: servers count them too, and without them the longest answer would count as cut off."""
NEW_VLLM = (0, 11)
"""From this version on vLLM takes `structured_outputs`; before, `guided_grammar`."""
PLAIN = {"chat_template_kwargs": {"enable_thinking": False}}
"""Templates of models that think would open a thought, which a grammar over the answer forbids to close."""
A = TypeVar("A", bound=BaseModel)


class ServedModel(BaseModel):
    """One model, as /v1/models lists it."""

    id: str = Field(min_length=1)
    owned_by: str = ""
    max_model_len: int | None = None
    """Context, where the server is vLLM."""


class Models(BaseModel):
    """What /v1/models answers."""

    data: list[ServedModel] = Field(min_length=1)


class Message(BaseModel):
    """What the model wrote."""

    content: str | None = None


class ChatCompletion(BaseModel):
    """What /v1/chat/completions answers: the first of its choices, and the tokens that were counted."""

    message: Message = Field(validation_alias=AliasPath("choices", 0, "message"))
    finish_reason: str | None = Field(None, validation_alias=AliasPath("choices", 0, "finish_reason"))
    prompt_tokens: int = Field(0, validation_alias=AliasPath("usage", "prompt_tokens"))
    completion_tokens: int = Field(0, validation_alias=AliasPath("usage", "completion_tokens"))


@dataclass(frozen=True)
class ModelEndpoint:
    """A server as it was found."""

    model: str
    kind: Kind
    version: str = ""
    context: int = UNTOLD_CONTEXT


class ModelServer:
    """Looks once which server it is; each question is an exchange of its own."""

    def __init__(self, address: str) -> None:
        """Take a checked address; behind a `#`, the name of the model that is meant."""
        base, _, self._wanted = address.partition("#")
        self._site = Site(base, key_of_environment())

    def describe(self) -> dict[str, Any]:
        """Say which model it is, and on what; raises ModelFailed where no server answers."""
        found = self._found
        return {
            "name": "".join(char for char in found.model.rpartition("/")[2] if char.isprintable())[:LONGEST_NAME],
            "kind": "server",
            "library": f"{found.kind} {found.version}".strip(),
            "context": found.context,
            "metadata": {},
        }

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Ask one thing; raises ModelFailed where there is no whole answer within so many seconds."""
        found = self._found
        body = {
            "model": found.model,
            "messages": request["messages"],
            "max_tokens": request["most"] + ENDING,
            "temperature": request["temperature"],
            "seed": request["seed"],
            "stream": False,
        }
        said = self._site.fetch("/v1/chat/completions", body | constraint(found, request), seconds)
        reply = _read(ChatCompletion, said, "a chat completion")
        text = reply.message.content or ""
        return {
            "text": canonical(text, request["schema"]) if request["schema"] else text,
            "ended": "stop" if reply.finish_reason == "stop" else "length",
            "prompt_tokens": reply.prompt_tokens,
            "tokens": reply.completion_tokens,
            "framed": found.kind,
        }

    @cached_property
    def _found(self) -> ModelEndpoint:
        listed = _read(Models, self._site.fetch("/v1/models", None, LOOK_S), "a list of models").data
        named = [model for model in listed if self._wanted in ("", model.id)]
        if not named:
            raise ModelFailed(f"it has no model {self._wanted}, but {', '.join(model.id for model in listed[:8])}")
        model = named[0]
        kind = OWNERS.get(model.owned_by, "other")
        if kind == "vLLM":
            told = self._optional("/version")
            return ModelEndpoint(model.id, kind, str(told.get("version", "")), model.max_model_len or UNTOLD_CONTEXT)
        if kind == "llama-server":
            told = self._optional("/props")
            slot = told.get("default_generation_settings")
            context = slot.get("n_ctx") if isinstance(slot, dict) else None
            known = context if isinstance(context, int) and context > 0 else UNTOLD_CONTEXT
            return ModelEndpoint(model.id, kind, str(told.get("build_info", "")), known)
        return ModelEndpoint(model.id, kind)

    def _optional(self, path: str) -> dict[str, Any]:
        try:
            said = json.loads(self._site.fetch(path, None, LOOK_S))
        except (ModelFailed, ValueError, RecursionError):
            return {}
        return said if isinstance(said, dict) else {}


def key_of_environment() -> str:
    """Read the key; raises VgoError for one that no header can hold."""
    key = os.environ.get(KEY, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise VgoError(f"{KEY} holds characters that no key has; set it anew.")
    return key


def constraint(found: ModelEndpoint, request: Mapping[str, Any]) -> dict[str, Any]:
    """Say what the answer must look like, in the words of that server."""
    grammar, schema = request["grammar"], request["schema"]
    form = {"type": "json_schema", "json_schema": {"name": "call", "strict": True, "schema": schema}}
    match found.kind:
        case "llama-server":  # a kept prompt would change sums
            return PLAIN | {"cache_prompt": False} | ({"grammar": grammar} if grammar else {})
        case "llama_cpp.server":
            return {"grammar": grammar} if grammar else {}
        case "vLLM" if schema:
            return PLAIN | {"response_format": form}
        case "vLLM" if grammar:
            said = tuple(int(part) for part in found.version.split(".")[:2] if part.isdigit())
            newer = (said or NEW_VLLM) >= NEW_VLLM
            return PLAIN | ({"structured_outputs": {"grammar": grammar}} if newer else {"guided_grammar": grammar})
        case "vLLM":
            return PLAIN
        case _:
            return {"response_format": form} if schema else {}


def canonical(text: str, schema: Mapping[str, Any]) -> str:
    """Write JSON without blanks and with the keys in the order of its schema; what is no JSON stays as it is."""
    try:
        value = json.loads(text)
        return json.dumps(_ordered(value, schema), separators=(",", ":"))
    except (ValueError, RecursionError):
        return text


def _ordered(value: Any, schema: Mapping[str, Any]) -> Any:
    for option in schema.get("anyOf", [schema]):
        listed = option.get("enum", [option["const"]] if "const" in option else [])
        if value in listed:
            return listed[listed.index(value)]
        parts = option.get("properties", {})
        # One tool is told from another by what is constant in its call.
        constant = {name: part["const"] for name, part in parts.items() if "const" in part}
        if isinstance(value, dict) and value.keys() == parts.keys() and constant.items() <= value.items():
            return {name: _ordered(value[name], part) for name, part in parts.items()}
    return value


def _read(kind: type[A], said: bytes, what: str) -> A:
    try:
        return kind.model_validate_json(said)
    except ValidationError as error:
        raise ModelFailed(f"the server answers something else than {what}") from error
