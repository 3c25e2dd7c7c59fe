"""model: which language models there are, which one decides, what it needs, and whether it is any good."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...knowledge.errors import VgoError
from ..terminal import table
from .model_shown import size
from .options import Answering, place

if TYPE_CHECKING:
    from ..model.facts import ModelFacts
    from ..model.gguf_file import GgufFile
    from ..settings import UserSettings

ACTIONS = ("list", "use", "pull", "info", "check")
HEADER = ("MODEL", "SIZE", "PARAMETERS", "WEIGHTS", "CONTEXT", "NEEDS", "")
TO_PULL = ("PUBLIC MODEL", "SIZE", "NEEDS ABOUT", "LICENCE", "vgo-agent model pull ...")


@dataclass(frozen=True, kw_only=True)
class ModelCommand(Answering):
    """Which language models there are, which one decides, what it needs, and whether it is any good."""

    EPILOG = """\
examples:
  vgo-agent model list
  vgo-agent model pull bartowski/Qwen2.5-1.5B-Instruct-GGUF:Qwen2.5-1.5B-Instruct-Q4_K_M.gguf
  vgo-agent model use Qwen2.5-1.5B-Instruct-Q4_K_M
  vgo-agent model use http://127.0.0.1:8080
  vgo-agent model check shipped

list     the shipped model, those in the folder of models, and public ones that are worth trying
use      write into the settings file which model decides from now on: a file, a name in the folder of models, the
         address of a server that speaks as OpenAI's, shipped, or none (the rule policy decides)
pull     fetch OWNER/REPO:FILE.gguf from the Hugging Face Hub (or HF_ENDPOINT) into the folder of models: it goes on
         where it stopped, and the hash is checked
info     what a model is, and what it needs of memory and CPUs against what is free
check    twenty decisions on recorded diagnoses: legal, as the rule policy's, and how long; 1 where one was not usable.
         The shipped model was trained on these cases: for it, agreement shows that it works, and not how good it is

Whatever a model writes, only a call that is legal at that moment is carried out; else the rule policy decides the step.
A server's key is read from VGO_AGENT_API_KEY.
"""
    SETTINGS = ("decision-timeout", "think")

    action: str = place(
        "ACTION", "list, use, pull, info or check: see below (default list)", default="list", choices=ACTIONS
    )
    spec: str = place("SPEC", "the model; for info and check that of the settings", default="")

    def run(self) -> int:
        """Do one of the actions."""
        from .model_shown import check, info

        if self.action == "list" and self.spec:
            raise VgoError(f"`vgo-agent model list` takes no {self.spec}; `vgo-agent model info` shows one model.")
        if self.action in ("use", "pull") and not self.spec:
            raise VgoError(f"`vgo-agent model {self.action}` needs to know which one; see its --help.")
        actions: dict[str, Callable[[Answering, str, UserSettings], int]] = {
            "list": _list,
            "use": _use,
            "pull": _pull,
            "info": info,
            "check": check,
        }
        return actions[self.action](self, self.spec, self.in_force())


def _list(command: Answering, _: str, settings: UserSettings) -> int:
    from ..model.chosen import SHIPPED, in_folder, models_folder, path_of
    from ..model.gguf_file import free_memory
    from ..model.pull import recommended

    free, public = free_memory(), recommended()
    local = {path.stem: path for path in in_folder()}
    listed = [_listed(name, path) for name, path in {SHIPPED: path_of(SHIPPED), **local}.items() if path.exists()]
    rows = [(one.name, size(one.gigabytes * 1e9), f"{one.memory_gb:.1f} GB", one.licence, one.pull) for one in public]
    words = [
        table(HEADER, [tuple(one["row"]) for one in listed]),
        f"In use: {settings.model or 'none, the rule policy decides'}. Folder: {models_folder()}. "
        f"Free memory: {size(free)}.",
        table(TO_PULL, rows),
        "None of the public models was run by the authors of vgo-agent; read the licence on the page of each.",
    ]
    values = {
        "used": settings.model,
        "folder": str(models_folder()),
        "free_bytes": free,
        "models": [{name: value for name, value in one.items() if name != "row"} for one in listed],
        "recommended": [one.model_dump() | {"memory_gb": one.memory_gb} for one in public],
    }
    return command.answer(values, "\n\n".join(words))


def _listed(name: str, path: Path) -> dict[str, Any]:
    """Tell of one file; a broken one is shown with the reason."""
    from ..model.gguf_file import read_gguf

    try:
        return _row(name, read_gguf(path))
    except VgoError as error:
        why = str(error)
        return {"name": name, "path": str(path), "error": why, "row": (name, "", "", "", "", "", why)}


def _row(name: str, model: GgufFile) -> dict[str, Any]:
    from ..model.gguf_file import context_for, free_memory, need

    free = free_memory()
    needed = need(model, context_for(model, 0, free)).total
    fits = "" if needed <= free else "more than is free"
    return {
        "name": name,
        "path": str(model.path),
        "bytes": model.bytes,
        "parameters": model.parameters,
        "stored_as": model.stored_as,
        "context": model.context,
        "needs_bytes": needed,
        "row": (
            name,
            size(model.bytes),
            f"{model.parameters / 1e6:.3g} M",
            model.stored_as[0],
            str(model.context or "?"),
            size(needed),
            fits,
        ),
    }


def _use(command: Answering, spec: str, settings: UserSettings) -> int:
    """Write the choice; a model is opened first, so that one that cannot be used is refused here."""
    from ..settings import NO_MODEL, set_in_file

    if spec == NO_MODEL:
        place = set_in_file("model", "")
        words = f"No model: the rule policy decides (written to {place})."
        return command.answer({"model": "", "file": str(place)}, words)
    kept, facts = _opened(spec, settings)
    place = set_in_file("model", kept)
    words = f"{facts.name} decides from now on (model = {kept} in {place}); `vgo-agent model check` tries it."
    return command.answer({"model": kept, "file": str(place), "name": facts.name, "library": facts.library}, words)


def _opened(spec: str, settings: UserSettings) -> tuple[str, ModelFacts]:
    """Open a model, and say how the settings name it: by its name alone where it lies in the folder of models."""
    from ..model.chosen import is_server, model_choice, models_folder, open_source
    from ..planning import told_by

    request = model_choice(spec, settings)
    with open_source(request) as model:
        facts = told_by(model, request)
    path = Path(request.spec)
    return path.stem if not is_server(request.spec) and path.parent == models_folder() else request.spec, facts


def _pull(command: Answering, spec: str, settings: UserSettings) -> int:
    from ..model.gguf_file import read_gguf
    from ..model.pull import pull, wanted

    pulled = pull(wanted(spec), settings.quiet)
    model = read_gguf(pulled.path)
    how = "is here now" if pulled.new else "was here already"
    words = f"{model.path} {how} ({size(model.bytes)}, SHA-256 {pulled.sha256[:16]}...).\n"
    words += f"`vgo-agent model use {model.path.stem}` lets it decide."
    values = {"path": str(pulled.path), "sha256": pulled.sha256, "new": pulled.new, "bytes": model.bytes}
    return command.answer(values, words)
