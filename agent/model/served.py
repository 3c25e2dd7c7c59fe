"""The process that holds the model: reads requests from standard input, writes answers to standard output.

It is one process for one model because llama.cpp ends the process that holds it when something is wrong (a bad grammar,
two calls at once), and because a call is cancelled by killing it. Nothing here decides; the parent checks every answer.
Lines of JSON both ways. `python -m vgo_agent.agent.model.served` is run by `Model` only.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

BATCH = 512
"""Tokens evaluated at once; fixed, since another number changes sums."""


def main() -> int:
    """Serve until standard input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # llama.cpp and its libraries may print; only answers may go where answers are read
    asked = json.loads(sys.stdin.readline())
    model = load(Path(asked["path"]), asked["context"], asked["threads"])
    say(answers, described(model))
    kinds: dict[str, Callable[[Any, dict[str, Any]], dict[str, Any]]] = {"complete": complete, "render": render}
    for line in sys.stdin:
        request = json.loads(line)
        say(answers, kinds[request["kind"]](model, request))
    return 0


def load(path: Path, context: int, threads: int) -> Any:
    """Load a GGUF so that the same build on the same CPU writes the same tokens again."""
    from llama_cpp import Llama

    return Llama(
        str(path),
        n_ctx=context,
        n_batch=BATCH,
        n_ubatch=BATCH,
        n_threads=threads,
        n_threads_batch=threads,
        flash_attn=False,
        verbose=False,
    )


def described(model: Any) -> dict[str, Any]:
    """Say what was loaded, and by what."""
    import llama_cpp

    return {
        "library": llama_cpp.__version__,
        "cpu": llama_cpp.llama_print_system_info().decode(),
        "context": model.n_ctx(),
        "trained_context": llama_cpp.llama_model_n_ctx_train(model.model),
        "parameters": llama_cpp.llama_model_n_params(model.model),
        "bytes": llama_cpp.llama_model_size(model.model),
        "metadata": {key: value for key, value in model.metadata.items() if not key.startswith("tokenizer.ggml.")},
    }


def complete(model: Any, request: dict[str, Any]) -> dict[str, Any]:
    """Continue a prompt, under a grammar or freely; what the library refuses is told, not raised."""
    from llama_cpp import LlamaGrammar

    prompt = model.tokenize(request["prompt"].encode(), add_bos=request["bos"], special=True)
    room = model.n_ctx() - len(prompt)
    if room < request["most"]:
        return {
            "refused": f"the prompt has {len(prompt)} tokens and the answer up to {request['most']}, which is more "
            f"than the context of {model.n_ctx()}"
        }
    if request["grammar"] and not sound(model, request["grammar"]):
        return {"refused": "llama.cpp does not understand the grammar"}
    model.reset()
    found = model.create_completion(
        prompt,
        max_tokens=request["most"],
        temperature=request["temperature"],
        seed=request["seed"],
        stop=request["stop"],
        grammar=LlamaGrammar.from_string(request["grammar"], verbose=False) if request["grammar"] else None,
    )
    choice = found["choices"][0]
    return {
        "text": choice["text"],
        "ended": choice["finish_reason"],
        "prompt_tokens": found["usage"]["prompt_tokens"],
        "tokens": found["usage"]["completion_tokens"],
    }


def sound(model: Any, grammar: str) -> bool:
    """Ask llama.cpp whether it can read a grammar: a bad one, once in use, ends the process."""
    import llama_cpp

    vocabulary = llama_cpp.llama_model_get_vocab(model.model)
    sampler = llama_cpp.llama_sampler_init_grammar(vocabulary, grammar.encode(), b"root")
    if not sampler:
        return False
    llama_cpp.llama_sampler_free(sampler)
    return True


def render(model: Any, request: dict[str, Any]) -> dict[str, Any]:
    """Put messages into the model's own chat template, with a fixed date; a template that fails is told."""
    from jinja2 import TemplateError
    from llama_cpp.llama_chat_format import Jinja2ChatFormatter

    template = model.metadata.get("tokenizer.chat_template")
    if not template:
        return {"refused": "the model has no chat template"}
    tokens = [
        model.detokenize([token], special=True).decode(errors="replace")
        for token in (model.token_bos(), model.token_eos())
    ]
    formatter = Jinja2ChatFormatter(template, bos_token=tokens[0], eos_token=tokens[1])
    try:
        shown = formatter(messages=request["messages"], strftime_now=lambda _: request["date"])
    except (TemplateError, ValueError, TypeError, KeyError) as error:
        return {"refused": f"its chat template fails: {error}"}
    stop = shown.stop if isinstance(shown.stop, list) else [shown.stop] if shown.stop else []
    return {"text": shown.prompt, "stop": stop}


def say(answers: Any, answer: dict[str, Any]) -> None:
    """Write one line."""
    print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    sys.exit(main())
