"""Free questions: answered from the record of a run that has its verdict, else from what is known."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...knowledge.errors import VgoError

if TYPE_CHECKING:
    from ...knowledge.index import Index
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
    from ...knowledge.named import meant, nearest
    from ..commands.entry_explanation import explained
    from ..render.markdown import markdown_blocks

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
