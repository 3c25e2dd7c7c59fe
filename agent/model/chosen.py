"""Which model is meant: found, looked at, and opened; what cannot be used is refused before the first run."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from platformdirs import user_data_path

from ...knowledge.errors import VgoError
from ...knowledge.shape import Frozen
from .gguf_file import EXTRA, GgufFile, context_for, free_memory, need, read_gguf, sha256_of, threads_for
from .language_model import LanguageModel, ModelFailed, ModelGone, ModelProcess

if TYPE_CHECKING:
    from ..settings import UserSettings


class ModelChoice(Frozen):
    """A model as it was resolved when the diagnosis began."""

    spec: str
    """The path of a GGUF file, the address of a server, or `shipped`."""
    context: int = 0
    """Tokens that fit; 0: as many as the server has."""
    threads: int = 0
    """0: as many as the server takes."""
    decision_timeout_s: float = 60.0
    think: bool = False
    """Let it write freely, within bounds, before it chooses."""
    temperature: float = 0.0
    seed: int = 1
    """Of each call; 0 would be another one each time."""


MOST_GONE = 3
"""Times in a row."""


@dataclass
class Patient:
    """Passes questions on for as long as the model is worth its time."""

    model: LanguageModel
    _gone: int = 0
    _last: str = ""

    def describe(self) -> dict[str, Any]:
        """Describe the model."""
        return self.model.describe()

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Ask one thing; raises ModelFailed where there is no answer, or the model is given up."""
        if self._gone >= MOST_GONE:
            raise ModelFailed(f"it is given up, since it was gone or late {MOST_GONE} times in a row: {self._last}")
        try:
            answer = self.model.ask(request, seconds)
        except ModelGone as gone:
            self._gone, self._last = self._gone + 1, str(gone)
            raise
        except ModelFailed:
            self._gone = 0
            raise
        self._gone = 0
        return answer


SHIPPED = "shipped"
SHIPPED_FILE = Path(__file__).parent / "shipped" / "planner.gguf"
ENDING = ".gguf"
SERVERS = ("http://", "https://")
GIGABYTE = 1e9


def who_decides(settings: UserSettings) -> tuple[str, ModelChoice | None]:
    """Name the planner that the settings mean, with its model where it is one that asks a model."""
    if settings.planner == "rules" or (not settings.planner and not settings.model):
        return "rules", None
    return "llama", model_choice(settings.model or SHIPPED, settings)


def model_choice(spec: str, settings: UserSettings) -> ModelChoice:
    """Resolve a spec; raises VgoError for a model that cannot be used here."""
    manner: dict[str, Any] = {
        "decision_timeout_s": settings.decision_timeout_s,
        "think": settings.think,
        "temperature": settings.model_temperature,
        "seed": settings.model_seed,
    }
    if is_server(spec):
        from .exchange import checked_address

        return ModelChoice(spec=checked_address(spec), **manner)
    path = path_of(spec)
    model = read_gguf(path)
    refuse_without_library()
    free = free_memory()
    context = context_for(model, settings.model_context, free)
    refuse_too_large(model, context, free)
    kept = SHIPPED if spec == SHIPPED else str(path)
    threads = threads_for(settings.model_threads, model.bytes)
    return ModelChoice(spec=kept, context=context, threads=threads, **manner)


class FromFile(ModelProcess):
    """A model in a file: what its process says of it, and which file it is."""

    def describe(self) -> dict[str, Any]:
        """Say what is loaded; raises ModelFailed where it cannot be."""
        try:
            said = super().describe()
        except ModelFailed as error:
            architecture = read_gguf(self.path).architecture
            raise ModelFailed(f"{error} (its architecture is {architecture!r:.40})") from error
        return said | {"name": self.path.name, "kind": "file", "sha256": sha256_of(self.path)}


@contextmanager
def open_source(wish: ModelChoice) -> Iterator[LanguageModel]:
    """Give the model, which is loaded when it is first asked, and end it afterwards."""
    if is_server(wish.spec):
        from .server import ModelServer

        yield Patient(ModelServer(wish.spec))
        return
    refuse_without_library()
    with FromFile(path_of(wish.spec), wish.context, wish.threads) as model:
        yield Patient(model)


def is_server(spec: str) -> bool:
    """Tell an address from a file."""
    return spec.lower().startswith(SERVERS)


def models_folder() -> Path:
    """Where models are kept that are called by their names."""
    return user_data_path("vgo-agent") / "models"


def in_folder() -> list[Path]:
    """Models that can be called by their names, in order."""
    return sorted(path for path in models_folder().glob(f"*{ENDING}") if path.is_file())


def path_of(spec: str) -> Path:
    """Find the file that a spec means; raises VgoError where there is none."""
    if spec == SHIPPED:
        return SHIPPED_FILE
    path = Path(spec).expanduser()
    named = models_folder() / (spec if spec.endswith(ENDING) else spec + ENDING)
    if not path.is_file() and "/" not in spec and named.is_file():
        return named
    if path.exists():
        return path.absolute()
    raise VgoError(f"There is no model {spec}; {_meant(spec)}")


def _meant(spec: str) -> str:
    if "/" in spec:
        return "give the path of a GGUF file that exists."
    names = [path.stem for path in in_folder()]
    close = difflib.get_close_matches(spec.removesuffix(ENDING), [*names, SHIPPED], n=1)
    if close:
        return f"did you mean {close[0]}?"
    return f"{models_folder()} has {', '.join(names) or 'none'}, and `vgo-agent model pull REPO:FILE` fetches one."


def refuse_without_library() -> None:
    """Refuse where llama.cpp is not installed."""
    if find_spec("llama_cpp") is None:
        raise VgoError(EXTRA)


def refuse_too_large(model: GgufFile, context: int, free: int) -> None:
    """Refuse a model for which there is no memory: the machine would swap, which is seen in the runs."""
    wanted = need(model, context).total
    if wanted > free:
        raise VgoError(
            f"{model.path} needs about {wanted / GIGABYTE:.1f} GB of memory with a context of {context} tokens, and "
            f"{free / GIGABYTE:.1f} GB are free; take a smaller model, or a smaller model_context."
        )
