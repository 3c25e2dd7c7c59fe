"""Every duty of the desk: JSON in, JSON out; its libraries are imported when it is first asked for."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from shlex import join, quote
from typing import TYPE_CHECKING, Any

from ...knowledge.errors import VgoError

if TYPE_CHECKING:
    from ...knowledge.index import Index
    from ...tools.recorded_comparison.compare import Contrasted
    from ..answers.answer import QuestionAnswer
    from ..answers.conversation import Conversation
    from ..answers.speaker import Speaker

MOST_FOUND = 4


def ask(question: str, run: str = "", model: str = "") -> dict[str, Any]:
    """Give Markdown, with a link for each reference, and what the references stand for.

    `model`: the wish for a language model that chooses what is said of a run, as JSON; empty: templates.
    """
    if not run:
        return _search_answer(question)
    conversation = _conversation(run)
    conversation.speaker = _speaker(model) if model else None
    return _shown_answer(conversation.ask(question))


def named(word: str) -> dict[str, Any]:
    """Give key and scope of the mitigation that is meant, and whether a person applies it; VgoError names near ones."""
    from ...knowledge.loader import load
    from ..commands.mitigation_arguments import mitigation_meant
    from ..commands.trial import for_a_person

    mitigation = mitigation_meant(word, load())
    return {"key": mitigation.key, "by_hand": for_a_person(mitigation), "scope": mitigation.scope}


def explain(name: str) -> dict[str, Any]:
    """Give what is known of a factor, a mitigation, a state or a column as Markdown; VgoError names what is near."""
    from ...knowledge.loader import load
    from ...knowledge.passages import meant, nearest
    from ..commands.entry_explanation import explained
    from ..render.text import markdown_blocks

    known = load()
    found = meant(name, known)
    if not found:
        near = ", ".join(nearest(name, known))
        raise VgoError(f"{name!r} is not known by that name{f'; near are {near}' if near else ''}.")
    one = explained(found, name, known, Path("/"))
    return {"title": one.values["name"], "markdown": markdown_blocks(one.blocks)}


def source(about: str = "", text: str = "") -> dict[str, Any]:
    """Open what a reference rests on: the notes on a work, and the entry that cites it."""
    from ...knowledge.passages import note_passages

    notes = [note for note in note_passages() if text and note.source and note.source in (text, text.rstrip("."))]
    parts = [f"## {note.title}\n\n{note.text}" for note in notes]
    if about:
        with contextlib.suppress(VgoError):  # a name of the run, not of what is known
            parts.append(explain(about)["markdown"])
    return {"title": text or about, "markdown": "\n\n".join([text, *parts]).strip()}


@functools.lru_cache(maxsize=2)
def _conversation(run: str) -> Conversation:
    from ..commands.ask import conversation_on
    from ..run_folder import RunFolder

    conversation = conversation_on(RunFolder.find(Path(run)))
    conversation.index = _index()
    return conversation


@functools.lru_cache(maxsize=1)
def _speaker(model: str) -> Speaker | None:
    from ..answers.speaker import speaking
    from ..model.chosen import ModelChoice

    wish = ModelChoice.model_validate_json(model)
    return speaking(wish, wish.decision_timeout_s, False).__enter__()  # open until this process ends


@functools.cache
def _index() -> Index:
    from ...knowledge.index import open_index

    return open_index().__enter__()  # open until this process ends


def _shown_answer(answer: QuestionAnswer) -> dict[str, Any]:
    values = answer.values()
    if not values["known"]:
        return {"markdown": answer.text(), "sources": [], "next": [], "known": False}
    lines = [f"- {_linked(one['text'], one['references'])}" for one in values["sentences"]]
    next_steps = [one["command"] for one in values["next"] if one.get("command")]
    return {"markdown": "\n".join(lines), "sources": values["references"], "next": next_steps, "known": True}


def _linked(text: str, tags: list[str]) -> str:
    for tag in tags:
        text = text.replace(f"[{tag}]", f"[\\[{tag}\\]](source:{tag})")
    return text


def _search_answer(question: str) -> dict[str, Any]:
    found = _index().search(question, MOST_FOUND)
    if not found:
        return {"markdown": "Nothing that is known fits this question.", "sources": [], "next": [], "known": False}
    lines = list(_listed(found))
    sources = [
        {"tag": f"k{n}", "about": one.key.partition("#")[0], "calls": [], "events": [], "sources": [one.source]}
        for n, one in enumerate(found, 1)
    ]
    return {"markdown": "\n\n".join(lines), "sources": sources, "next": [], "known": True}


def _listed(found: Any) -> Iterator[str]:
    for number, one in enumerate(found, 1):
        text = " ".join(one.text.split())
        short = text if len(text) <= 300 else f"{text[:300].rsplit(' ', 1)[0]} ..."
        yield f"**{one.title}** [\\[k{number}\\]](source:k{number}): {short}"


HEADER = ("RUNS OF", "RUNS", "MEDIAN", "SD", "SPREAD RATIO", "VERDICT")
MOST_ARMS = 12
MOST_DRAWN = 20_000
"""Outcomes of an arm that are handed on; of more, as many, evenly spread over the sorted ones."""


def recorded(paths: list[str], metric: str = "") -> dict[str, Any]:
    """Give the answer in words, a table of the arms, and the outcomes of each for a picture."""
    if len(paths) == 1:
        return _alone(Path(paths[0]), metric)
    from ...tools.claim import in_a_word
    from ...tools.recorded.read import read
    from ...tools.recorded_comparison.arms import Contrast
    from ...tools.recorded_comparison.compare import contrast
    from ..report.comparison import text

    found, compared = contrast([read(Path(path), (), None) for path in paths], Contrast(metric=metric or None))
    line = ("vgo-agent", "compare", *paths, *(("--metric", metric) if metric else ()))
    words = text(found, lambda *more: join((*line, *more)))
    values = {found.baseline: compared.baseline, **compared.others}
    return {
        "headline": words.partition("\n")[0],
        "words": words,
        "header": HEADER,
        "rows": _rows(found, {name: str(len(runs)) for name, runs in values.items()}),
        "unit": found.unit,
        "metric": found.metric,
        "arms": {name: _thinned(runs) for name, runs in values.items()},
        "ratios": {arm.name: [*_spread(arm.spread), in_a_word(arm.spread)] for arm in found.arms},
        "lower_is_better": found.lower_is_better,
    }


def _rows(found: Contrasted, runs: Mapping[str, str]) -> list[list[str]]:
    """One row an arm, the baseline first."""
    from ...tools.claim import in_a_word, interval
    from ..report.numbers import quantity

    median, sd = (found.arms[0].described.ratio(name).baseline for name in ("median", "sd"))
    first = [quantity(median, found.unit), quantity(sd, found.unit), "1", "baseline"]
    rows = [[found.baseline, runs[found.baseline], *first]]
    for arm in found.arms:
        median, sd = (arm.described.ratio(name).other for name in ("median", "sd"))
        told = [quantity(median, found.unit), quantity(sd, found.unit), interval(arm.spread), in_a_word(arm.spread)]
        rows.append([arm.name, runs[arm.name], *told])
    return rows


def export(run: str, path: str) -> dict[str, Any]:
    """Write the table of a run as CSV or Parquet, with what its columns mean."""
    from ...tools.recorded.read import read
    from ...tools.recorded.write import write

    table = read(Path(run), (), None)
    return {"files": [str(one) for one in write(table, Path(path))], "rows": table.frame.height}


def _alone(path: Path, metric: str) -> dict[str, Any]:
    from ...tools.recorded.design import ColumnOptions, designs
    from ...tools.recorded.read import outline, read
    from ..report.outline import text as described

    table = read(path, (), None)
    found = outline(table)
    outcome = metric or found.outcome
    if outcome is None:
        following = f"name the outcome: /open {quote(str(path))} --outcome COL"
        return {**_NOTHING, "headline": f"{path.name}: no outcome", "words": described(found, (), following)}
    parts = designs(table, ColumnOptions(outcome=outcome, group=table.group))
    arms = {
        ", ".join(f"{column}={value}" for column, value in values.items()): one for values, one in parts[:MOST_ARMS]
    }
    return {
        **_NOTHING,
        "headline": f"{path.name}: {found.rows} runs, {outcome}",
        "words": _analysed(parts, table) or described(found, (), f"vgo-agent analyze {path} --outcome {outcome}"),
        "unit": found.unit or "",
        "metric": outcome,
        "arms": {name or path.name: _thinned(part.outcome) for name, part in arms.items()},
    }


_NOTHING: dict[str, Any] = {
    "headline": "",
    "words": "",
    "header": [],
    "rows": [],
    "unit": "",
    "metric": "",
    "arms": {},
    "ratios": {},
    "lower_is_better": True,
}


def _spread(claim: Any) -> list[float | None]:
    """Ratio and interval; nothing where there is no claim."""
    return [getattr(claim, name, None) for name in ("ratio", "low", "high")]


def _analysed(parts: Any, table: Any) -> str:
    from ...tools.analysis.analyse import analyse_groups
    from ...tools.analysis.analysis import AnalysisOptions
    from ..report.analysis import text

    try:
        return text(analyse_groups(parts, AnalysisOptions()), table)
    except VgoError as refused:  # it is described all the same
        return str(refused)


def _thinned(values: Any) -> list[float]:
    import numpy as np

    finite = np.asarray(values, float)
    finite = np.sort(finite[np.isfinite(finite)])
    if finite.size > MOST_DRAWN:
        finite = finite[np.linspace(0, finite.size - 1, MOST_DRAWN).round().astype(int)]
    return [float(value) for value in finite]


def warm() -> dict[str, str]:
    """Load the libraries of analysis."""
    import sklearn.tree  # noqa: F401 - loaded for the duties to come

    from ...tools.steps import fit_tree, rank_factors  # noqa: F401

    return {}


def look(asked: str) -> str:
    """Answer what the tabs ask about a table; arrays travel packed."""
    from ..look.open_table import look as answered

    return answered(asked)


_DUTIES: tuple[Callable[..., Any], ...] = (warm, ask, explain, named, source, recorded, export, look)
DUTIES = {duty.__name__: duty for duty in _DUTIES}
