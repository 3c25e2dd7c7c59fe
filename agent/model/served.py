"""The process that holds the model: reads requests from standard input, writes answers to standard output.

It is one process for one model because llama.cpp ends the process that holds it when something is wrong (a bad grammar,
two calls at once), and because a call is cancelled by killing it. Nothing here decides; the parent checks every answer.
`python -m vgo_agent.agent.model.served` is run by `ModelProcess` only.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import llama_cpp
from jinja2 import TemplateError
from llama_cpp import llama_chat_format

from ...tools.child import Refused, serve
from .decode import Decoder, Stuck
from .gguf_file import BATCH

DATE = "01 Jan 2026"
"""For chat templates that print today's date."""
TEMPLATE = "chat template"
"""How messages were framed, where the template of the model did it."""
DENSE = "".join(
    f'- "uncore_imc_{nth}_cas_count_write_ddrt" by "perf:r{nth}1b7:l3_miss_u0x{nth:02x}": AUC 0.{nth + 51}, '
    f"p {nth}.3e-0{nth % 9}, not visible\\n"
    for nth in range(40)
)
"""Forty factors with long names and many digits: no part of a prompt takes more tokens for its length."""
MARGIN = 0.9
"""Other words may take more tokens for their length than those."""
TEMPLATE_BYTES = 256 << 20
"""Memory that a chat template may take."""
MOST_CHARACTERS = 1 << 20
"""That a chat template may write: no context is as long."""
TOLD = 200
"""Characters of why it fails."""
FAILURES = (
    TemplateError,
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)
"""Of a chat template, which is a program of whoever made the file."""


class LoadedModel:
    """The model of this process, once it is loaded."""

    _decoder: Decoder

    def load(self, path: str, context: int, threads: int) -> dict[str, Any]:
        """Load a GGUF and describe it; raises Refused where the library cannot."""
        try:
            self._decoder = Decoder(load(Path(path), context, threads))
        except (AssertionError, MemoryError, OSError, RuntimeError, ValueError) as error:  # as the library says so
            raise Refused(f"llama-cpp-python {llama_cpp.__version__} cannot load it") from error
        return described(self._decoder.model)

    def complete(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer messages, under a grammar or freely."""
        return complete(self._decoder, request)


def load(path: Path, context: int, threads: int) -> Any:
    """Load a GGUF so that the same build on the same CPU writes the same tokens again."""
    with patch.object(llama_chat_format, "Jinja2ChatFormatter", _Unparsed):
        return llama_cpp.Llama(
            str(path),
            n_ctx=context,
            n_batch=BATCH,
            n_ubatch=BATCH,
            n_threads=threads,
            n_threads_batch=threads,
            flash_attn=False,
            verbose=False,
        )


class _Unparsed:
    """Stands for a chat template while the library loads: it parses all of them, and would end with a broken one."""

    def __init__(self, **_: Any) -> None:
        """Parse nothing; a template is filled when a prompt is framed."""

    def to_chat_handler(self) -> None:
        """Give nothing: messages are framed here."""


def described(model: Any) -> dict[str, Any]:
    """Say what was loaded, and by what."""
    return {
        "library": f"llama-cpp-python {llama_cpp.__version__}",
        "cpu": llama_cpp.llama_print_system_info().decode(),
        "context": model.n_ctx(),
        "batch": model.n_batch,
        "threads": model.n_threads,
        "characters_a_token": characters_a_token(model),
        "metadata": {key: value for key, value in model.metadata.items() if not key.startswith("tokenizer.ggml.")},
    }


def characters_a_token(model: Any) -> float:
    """Measure with its own tokenizer how much of a prompt fits one token, the frame of the template included."""
    count = len(prompt_of(model, [{"role": "user", "content": DENSE}])[0])
    return round(MARGIN * len(DENSE) / count, 2)


def complete(decoder: Decoder, request: dict[str, Any]) -> dict[str, Any]:
    """Answer messages, under a grammar or freely; raises Refused for what cannot be done."""
    prompt, framed = prompt_of(decoder.model, request["messages"])
    room = decoder.model.n_ctx() - len(prompt)
    if room < request["most"]:
        raise Refused(
            f"the prompt has {len(prompt)} tokens and the answer up to {request['most']}, which is more than the "
            f"context of {decoder.model.n_ctx()}"
        )
    began = time.perf_counter()
    try:
        found = decoder.decode(prompt, request["grammar"], request["most"], request["temperature"], request["seed"])
    except ValueError as error:
        raise Refused(str(error)) from error
    except Stuck as error:
        raise Refused("no token of its vocabulary goes on with the grammar") from error
    return {
        "text": decoder.text(found.tokens),
        "ended": found.ended,
        "prompt_tokens": len(prompt),
        "tokens": len(found.tokens),
        "framed": framed,
        "reused": decoder.reused,
        "seconds": {"all": time.perf_counter() - began, "model": decoder.model_s, "prompt": decoder.prompt_s},
    }


def prompt_of(model: Any, messages: list[dict[str, str]]) -> tuple[list[int], str]:
    """Put messages into the model's own chat template, or, where it has none that works, one after the other."""
    text, framed = framed_by_template(model, messages)
    if framed == TEMPLATE:
        return model.tokenize(text.encode(), add_bos=False, special=True), framed
    plain = "\n".join(message["content"] for message in messages) + "\n"
    return model.tokenize(plain.encode(), add_bos=True, special=False), framed


def framed_by_template(model: Any, messages: list[Any]) -> tuple[str, str]:
    """Fill the chat template with a fixed date, so that a prompt is the same on every day; or say why it cannot be."""
    template = model.metadata.get("tokenizer.chat_template")
    if not template:
        return "", "no chat template"
    bos, eos = (
        model.detokenize([token], special=True).decode(errors="replace") if token >= 0 else ""
        for token in (model.token_bos(), model.token_eos())
    )
    try:
        with bounded_memory():
            text = _filled(template, bos, eos, messages)
    except FAILURES as error:
        return "", f"its chat template fails: {str(error)[:TOLD] or type(error).__name__}"
    if len(text) > MOST_CHARACTERS:
        return "", f"its chat template fails: it writes {len(text):,} characters"
    return text, TEMPLATE


def _filled(template: str, bos: str, eos: str, messages: list[Any]) -> str:
    formatter = llama_chat_format.Jinja2ChatFormatter(template, bos_token=bos, eos_token=eos)
    vars(formatter)["strftime_now"] = lambda _: DATE  # which it hands to the template
    return str(formatter(messages=messages).prompt)


@contextmanager
def bounded_memory() -> Iterator[None]:
    """Let this process grow by so much only: a template could ask for all the memory there is."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    bound = now + TEMPLATE_BYTES
    if (soft == resource.RLIM_INFINITY or bound < soft) and (hard == resource.RLIM_INFINITY or bound < hard):
        resource.setrlimit(resource.RLIMIT_AS, (bound, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


if __name__ == "__main__":
    loaded = LoadedModel()
    serve({"load": loaded.load, "complete": loaded.complete}, (Refused,))
