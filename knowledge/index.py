"""Free questions to what is known: character n-gram vectors in chromadb and BM25, fused by reciprocal rank."""

from __future__ import annotations

import fcntl
import hashlib
import re
import shutil
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, cast

import chromadb
import numpy as np
from chromadb.api.shared_system_client import SharedSystemClient
from chromadb.api.types import Documents, EmbeddingFunction, Embeddings
from chromadb.config import Settings
from chromadb.errors import ChromaError
from chromadb.utils.embedding_functions import register_embedding_function
from platformdirs import user_cache_path

from .bm25 import STOP, rank, words
from .errors import VgoError
from .loader import HERE, Knowledge, load
from .passages import Passage, passages, searchable

COLLECTION = "knowledge"
CHROMA_FILE = re.compile(r"chroma\.sqlite3.*|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
RANK_OFFSET = 10
"""Of reciprocal rank fusion: the first place counts 1/11. Larger ones flatten the top of so short a list."""
LEXICAL_WEIGHT = 2
"""Of BM25 against the vectors: alone it finds more; the vectors add misspelt and inflected words."""


@register_embedding_function
class CharacterNgrams(EmbeddingFunction[Documents]):
    """Hash the character 4- and 5-grams of each word into a unit vector: no model, no network, the same everywhere."""

    def __init__(self, dimensions: int = 1024) -> None:
        """Choose the length of the vectors."""
        self.dimensions = dimensions

    def __call__(self, input: Documents) -> Embeddings:
        """Embed each text."""
        return [self._embed(text) for text in input]

    @staticmethod
    def name() -> str:
        """Name it in the collection's configuration."""
        return "vgo_character_ngrams"

    def get_config(self) -> dict[str, Any]:
        """Say how to build it again."""
        return {"dimensions": self.dimensions}

    @staticmethod
    def build_from_config(config: dict[str, Any]) -> CharacterNgrams:
        """Build it again."""
        return CharacterNgrams(**config)

    def _embed(self, text: str) -> np.ndarray[Any, np.dtype[np.float32]]:
        counts = np.zeros(self.dimensions, dtype=np.float64)
        for gram in _ngrams(text):
            code = zlib.crc32(gram.encode())  # hash() is seeded anew in each process
            counts[code % self.dimensions] += 1 if code >> 31 else -1
        weights = np.sign(counts) * np.log1p(np.abs(counts))
        length = float(np.linalg.norm(weights))
        return (weights / (length or 1.0)).astype(np.float32)


def _ngrams(text: str) -> Iterator[str]:
    for word in re.findall(r"[a-z0-9]+", text.lower()):
        if word in STOP:
            continue
        padded = f" {word} "
        for size in (4, 5):
            for start in range(len(padded) - size + 1):
                yield padded[start : start + size]


@dataclass(frozen=True)
class Index:
    """An open index; use it in `with`, so that its files are closed."""

    _client: Any
    _collection: chromadb.Collection
    _passages: dict[str, Passage]
    _texts: dict[str, str]

    def search(self, question: str, limit: int = 5) -> list[Passage]:
        """Give the passages that both rankings favour, best first; nothing for a question without a telling word."""
        if not words(question):
            return []
        scores: dict[str, float] = {}
        for weight, ranking in ((LEXICAL_WEIGHT, rank(question, self._texts)), (1, self._nearest(question))):
            for place, identity in enumerate(ranking, start=1):
                scores[identity] = scores.get(identity, 0.0) + weight / (RANK_OFFSET + place)
        best = sorted(scores, key=lambda identity: (-scores[identity], identity))[:limit]
        return [replace(self._passages[identity], score=scores[identity]) for identity in best]

    def _nearest(self, question: str) -> list[str]:
        # All of them: an approximate search for a few is not faster on a hundred, and may differ between builds.
        found = self._collection.query(query_texts=[question], n_results=len(self._texts), include=["distances"])
        distances = cast(list[list[float]], found["distances"])[0]
        return [identity for _, identity in sorted(zip(np.round(distances, 6), found["ids"][0], strict=True))]

    def __enter__(self) -> Index:
        """Use it."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Close its files."""
        self._client.close()


def search(question: str, limit: int = 5, folder: Path | None = None) -> list[Passage]:
    """Open the index, ask once, close it."""
    with open_index(folder=folder) as index:
        return index.search(question, limit)


def open_index(knowledge: Path = HERE, folder: Path | None = None) -> Index:
    """Open the index in its folder (the user's cache); build it when it is absent, outdated or broken."""
    known = load(knowledge)
    found = passages(known, knowledge)
    texts = {identity: searchable(passage, known) for identity, passage in found.items()}
    place = folder or user_cache_path("vgo-agent") / "index"
    with _only_process(place):
        client, collection = _open(place, known, texts) or _build(place, known, texts)
    return Index(client, collection, found, texts)


def _open(place: Path, known: Knowledge, texts: dict[str, str]) -> tuple[Any, chromadb.Collection] | None:
    """Give what is there if it is whole and up to date."""
    if not _intact(place / "chroma.sqlite3"):
        return None
    client = None
    try:
        client = _client(place)
        collection = client.get_collection(COLLECTION, embedding_function=cast(Any, CharacterNgrams()))
        if collection.metadata == _metadata(known, texts) and collection.count() == len(texts):
            return client, collection
    except (ChromaError, ValueError):  # ValueError: made with another embedding function
        pass
    if client is not None:
        client.close()
    return None


def _build(place: Path, known: Knowledge, texts: dict[str, str]) -> tuple[Any, chromadb.Collection]:
    SharedSystemClient.clear_system_cache()  # chromadb keeps clients by path, a failed one too
    for part in place.iterdir():
        if CHROMA_FILE.fullmatch(part.name):  # and nothing else, whatever folder the user named
            shutil.rmtree(part) if part.is_dir() else part.unlink()
    client = _client(place)
    collection = client.create_collection(
        COLLECTION,
        metadata=_metadata(known, texts),
        embedding_function=cast(Any, CharacterNgrams()),
        configuration={"hnsw": {"space": "cosine"}},
    )
    collection.add(ids=list(texts), documents=list(texts.values()))
    return client, collection


def _client(place: Path) -> Any:
    return chromadb.PersistentClient(str(place), settings=Settings(anonymized_telemetry=False))


def _metadata(known: Knowledge, texts: dict[str, str]) -> dict[str, str]:
    """Tell apart indexes of other knowledge, and of other code: the texts, and how one of them is embedded."""
    made = hashlib.sha256(repr(sorted(texts.items())).encode())
    for text in list(texts.values())[:1]:
        made.update(repr(np.round(CharacterNgrams()([text])[0], 4).tolist()).encode())
    return {"digest": known.digest, "made": made.hexdigest()}


def _intact(database: Path) -> bool:
    """Ask SQLite first: on some damage chromadb panics, which no `except` for errors catches."""
    if not database.exists():
        return False
    try:
        with closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            return bool(connection.execute("PRAGMA quick_check").fetchone() == ("ok",))
    except sqlite3.DatabaseError:
        return False


@contextmanager
def _only_process(place: Path) -> Iterator[None]:
    """Let one process at a time look and build; searching needs no lock."""
    try:
        place.mkdir(parents=True, exist_ok=True)
        lock = (place.parent / f"{place.name}.lock").open("w")
    except OSError as error:
        raise VgoError(f"{place}: the knowledge index cannot be written ({error}). Set XDG_CACHE_HOME.") from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
