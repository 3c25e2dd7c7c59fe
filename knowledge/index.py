"""Free questions to what is known: vectors in chromadb and BM25, fused by rank; what is named comes first."""

from __future__ import annotations

import fcntl
import hashlib
import re
import shutil
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, cast
from zipfile import BadZipFile

import chromadb
import numpy as np
from chromadb.api.shared_system_client import SharedSystemClient
from chromadb.config import Settings
from chromadb.errors import ChromaError
from platformdirs import user_cache_path

from .bm25 import Lexicon, Ranking, fused, words
from .errors import VgoError
from .loader import HERE, Knowledge, load
from .passages import KnowledgePassage, by_thought, called, entry_of, meant, mentioned, passages, searchable
from .vectors import CharacterVectors, Floats, GgufVectors

COLLECTION = "knowledge"
VECTORS = "vectors.npz"
OURS = re.compile(r"chroma\.sqlite3.*|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|vectors\.npz")
DIMENSIONS = 384
"""Of the vectors: the smallest number that finds what more find, on the tuned half of the questions."""
RANK_OFFSET = 10
"""Of reciprocal rank fusion: the first place counts 1/11. Larger ones flatten the top of so short a list."""
LEXICAL, THOUGHT, NEAREST, CALLED = 1.0, 2.0, 0.5, 0.3
"""What the rankings by the words of a text, by those of one thought of users, by vectors, and by names and aliases
count. BM25 alone finds more than the vectors do; these add misspelt and inflected words."""
OF_NOTES = 0.7
"""What a note counts beside an entry, which tells what to do; as much where the question asks for a work."""
WORKS = frozenset(words("paper papers study studies article articles author authors literature research published"))
NEIGHBOURS = 200
"""By vectors: a later place counts next to nothing. The index looks at all (ef_search), so that no build differs."""
Vectors = GgufVectors | CharacterVectors
MOST = 2000
"""Characters of a question that are read: more is a file, not a question."""


@dataclass(frozen=True)
class Index:
    """An open index; use it in `with`, so that its files are closed."""

    _client: Any
    _collection: chromadb.Collection
    _vectors: Vectors
    _passages: Mapping[str, KnowledgePassage]
    _lexicon: Lexicon
    _thoughts: Lexicon
    _known: Knowledge

    def search(self, question: str, limit: int = 5) -> list[KnowledgePassage]:
        """Give the passages that the rankings favour, best first; nothing for a question without a telling word.

        What the question names by key or column stands before all others. The best section of a note stands for it.
        """
        asked = question[:MOST]
        named = list(dict.fromkeys((*meant(asked, self._known), *mentioned(asked, self._known))))
        if not named and not words(asked):
            return []
        places: dict[str, str] = {}
        """By note, the section of it that a ranking has first; an entry is shown as it stands in its file."""
        rankings = [Ranking(weight, self._entries(keys, places)) for weight, keys in self._rankings(asked)]
        fair = bool(WORKS & set(words(asked)))
        scores = fused(rankings, RANK_OFFSET)
        scores = {entry: score if fair or entry[:5] != "note:" else OF_NOTES * score for entry, score in scores.items()}
        scores |= {entry: 10.0 - place for place, entry in enumerate(named)}
        best = sorted(scores, key=lambda entry: (-scores[entry], entry))[:limit]
        return [replace(self._passages[places.get(entry, entry)], score=scores[entry]) for entry in best]

    def _entries(self, identities: Sequence[str], places: dict[str, str]) -> list[str]:
        """Let the best part of an entry, and the best section of a note, stand for all of it."""
        whole = {identity: entry_of(identity) for identity in identities}
        for identity, entry in whole.items():
            places.setdefault(entry, identity if entry.startswith("note:") else entry)
        return list(dict.fromkeys(whole.values()))

    def _rankings(self, question: str) -> Iterator[Ranking]:
        yield Ranking(LEXICAL, self._lexicon.rank(question))
        yield Ranking(THOUGHT, self._thoughts.rank(question))
        yield Ranking(NEAREST, self._nearest(question))
        yield Ranking(CALLED, called(question, self._known))

    def _nearest(self, question: str) -> list[str]:
        vector = self._vectors.embed(question)
        if not vector.any():
            return []
        found = self._collection.query(
            query_embeddings=cast(Any, vector[None]),
            n_results=min(NEIGHBOURS, len(self._passages)),
            include=["distances"],
        )
        distances = cast(list[list[float]], found["distances"])[0]
        return [identity for _, identity in sorted(zip(np.round(distances, 6), found["ids"][0], strict=True))]

    def __enter__(self) -> Index:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._client.close()


