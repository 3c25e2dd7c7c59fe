"""Fetch one file of a repository on the Hugging Face Hub: it goes on where it stopped, and its hash is checked."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pydantic import Field, RootModel

from ...knowledge.errors import VgoError
from ...knowledge.files import read_model
from ...knowledge.shape import Frozen
from .chosen import ENDING, GIGABYTE, models_folder
from .gguf_file import sha256_of

if TYPE_CHECKING:
    from huggingface_hub import HfFileMetadata

PARTS = ".parts"
"""Folder of files that are not whole yet, within the folder of models."""
REPO = re.compile(r"[\w.-]+/[\w.-]+")
SHA256 = re.compile(r"[0-9a-f]{64}")
SPARE = 100 << 20
"""Bytes that are left free on the disk."""


class RepositoryFile(NamedTuple):
    """A file of a repository."""

    repo: str
    file: str


class Pulled(NamedTuple):
    """A file that is whole."""

    path: Path
    sha256: str
    new: bool
    """It was not there before."""


def wanted(spec: str) -> RepositoryFile:
    """Read REPO:FILE; raises VgoError for anything else."""
    repo, _, file = spec.partition(":")
    if not REPO.fullmatch(repo) or not file.endswith(ENDING) or any(part in ("", "..") for part in file.split("/")):
        raise VgoError(f"{spec} is no OWNER/REPO:FILE{ENDING}; `vgo-agent model list` shows models with what to pull.")
    return RepositoryFile(repo, file)


def pull(what: RepositoryFile, quiet: bool) -> Pulled:
    """Fetch a file into the folder of models; raises VgoError where it cannot be had whole."""
    try:
        import huggingface_hub as hub
    except ImportError as error:
        raise VgoError("Models are fetched with huggingface_hub; pip install 'vgo-agent[llm]'.") from error
    place = models_folder() / Path(what.file).name
    url = hub.hf_hub_url(what.repo, what.file)
    with _refusals_worded(what, url):
        there = hub.get_hf_file_metadata(url)
        expected = _expected(there, what)
        if place.exists():
            return _already(place, expected)
        part = _part(expected)
        _refuse_full_disk(there.size or 0, part)
        _fetch(url, part, there.size, what, quiet)
    if (found := sha256_of(part)) != expected:
        part.unlink()
        raise VgoError(
            f"What came of {what.file} has another hash than {what.repo} says ({found[:12]} for {expected[:12]}), and "
            "was thrown away; pull it again."
        )
    os.replace(part, place)
    return Pulled(place, expected, True)


def _expected(there: HfFileMetadata, what: RepositoryFile) -> str:
    """Give the SHA-256 that the Hub says of a large file; a small one has another hash, and is no model."""
    etag = there.etag or ""
    if not SHA256.fullmatch(etag):
        raise VgoError(f"{what.repo} says no SHA-256 of {what.file}, so it could not be checked; pull another file.")
    return etag


def _already(place: Path, expected: str) -> Pulled:
    if sha256_of(place) != expected:
        raise VgoError(f"{place} is another file of that name; rename it or take it away, then pull again.")
    return Pulled(place, expected, False)


def _part(expected: str) -> Path:
    """Where a file grows; named by its hash, so that two versions of it are not mixed."""
    folder = models_folder() / PARTS
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise VgoError(f"{folder} cannot be made ({error.strerror}); set XDG_DATA_HOME.") from error
    return folder / expected


def _refuse_full_disk(size: int, part: Path) -> None:
    missing = size - (part.stat().st_size if part.exists() else 0)
    free = shutil.disk_usage(part.parent).free
    if missing + SPARE > free:
        raise VgoError(
            f"The model needs {missing / GIGABYTE:.1f} GB more on the disk of {part.parent.parent}, and "
            f"{free / GIGABYTE:.1f} GB are free; make room, or set XDG_DATA_HOME."
        )


def _fetch(url: str, part: Path, size: int | None, what: RepositoryFile, quiet: bool) -> None:
    """Go on where the last attempt stopped: http_get asks again when a connection is cut, and only for the rest."""
    from huggingface_hub.file_download import http_get
    from huggingface_hub.utils import build_hf_headers, disable_progress_bars  # type: ignore[attr-defined]

    if quiet:
        disable_progress_bars()
    with part.open("ab") as file:
        if size is not None and file.tell() > size:
            file.truncate(0)
        http_get(
            url,
            file,
            resume_size=file.tell(),
            headers=build_hf_headers(),
            expected_size=size,
            displayed_filename=Path(what.file).name,
        )


@contextmanager
def _refusals_worded(what: RepositoryFile, url: str) -> Iterator[None]:
    """Say in one sentence what the Hub, the network or the disk refuses."""
    from huggingface_hub.errors import (  # type: ignore[attr-defined]  # HTTPError: of the library that it uses
        EntryNotFoundError,
        GatedRepoError,
        HfHubHTTPError,
        HFValidationError,
        HTTPError,
        RepositoryNotFoundError,
    )

    host = url.split("/", 3)[2]
    try:
        yield
    except GatedRepoError as error:
        raise VgoError(
            f"{what.repo} asks for a licence to be accepted: do so on {host}, set HF_TOKEN, and pull again."
        ) from error
    except EntryNotFoundError as error:
        raise VgoError(f"{what.repo} has no file {what.file}; look at its list of files on {host}.") from error
    except RepositoryNotFoundError as error:
        raise VgoError(f"{host} has no repository {what.repo} that you may read; see how it is spelt.") from error
    except HFValidationError as error:
        raise VgoError(f"{what.repo} cannot be the name of a repository; see how it is spelt.") from error
    except HfHubHTTPError as error:
        raise VgoError(f"{host} answers {error.response.status_code} for {what.file}; pull again later.") from error
    except (HTTPError, OSError) as error:
        raise VgoError(f"{what.file} could not be fetched ({_words(error)}); pull again: it goes on.") from error


def _words(error: Exception) -> str:
    told = error.strerror if isinstance(error, OSError) else ""
    return told or " ".join(str(error).split())[:200] or type(error).__name__


FILE = Path(__file__).with_name("recommended.yaml")
BESIDE_GB = 1.5
"""What such models take beside their weights at the usual context, roughly: no less than gguf_file.py works out."""


class Recommended(Frozen):
    """One model."""

    name: str
    pull: str = Field(pattern=r"^[^:\s]+/[^:\s]+:[^:\s]+\.gguf$")
    """What `vgo-agent model pull` takes."""
    gigabytes: float = Field(gt=0)
    """Of the file."""
    licence: str

    @property
    def memory_gb(self) -> float:
        """About what it needs."""
        return self.gigabytes + BESIDE_GB


def recommended() -> tuple[Recommended, ...]:
    """Read the list, the smallest first."""
    return read_model(FILE, RootModel[tuple[Recommended, ...]]).root
