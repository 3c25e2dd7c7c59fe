"""What `model.py` measured, against its limits and as a page."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from datetime import date
from typing import NamedTuple

from model_counts import Decisions, Large, Said, Timed

from vgo_agent.agent.planners.llama import PROMPT_TOKENS

LONGEST_S = 0.3
"""For a decision of the shipped model, 95 of 100 times."""
GRAMMAR_SHARE = 0.15
"""Of the time that the large model decodes."""
FEW = 8
"""Decisions of the large model, one after the other: each takes as long as hundreds of the small one's."""


class Held(NamedTuple):
    """One number against what it has to keep to."""

    what: str
    measured: str
    limit: str
    kept: bool


def held(counted: Sequence[Decisions], said: Said, large: Large | None) -> Iterator[Held]:
    """Set what was measured against what the plan asks for."""
    for one in counted:
        whole = f"{one.asked} of {one.asked}"
        yield Held(f"legal as written, {one.name}", f"{one.legal} of {one.asked}", whole, one.legal == one.asked)
        yield Held(f"strict, {one.name}", f"{one.strict} of {one.asked}", whole, one.strict == one.asked)
        longest = max((timed.answer["prompt_tokens"] for timed in one.timed), default=0)
        yield Held(f"prompt at most, {one.name}", f"{longest} tokens", str(PROMPT_TOKENS), longest <= PROMPT_TOKENS)
    ungrounded = sum(one.ungrounded for one in said.claims)
    yield Held(f"ungrounded in {len(said.claims)} explanations", str(ungrounded), "0", not ungrounded)
    slow = quantile(counted[0].timed, 0.95)
    yield Held("decision of the shipped model (p95)", f"{slow:.3f} s", f"below {LONGEST_S} s", slow < LONGEST_S)
    if large:
        share = f"{100 * large.share:.1f} %"
        yield Held("the grammar's share", share, f"below {100 * GRAMMAR_SHARE:.0f} %", large.share < GRAMMAR_SHARE)
        many = len(large.timed)
        yield Held("decisions of the large model", str(many), f"{FEW}", many >= FEW)


def quantile(timed: Sequence[Timed], share: float) -> float:
    """Give the seconds that so many answers do not take more than; infinite where there are none."""
    seconds = sorted(one.seconds for one in timed)
    return seconds[int(share * (len(seconds) - 1))] if seconds else float("inf")


def page(counted: list[Decisions], said: Said, large: Large | None, limits: list[Held]) -> str:
    """Write the tables, and what they were measured on."""
    lines = ["# What a local model costs, and what it keeps to", ""]
    lines += [f"Written by `python benchmarks/model.py --write` on {date.today()}, on this machine's CPUs.", ""]
    lines += table(("what", "measured", "limit", ""), [(*one[:3], "" if one.kept else "**missed**") for one in limits])
    columns = "model, states, strict, legal, different texts, taken, as the rules, a diagnosis asks, tokens a decision"
    lines += ["", *table([*columns.split(", "), "median, s", "p95, s", "MB"], [row(one) for one in counted])]
    lines += [
        "",
        "states: all different, from simulated diagnoses that the rule policy conducts, whatever the model answers;",
        "those with one legal call are left out. strict: JSON without a blank or a key twice (the shipped model:",
        "the form of places); legal: the call as it was written is one that the graph runs; both before anything",
        "falls back. taken: without those that repeat a call. Random weights draw at temperature 1. Each state",
        "counts once, however often it comes; the card of the shipped model counts them as they come.",
        "",
        f"{len(said.claims)} answers over the runs of recorded cases, formulated by random weights at temperature 1",
        f"({said.by_templates} more by templates, since the model gave none).",
        f"It wrote {total(said, 'sentences')} references; {total(said, 'objected')} of",
        f"them, and to {total(said, 'shown')} of those shown. {total(said, 'dropped')} were dropped (what the end of",
        f"the answer cut is not counted); {total(said, 'numbers')} numbers are not those of their fact;",
        f"{statistics.median(said.seconds):.2f} s an answer.",
    ]
    return "\n".join([*lines, *(large_lines(large) if large else ())]) + "\n"


def total(said: Said, name: str) -> int:
    """Add up one count over all answers."""
    return sum(int(getattr(one, name)) for one in said.claims)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Write a table in Markdown."""
    return [f"| {' | '.join(one)} |" for one in (head, ["---"] * len(head), *rows)]


def row(one: Decisions) -> list[str]:
    """Tell of one model."""
    tokens = [timed.answer["prompt_tokens"] + timed.answer["tokens"] for timed in one.timed]
    counts = (one.asked, one.strict, one.legal, len(one.texts), one.taken, one.like_rules)
    return [
        one.name,
        *map(str, counts),
        f"{one.choosing / one.diagnoses:.1f}",
        f"{statistics.median(tokens):.0f}" if tokens else "",
        f"{quantile(one.timed, 0.5):.3f}",
        f"{quantile(one.timed, 0.95):.3f}",
        f"{one.resident_bytes / 1e6:.0f}",
    ]


def large_lines(large: Large) -> Iterator[str]:
    """Say what the large model costs."""
    many, prompts, reused = len(large.timed), large.tokens("prompt_tokens"), large.tokens("reused")
    yield ""
    yield (
        f"Random weights in the shape of a model of {large.parameters / 1e9:.2f} billion weights in four bits "
        f"({large.file_bytes / 1e9:.2f} GB on disk, {large.resident_bytes / 1e9:.2f} GB in memory, "
        f"{large.facts.threads} threads), over {many} decisions of one diagnosis, one after the other: prompts of "
        f"{prompts / many:.0f} tokens, {100 * reused / prompts:.0f} % of them kept from the prompt before, the others "
        f"read at {(prompts - reused) / large.seconds('prompt'):.0f} tokens a second; "
        f"{large.tokens('tokens') / large.decoding_s:.1f} tokens a second written by the model; the grammar takes "
        f"{100 * large.share:.1f} % of the time to write; {quantile(large.timed, 0.5):.0f} s a decision (median)."
    )
