"""An evaluation as one page that needs nothing else, and as Markdown."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from matplotlib.axes import Axes

from ...agent.render.html import html_page
from ...agent.render.text import markdown_page
from ...agent.report.strips import Strip, height_of, row_axes, strips
from ...agent.report.svg import BASELINE, FAINT, INK, MITIGATED, canvas
from ...tools.document import Block, Document, Facts, Figure, Headline, Listing, Section, Table
from .difference import Difference
from .evaluate import bound_of, missed
from .results import Results, made_by
from .score import COLUMNS, KINDS
from .summary import Grouping, Summed, by_case, cases_by, summarise
from .tables import (
    brief,
    by_group,
    difference_lines,
    duel_line,
    duels,
    failure_lines,
    grid,
    notes,
    overview,
    requirements,
    turned,
)

MAIN = "rules"
"""Whose failures are told where nobody was named: those of baselines are no news."""


def words(results: Results, found: Difference | None, asked: Collection[str], width: int) -> str:
    """Write everything, a line each below the table, which is as wide as the terminal allows."""
    seeds = ", ".join(map(str, results.seeds))
    cases = "case" if len(results.cases) == 1 else "cases"
    heads = [
        f"{len(results.cases)} {cases}, {'seeds' if ',' in seeds else 'seed'} {seeds}; with 95 % intervals over cases."
    ]
    blocks = [
        [results.stopped, *heads],
        [brief(results, width), *notes(results)],
        [duel_line(duel) for duel in duels(results)],
    ]
    shown = [name for name in results.contestants if name in asked or (not asked and name == MAIN)]
    if shown:
        wrong, of = failure_lines(results, shown), ", ".join(shown)
        blocks.append([f"What failed and why (of {of}):", *wrong] if wrong else [f"Nothing failed (of {of})."])
    if found is not None:
        blocks.append(["Against the results before:", *difference_lines(found)])
    return "\n\n".join("\n".join(filter(None, block)) for block in blocks if block)


MARKS = (
    *(("o", MITIGATED), ("^", BASELINE), ("s", INK), ("x", FAINT)),
    *(("D", MITIGATED), ("v", BASELINE), ("P", INK), ("*", FAINT)),
)
"""Shape and colour of each contestant, the first one first; told apart by their shapes in grey too."""
A_LINE = 4
"""Contestants in a line of the legend."""
LEGEND = 0.2
"""Inches that a line of the legend takes."""
MOST_TAGS = 12
"""Those of the most cases are drawn; the table has all."""
EACH_MARK = "Each mark is one case; the bar is the median."
UNCLAIMED = "Who claims no mitigation where one helps is scored with what that comes to."
MOST_REGRET = 20.0
"""Beyond it a regret sits on the edge of the picture."""


def _pictures(results: Results) -> tuple[Figure, ...]:
    """Draw what there are answers for; empty where nothing applies."""
    bound = bound_of("regret")
    regret = f"regret: SD ratio over that of the best accepted one; dotted: {bound:g} is required of the median"
    return (
        Figure(
            "tags",
            "How often a true cause, or one that moves with it, is named first (cause@1), by tag; the lines are 95 % "
            "intervals.",
            svg=_tags(results),
        ),
        Figure(
            "regret",
            f"{EACH_MARK} {UNCLAIMED} Beyond {MOST_REGRET:g} a mark sits on the edge.",
            svg=_strips(results, "regret", regret, bound),
        ),
        Figure("runs", EACH_MARK, svg=_strips(results, "runs", "recorded runs used by one answer")),
    )


def _tags(results: Results) -> str:
    """One line a tag, one mark a contestant, with its interval."""
    shares = {
        tag: {name: summarise(results, name, cases).scores.get("cause@1") for name in results.contestants}
        for tag, cases in cases_by(results, "tag").items()
    }
    cases = {tag: max((one.n for one in found.values() if one), default=0) for tag, found in shares.items()}
    first = sorted((tag for tag in shares if cases[tag]), key=lambda tag: -cases[tag])[:MOST_TAGS]
    shown = {f"{tag} ({cases[tag]})": found for tag, found in shares.items() if tag in first}
    if not shown:
        return ""
    names = list(results.contestants)
    lines = len(shown) * (len(names) + 1)
    top = 0.15 + LEGEND * -(-len(names) // A_LINE)
    height = 0.4 + top + 0.13 * lines
    with canvas(
        "tags", "Share of cases in which a true cause, or one that moves with it, is named first, by tag.", height
    ) as page:
        axes = page.axes(0.17, 0.81, 0.4 / height, 1 - (0.4 + top) / height)
        for place, found in enumerate(shown.values()):
            for of, name in enumerate(names):
                _share(axes, found[name], place + (of + 0.5) / (len(names) + 1), of, name if place == 0 else None)
        ticks = np.arange(len(shown)) + 0.5 * len(names) / (len(names) + 1)
        axes.set_yticks(ticks, list(shown))
        axes.set(xlim=(-2, 102), ylim=(len(shown), -0.1), xlabel="cause@1, % of the cases (their number in brackets)")
        axes.legend(
            loc="lower right",
            bbox_to_anchor=(1.02, 1.0),
            ncols=min(len(names), A_LINE),
            handletextpad=0.2,
            columnspacing=1,
        )
    return page.svg


def _share(axes: Axes, found: Summed | None, y: float, of: int, label: str | None) -> None:
    marker, colour = MARKS[of % len(MARKS)]
    x, low, high = (100 * v for v in (found.value, found.low or 0.0, found.high or 1.0)) if found else (np.nan,) * 3
    axes.plot([low, high], [y, y], color=colour, linewidth=1, alpha=0.7)
    axes.plot([x], [y], linestyle="none", marker=marker, color=colour, markersize=4, label=label)


def _strips(results: Results, score: str, label: str, bound: float | None = None) -> str:
    """One line a contestant, one mark a case, its median as a bar."""
    rows = {name: [row for row in results.rows if row.contestant == name] for name in results.contestants}
    shown = {name: found for name, its in rows.items() if (found := list(by_case(its, score).values()))}
    if not any(max(found) > 0 for found in shown.values()):
        return ""
    height = height_of(len(shown))
    most = MOST_REGRET if score == "regret" else np.inf
    marks = (MARKS[results.contestants.index(name) % len(MARKS)] for name in shown)
    strip_rows = [
        Strip(name, np.minimum(found, most), colour, marker)
        for (name, found), (marker, colour) in zip(shown.items(), marks, strict=True)
    ]
    with canvas(score, f"{label}, by contestant.", height) as page:
        axes = row_axes(page, 0.17, height)
        strips(axes, strip_rows)
        if bound is not None:
            axes.axvline(bound, color=INK, linewidth=0.8, linestyle=":")
            axes.set_xscale("log")
            axes.set_xticks(ticks := [1, 1.5, 2, 3, 5, 10, 20], [f"{tick:g}" for tick in ticks], minor=False)
            axes.set_xticks([], minor=True)
        axes.set_xlabel(label)
    return page.svg


GROUPINGS: tuple[Grouping, ...] = ("split", "difficulty", "tag")
GROUPED = ("verdict", "cause@1", "injected@1", "false_alarm", "regret")
"""Scores that are shown by split, by difficulty and by tag."""
OVER = (
    "Shares are of cases, with Wilson's 95 % interval: each case counts once, as the mean over its seeds, because its "
    "seeds are drawn from the same recorded runs. Flaky: right under some seeds and not under others. Regret and "
    "ratios have the bootstrap's interval over cases. These cases were looked at while the tools were mended: programs "
    "that nobody has seen are made by `vgo-agent eval --random N`."
)


def page(results: Results, found: Difference | None = None) -> str:
    """Write the page; with `found`, what is different from an earlier evaluation."""
    return html_page(_document(results, found, results.contestants, _pictures(results)))


def markdown(results: Results, found: Difference | None = None) -> str:
    """Write the tables as Markdown, for the documentation; failures are those of the rule policy where it took part."""
    asked = (MAIN,) if MAIN in results.contestants else results.contestants
    return markdown_page(_document(results, found, asked))


def _document(
    results: Results, found: Difference | None, asked: Collection[str], pictures: tuple[Figure, ...] = ()
) -> Document:
    shown, judged = overview(results), MAIN in results.contestants
    who = f"{len(results.contestants)} {'contestant' if len(results.contestants) == 1 else 'contestants'}"
    seeds = ", ".join(map(str, results.seeds))
    named = [(kind.column, kind.words) for kind in KINDS.values() if kind.column in shown.header]
    data = tuple((case.key, f"{case.title} `{case.manifest}`") for case in results.cases)
    groups = (
        Table(*table, caption=COLUMNS[score])
        for grouping in GROUPINGS
        for score in GROUPED
        if (table := by_group(results, grouping, score)).rows
    )
    blocks: tuple[Block, ...] = (
        Headline("", f"{who} on {len(results.cases)} recorded cases whose cause is known, seeds {seeds}."),
        made_by(results),
        results.stopped,
        " ".join((OVER, *notes(results))),
        Table(*turned(shown)),
        Listing(tuple(duel_line(duel) for duel in duels(results))),
        Table(*requirements(results, MAIN), caption="What the rule policy has to reach") if judged else "",
        Listing(tuple(missed(results, MAIN)) if judged else ()),
        Section("What the scores are", (Facts(tuple(named)),), folded=True),
        Section("Against the results before", (Listing(tuple(difference_lines(found) if found else ())),)),
        Section("Pictures", pictures),
        Section("By split, by difficulty and by tag", tuple(groups)),
        Section("Case by case", (Table(*grid(results)),)),
        _failed(results, asked),
        Section(
            "How it was made",
            (
                Facts((("digest of the knowledge", f"`{results.knowledge}`"),)),
                Section("The cases and the hashes of their data", (Facts(data),), folded=True),
            ),
        ),
    )
    return Document("How right is the agent?", "evaluation", blocks)


def _failed(results: Results, asked: Collection[str]) -> Section:
    title, lines = f"What failed and why (of {', '.join(asked)})", failure_lines(results, asked)
    if not lines:
        return Section(title, ("Nothing failed.",))
    findings = f"{len(lines)} finding{'s' * (len(lines) != 1)}"
    return Section(title, (Section(findings, (Listing(tuple(lines)),), folded=True),))
