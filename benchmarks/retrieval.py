"""How often the search finds a right entry: `python -m benchmarks.retrieval [--write]`; both halves of the questions.

The search was tuned to the half `tuned` alone. Scores do not depend on the machine; times do.
"""

from __future__ import annotations

import argparse
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer

from tests.evals.retrieval.loader import Half, load_questions
from tests.evals.retrieval.question import place
from vgo_agent.knowledge.bm25 import Lexicon
from vgo_agent.knowledge.index import Index, open_index
from vgo_agent.knowledge.loader import load
from vgo_agent.knowledge.passages import passages, searchable

PAGE = Path(__file__).parents[1] / "docs/results/retrieval.md"
DEPTH = 50
"""Answers that are looked at for the first right one."""
CHOSEN = "BM25 and vectors fused, names first"

Ranker = Callable[[str], Sequence[str]]
"""Order identities for a question, the best first."""


class Score(NamedTuple):
    """Of one method on one half."""

    recall_1: float
    recall_3: float
    recall_5: float
    mrr: float
    """Mean of 1 / place of the first right entry; 0 where none is among the first 50."""
    query_ms: float
    """Median."""


def main() -> None:
    """Measure, print, and perhaps write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half", choices=("tuned", "held_out", "both"), default="both", help="default both")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(PAGE.parents[1])}")
    asked = parser.parse_args()
    halves: tuple[Half, ...] = ("tuned", "held_out") if asked.half == "both" else (asked.half,)
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        index = open_index(folder=Path(folder))
        build_s = time.perf_counter() - started
        with closing(_Closing(index)):
            methods = rankers(index)
            scores = {half: {name: scored(half, ranker) for name, ranker in methods.items()} for half in halves}
    text = page(scores, build_s)
    print(text)
    if asked.write:
        PAGE.write_text(text, encoding="utf-8")


class _Closing:
    def __init__(self, index: Index) -> None:
        self.close = lambda: index.__exit__(None, None, None)


def rankers(index: Index) -> dict[str, Ranker]:
    """Give what is compared, by name; all look at the same texts."""
    known = load()
    texts = {identity: searchable(passage, known) for identity, passage in passages(known).items()}
    named = {identity: text for identity, text in texts.items() if not identity.endswith("~2") or "note:" in identity}
    return {
        "hashing, 1024 features": vectors(texts, HashingVectorizer(**NGRAMS, n_features=1024)),
        "character TF-IDF": vectors(texts, TfidfVectorizer(**NGRAMS, sublinear_tf=True)),
        "BM25, without the wording of users": whole(Lexicon(named).rank),
        "BM25": whole(Lexicon(texts).rank),
        CHOSEN: lambda question: [passage.identity for passage in index.search(question, DEPTH)],
    }


NGRAMS = {"analyzer": "char_wb", "ngram_range": (3, 5)}


def vectors(texts: dict[str, str], vectorizer: HashingVectorizer | TfidfVectorizer) -> Ranker:
    """Rank by the cosine of the vectors."""
    identities, rows = list(texts), vectorizer.fit_transform(texts.values())

    def rank(question: str) -> list[str]:
        likeness = (rows @ vectorizer.transform([question]).T).toarray()[:, 0]
        return [identities[at] for at in np.argsort(-likeness, kind="stable")]

    return whole(rank)


def whole(rank: Ranker) -> Ranker:
    """Let the best part of an entry, and the best section of a note, stand for all of it."""
    return lambda question: list(
        dict.fromkeys(re.split("[#~]", identity, maxsplit=1)[0] for identity in rank(question))
    )


def scored(half: Half, rank: Ranker) -> Score:
    """Ask all questions of a half."""
    places, seconds = list[int | None](), list[float]()
    for question in load_questions(half):
        started = time.perf_counter()
        answer = rank(question.text)
        seconds.append(time.perf_counter() - started)
        places.append(place(question, answer[:DEPTH]))

    def recall(most: int) -> float:
        return statistics.mean(at is not None and at <= most for at in places)

    mrr = statistics.mean(1 / at if at else 0.0 for at in places)
    return Score(recall(1), recall(3), recall(5), mrr, 1e3 * statistics.median(seconds))


def page(scores: dict[Half, dict[str, Score]], build_s: float) -> str:
    """Write the table, and what it was measured on."""
    known = load()
    size = f"{len(known.factors)} factors, {len(known.mitigations)} mitigations and {_notes()} notes on papers"
    lines = ["# How well questions find what is known", ""]
    lines += [f"Written by `python -m benchmarks.retrieval --write` on {date.today()}, over {size}.", ""]
    lines += [
        "recall@5 is the share of questions with a right entry among the first five; MRR the mean of 1 / its place.",
        "The search was tuned to the half `tuned` alone. The wording of users that it reads was begun after reading",
        "that half and widened without reading either: what to expect of other questions is told by `held_out`.",
    ]
    for half, methods in scores.items():
        lines += ["", f"## {half}, {len(load_questions(half))} questions", ""]
        lines += [
            "| method | recall@1 | recall@3 | recall@5 | MRR | query, ms |",
            "| --- | --- | --- | --- | --- | --- |",
        ]
        for name, score in methods.items():
            numbers = " | ".join(f"{number:.3f}" for number in score[:4])
            lines.append(f"| {name} | {numbers} | {score.query_ms:.1f} |")
    lines += ["", f"The index was built in {build_s:.1f} s."]
    return "\n".join(lines) + "\n"


def _notes() -> int:
    return len({key.partition("#")[0] for key in passages(load()) if key.startswith("note:")})


if __name__ == "__main__":
    main()
