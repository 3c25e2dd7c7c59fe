"""`model info` and `model check`: what one model is, and what it does."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..terminal import printable, table
from .options import Answering

if TYPE_CHECKING:
    from ..model.gguf_file import GgufFile
    from ..model.language_model import LanguageModel
    from ..model.trial import ModelDecision
    from ..settings import UserSettings

NO_TEMPLATE = "none: it is asked in plain text, which models for chats answer worse"
BYTES = "_bytes"
"""Ending of names that are told as JSON only; in words the same stands before."""
HEADER = ("RECORDED CASE", "CHOSEN", "THE RULE POLICY'S", "SECONDS")
IN_SAMPLE = (
    "The shipped model was trained on these very cases, so this shows that it works here, not how good it is: its card "
    "(agent/model/shipped/README.md) has what it does in cases that it never saw."
)
LONGEST_WHY = 60
TOLD = ("chosen", "usual", "agrees", "passed_over")
"""Of a decision, beside its case and its seconds."""
DECISION_TOKENS = 2000
"""At most; see planners/llama.py."""
UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "KB"))


def size(count: float) -> str:
    """Write bytes as a person does."""
    unit, name = next((one for one in UNITS if count >= one[0]), (1.0, "bytes"))
    return f"{count / unit:.3g} {name}"


def info(command: Answering, spec: str, settings: UserSettings) -> int:
    """Tell what a model is and needs."""
    from ..model.chosen import SHIPPED, is_server

    spec = spec or settings.model or SHIPPED
    values = _server(spec, settings) if is_server(spec) else _file(spec, settings)
    shown = {name: value for name, value in values.items() if value != "" and not name.endswith(BYTES)}
    lines = [f"{name.replace('_', ' ') + ':':<18}{_words(value)}" for name, value in shown.items()]
    return command.answer(values, "\n".join(lines))


def _file(spec: str, settings: UserSettings) -> dict[str, Any]:
    from ..model.chosen import path_of
    from ..model.gguf_file import context_for, free_memory, need, read_gguf, sha256_of, threads_for

    model = read_gguf(path_of(spec))
    free = free_memory()
    context = context_for(model, settings.model_context, free)
    needed, template = need(model, context), model.text("tokenizer.chat_template")
    return {
        "file": str(model.path),
        "size": size(model.bytes),
        "size_bytes": model.bytes,
        "sha256": sha256_of(model.path),
        "name": printable(model.text("general.name")),
        "architecture": printable(model.architecture),
        "parameters": model.parameters,
        "weights": ", ".join(model.stored_as),
        "licence": printable(model.text("general.license")) or "not said in the file",
        "vocabulary": model.vocabulary,
        "trained_context": model.context or "not said in the file",
        "chat_template": f"{len(template):,} characters" if template else NO_TEMPLATE,
        "notation": printable(str(model.metadata.get("vgo.notation", "json"))),
        "context": context,
        "memory_needed": f"{size(needed.total)} (weights {size(needed.weights)}, context {size(needed.cache)}, "
        f"computing {size(needed.compute)}, library and Python the rest)",
        "memory_free": size(free),
        "memory_needed_bytes": needed.total,
        "memory_free_bytes": free,
        "fits": needed.total <= free,
        "threads": threads_for(settings.model_threads, model.bytes),
        "note": _note(model, context),
    }


def _note(model: GgufFile, context: int) -> str:
    """Say where the context is too small for what a decision may take."""
    if context >= DECISION_TOKENS or "vgo.notation" in model.metadata:
        return ""
    return f"a decision may take {DECISION_TOKENS} tokens: with {context}, less is told, or the rule policy decides"


def _server(spec: str, settings: UserSettings) -> dict[str, Any]:
    from ..model.chosen import model_choice, open_source
    from ..planning import told_by

    request = model_choice(spec, settings)
    with open_source(request) as model:
        facts = told_by(model, request)
    return {"server": request.spec, "name": printable(facts.name), "kind": facts.library, "context": facts.context}


def check(command: Answering, spec: str, settings: UserSettings) -> int:
    """Let a model take recorded decisions."""
    from ..model.chosen import SHIPPED, SHIPPED_FILE, model_choice, open_source
    from ..model.gguf_file import sha256_of
    from ..model.trial import states, summary, trial
    from ..planning import asking, told_by

    request = model_choice(spec or settings.model or SHIPPED, settings)
    with open_source(request) as model:
        noted = FramingRecorder(model)
        facts = told_by(noted, request)
        tried = trial(asking(noted, request, facts), states(), _progress(settings.quiet or bool(command.json)))
    whole = summary(tried)
    framed = ", ".join(sorted(noted.framed)) or "nothing"
    in_sample = facts.sha256 == sha256_of(SHIPPED_FILE)
    words = [
        table(HEADER, [_row(one) for one in tried]),
        f"{facts.name}: {whole.taken} of {whole.decisions} answers were legal calls, {whole.agreeing} as the rule "
        f"policy's; {whole.median_s:.2g} s each (median), {whole.longest_s:.2g} s at most. Framed by: {framed}.",
        *([IN_SAMPLE] if in_sample else []),
    ]
    values = {
        "model": facts.model_dump(mode="json"),
        "framed": sorted(noted.framed),
        "in_sample": in_sample,
        **whole._asdict(),
        "tried": [
            {"case": one.state.case, **{name: getattr(one, name) for name in TOLD}, "seconds": round(one.seconds, 4)}
            for one in tried
        ],
    }
    command.answer(values, "\n\n".join(words))
    return 0 if whole.taken == whole.decisions else 1


@dataclass(frozen=True)
class FramingRecorder:
    """A model, and how its prompts were framed."""

    model: LanguageModel
    framed: set[str] = field(default_factory=set)

    def describe(self) -> dict[str, Any]:
        """Say what it is."""
        return self.model.describe()

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Ask one thing."""
        answered = self.model.ask(request, seconds)
        self.framed.add(str(answered["framed"]))
        return answered


def _progress(quiet: bool) -> Callable[[ModelDecision], None]:
    def tell(one: ModelDecision) -> None:
        if not quiet:
            print(f"  {one.state.case}: {one.chosen} ({one.seconds:.1f} s)", file=sys.stderr)

    return tell


def _row(one: ModelDecision) -> tuple[str, ...]:
    chosen = f"not usable: {one.passed_over}" if one.passed_over else one.chosen
    shown = chosen if len(chosen) <= LONGEST_WHY else f"{chosen[: LONGEST_WHY - 3]}..."
    return one.state.case, shown, "the same" if one.agrees else one.usual, f"{one.seconds:.2f}"


def _words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no: take a smaller model, or a smaller model_context"
    return f"{value:,}" if isinstance(value, int) else str(value)