def search(
    question: str, limit: int = 5, folder: Path | None = None, embedding: Path | None = None
) -> list[KnowledgePassage]:
    """Open the index, ask once, close it."""
    with open_index(folder=folder, embedding=embedding) as index:
        return index.search(question, limit)


def open_index(knowledge: Path = HERE, folder: Path | None = None, embedding: Path | None = None) -> Index:
    """Open the index in its folder (the user's cache); build it when it is absent, outdated or broken.

    With `embedding`, a GGUF file, vectors come from that model; each model has a folder of its own.
    """
    known = load(knowledge)
    found = passages(known, knowledge)
    texts = {identity: searchable(passage, known) for identity, passage in found.items()}
    model = GgufVectors(embedding) if embedding else None
    place = folder or user_cache_path("vgo-agent") / (f"index-{model.identity[:16]}" if model else "index")
    made = _metadata(known, texts, model)
    with _only_process(place):
        client, collection, vectors = _open(place, made, len(texts), model) or _build(place, made, texts, model)
    lexicon, thoughts = (Lexicon(each, entry_of) for each in (texts, by_thought(found, known)))
    return Index(client, collection, vectors, found, lexicon, thoughts, known)


Opened = tuple[Any, chromadb.Collection, Vectors]


def _open(place: Path, made: dict[str, str], size: int, model: GgufVectors | None) -> Opened | None:
    """Give what is there if it is whole and up to date."""
    if not _intact(place / "chroma.sqlite3"):
        return None
    client = None
    try:
        vectors = model or CharacterVectors.read(place / VECTORS)
        client = _client(place)
        collection = client.get_collection(COLLECTION, embedding_function=None)
        if collection.metadata == made and collection.count() == size:
            return client, collection, vectors
    except (ChromaError, ValueError, KeyError, OSError, EOFError, BadZipFile):
        pass
    if client is not None:
        client.close()
    return None


def _build(place: Path, made: dict[str, str], texts: dict[str, str], model: GgufVectors | None) -> Opened:
    SharedSystemClient.clear_system_cache()  # chromadb keeps clients by path, a failed one too
    for part in place.iterdir():
        if OURS.fullmatch(part.name):  # and nothing else, whatever folder the user named
            shutil.rmtree(part) if part.is_dir() else part.unlink()
    vectors, embeddings = _embedded(place, list(texts.values()), model)
    client = _client(place)
    collection = client.create_collection(
        COLLECTION,
        metadata=made,
        embedding_function=None,
        configuration={"hnsw": {"space": "cosine", "ef_search": 2000}},
    )
    collection.add(ids=list(texts), embeddings=cast(Any, embeddings))
    return client, collection, vectors


def _embedded(place: Path, texts: list[str], model: GgufVectors | None) -> tuple[Vectors, Floats]:
    if model:
        return model, model.embed_all(texts)
    vectors, embeddings = CharacterVectors.of(texts, DIMENSIONS)
    vectors.save(place / VECTORS)
    return vectors, embeddings


def _client(place: Path) -> Any:
    return chromadb.PersistentClient(str(place), settings=Settings(anonymized_telemetry=False))


def _metadata(known: Knowledge, texts: dict[str, str], model: GgufVectors | None) -> dict[str, str]:
    """Tell apart indexes of other knowledge, of other code, and of other models."""
    code = b"".join((Path(__file__).parent / f"{name}.py").read_bytes() for name in ("vectors", "index"))
    made = hashlib.sha256(repr(sorted(texts.items())).encode() + code)
    return {"digest": known.digest, "made": made.hexdigest(), "model": model.identity if model else "characters"}


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
