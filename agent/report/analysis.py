"""An analysis as a document, and as one object for programs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ...tools import document as doc
from ...tools.analysis.analyse import Analyses, GroupAnalysis
from ...tools.analysis.analysis import Analysis, Finding
from ...tools.ledger.ledger import Ledger
from ...tools.recorded.columns import listed
from ...tools.recorded.recorded import RecordedRuns
from ...tools.statistics.association.columns import FactorAssociation
from ...tools.statistics.strata import Strata
from ...tools.verdict import EXPLAINED, NOT_VISIBLE
from ..render.text import blocks_text
from .ledger import headline, section
from .numbers import number, p_cell, p_value, percent, quantity, ratio
from .remarks import of_form

BESIDE = ", gone beside those above"
"""Of a factor that is no longer linked once the stronger ones are accounted for."""
MOST_PAIRS = 3
MOST_GROUPS = 5
"""Groups told of in full; the others stand in the table of groups."""
FACTORS = ("factor", "slow runs", "AUC [95 %]", "per unit", "R2", "loss without [95 %]", "stable", "p", "evidence")


def summary(found: Analyses, recorded: RecordedRuns, ledger: Ledger | None = None) -> dict[str, Any]:
    """Give the object that `--json` prints: the analysis itself, or a list of them with the values of their groups."""
    source: dict[str, Any] = {"file": recorded.source, "format": recorded.format, "notes": list(recorded.notes)}
    source |= {"strata": found.strata.model_dump()} if found.strata else {}
    source |= {"ledger": ledger.model_dump(mode="json")} if ledger else {}
    if len(found.groups) == 1 and not found.groups[0].values:
        return {**_flat(found.groups[0].analysis), **source}
    return {"groups": [{"group": dict(g.values), **_flat(g.analysis)} for g in found.groups], **source}


def _flat(one: Analysis) -> dict[str, Any]:
    """Give each factor its evidence as one more field."""
    fields = one.model_dump()
    fields["factors"] = [
        {**factor, "effect": factor["slow_median"] - factor["fast_median"], "evidence": finding["evidence"]}
        for finding in fields.pop("findings")
        for factor in [finding["factor"]]
    ]
    return fields


def text(found: Analyses, recorded: RecordedRuns, ledger: Ledger | None = None, apart: str = "") -> str:
    """Give the words of a terminal: each group in full, or a table of many and the telling ones in full.

    With a `ledger` of the runs it tells where their milliseconds went, too; `apart` is the command that looks at kinds
    of runs apart, where they are mixed.
    """
    groups = found.groups
    if len(groups) == 1:
        return blocks_text((*_group(groups[0], recorded, ledger), *_mixed(found, apart)))
    telling = [group for group in groups if group.analysis.verdict == EXPLAINED][:MOST_GROUPS]
    parts = (block for group in telling for block in _group(group, recorded))
    return blocks_text((_groups(found), *parts, *_mixed(found, apart)))


def _mixed(found: Analyses, apart: str) -> Iterator[doc.Block]:
    if found.strata:
        said = between(found.strata, found.groups[0].analysis.outcome)
        again = f": `{apart}`" if apart else ""
        yield doc.Note(f"{said}: unless you ask about these, look for what makes runs of one cell slow{again}.", "Next")


def between(strata: Strata, outcome: str) -> str:
    """Say how much of the spread lies between kinds of runs."""
    cells = f"the {strata.cells} cells of {listed(strata.columns)}"
    return f"{percent(strata.share)} of the variance of {outcome} (of its ranks) lies between {cells}"


def document(found: Analyses, recorded: RecordedRuns, command: str, places: Sequence[int]) -> doc.Document:
    """Give the whole page: a table of the groups, then those at some places in full."""
    told = (block for place in places for block in _group(found.groups[place], recorded))
    title = f"{recorded.source}: {found.groups[0].analysis.outcome}"
    given = doc.Command(command, "The command that gives this page")
    return doc.Document(title, "analysis", (given, _groups(found), *told))


def _groups(found: Analyses) -> doc.Table:
    columns = (
        "group",
        "runs",
        doc.TableColumn("CV", doc.SHARE, 2),
        "verdict",
        "factor",
        doc.TableColumn("p over all groups", digits=2),
    )
    rows = [_row(group) for group in found.groups] if len(found.groups) > 1 else ()
    return doc.Table(columns, rows)


def _row(group: GroupAnalysis) -> tuple[doc.Cell, ...]:
    one = group.analysis
    first = next((finding.factor.name for finding in one.findings if finding.factor.visible), "")
    cv = "" if one.spread is None else one.spread.cv
    shown = first if one.verdict == EXPLAINED else ""
    return named(group.values), one.runs, cv, one.verdict, shown, "" if one.p_adjusted is None else one.p_adjusted


def named(values: Mapping[str, Any]) -> str:
    """Write which runs a group holds."""
    return ", ".join(f"{column}={value}" for column, value in values.items())


def folder_of(group: GroupAnalysis) -> str:
    """Name the folder of the files of a group, with a slash at its end; empty where there are no groups."""
    if not group.values:
        return ""
    return f"{re.sub(r'[^A-Za-z0-9._=-]+', '-', named(group.values))[:100].strip('-.') or 'group'}/"


def _group(group: GroupAnalysis, recorded: RecordedRuns, ledger: Ledger | None = None) -> tuple[doc.Block, ...]:
    """Tell one group; under its name, where there are several."""
    one = group.analysis
    beside = f" Their ledger: {headline(ledger)}" if ledger and ledger.material and one.verdict == NOT_VISIBLE else ""

    def figure(name: str, caption: str, words: str = "") -> doc.Figure:
        return doc.Figure(f"{folder_of(group)}{name}", caption, words)

    aside = tuple((f"`{name}`", reason) for name, reason in one.set_aside.items())
    blocks: tuple[doc.Block, ...] = (
        doc.Headline(one.verdict.capitalize(), f"{one.reason}{beside}"),
        _runs(one),
        *(of_form(one.shape, one.unit) if one.shape else ()),
        _classes(one),
        figure("distribution", "Runs by outcome."),
        figure("order", "Runs in the order they were made."),
        _factors(one, figure),
        *_interactions(one),
        *_tree(one, figure),
        *section(ledger),
        doc.Section("Set aside", (doc.Facts(aside),), folded=True),
        *map(doc.Note, (*recorded.notes, *one.warnings)),
        *(doc.Note(step, "Next") for step in _steps(one)),
    )
    return (doc.Section(named(group.values), blocks),) if group.values else blocks


def _runs(one: Analysis) -> str:
    spread = one.spread
    if spread is None:
        return "No run counts."
    sd = ""
    if spread.sd is not None:
        between = one.sd_interval
        sd = f", SD {quantity(spread.sd, one.unit)}"
        sd += f" [{quantity(between.low, one.unit)}, {quantity(between.high, one.unit)}]" if between else ""
    better = "lower" if one.lower_is_better else "higher"
    what = f"{number(spread.n)} runs of"
    if one.of_runs:
        what = f"{number(spread.n)} samples of {number(one.of_runs)} run{'s' * (one.of_runs != 1)}:"
    return (
        f"{what} {one.outcome} ({better} is better): "
        f"median {quantity(spread.median, one.unit)}{sd}, CV {percent(spread.cv)}, "
        f"p95 {quantity(spread.p95, one.unit)}, p99 {quantity(spread.p99, one.unit)}."
    )


def _classes(one: Analysis) -> str:
    if one.classes is None:
        return ""
    cuts = ", ".join(quantity(cut, one.unit) for cut in one.classes.cuts)
    sizes = " + ".join(number(size) for size in one.classes.sizes)
    return f"Cut at {cuts} ({one.classes.how}): {sizes} runs, best to worst."


def _interactions(one: Analysis) -> Iterator[str]:
    for pair in one.interactions[:MOST_PAIRS]:
        low, second, first, both = (percent(share, 2) for share in pair.slow_shares)
        shares = (
            f"{low} with both low, {first} with only the first high, {second} with only the second, {both} with both"
        )
        yield f"{pair.first} and {pair.second} work together: of the runs are slow {shares} ({p_value(pair.p_value)})."


def _steps(one: Analysis) -> Iterator[str]:
    strongest = next((finding.evidence for finding in one.findings if finding.factor.visible), "association")
    if one.verdict == EXPLAINED and strongest != "intervention":
        yield "an association is no proof: switch the cause off and on in mixed order, then `vgo-agent compare`."
    if one.verdict == NOT_VISIBLE and one.detectable_auc is not None and one.detectable_auc < 0.99:
        weakest = number(one.detectable_auc, 2)
        yield f"record more columns, or more runs to see links weaker than an AUC of about {weakest}."
    spells = [name for name, reason in one.set_aside.items() if reason.startswith("comes in spells")]
    if one.verdict == NOT_VISIBLE and spells:
        named = ", ".join(spells[:3]) + (", ..." if len(spells) > 3 else "")
        yield (
            f"{named}: set aside, since slowness came and went too seldom to tell it from luck; record over more time, "
            "until it has come and gone several times more."
        )
    follow = [name for name, reason in one.set_aside.items() if reason.startswith("follows ")]
    if one.verdict == NOT_VISIBLE and follow:
        named = ", ".join(follow[:3]) + (", ..." if len(follow) > 3 else "")
        yield (
            f"{named}: set aside as counting no more than {one.outcome} does; if one is a level "
            "(a temperature, a speed) or was set, say so with --levels or --settings."
        )


def factors(one: Analysis) -> tuple[str, list[tuple[str, ...]]]:
    """Give what is visible, or the strongest of what is not, with a title that says which."""
    visible = [finding for finding in one.findings if finding.factor.visible]
    if one.verdict == EXPLAINED and visible:
        return "Factors", [_factor(finding) for finding in visible]
    return "Nearest to a link, none of them by more than luck", [_factor(finding) for finding in one.findings[:3]]


def _factors(one: Analysis, figure: Callable[[str, str], doc.Figure]) -> doc.Section:
    title, rows = factors(one)
    drawn = [figure("factor", "Each mark is a run; the dotted line is the best straight one.")]
    return doc.Section(title, (*(drawn if title == "Factors" else ()), doc.Table(FACTORS, rows)))


def _factor(finding: Finding) -> tuple[str, ...]:
    one = finding.factor
    indicators = one.eta2 is not None and one.column != one.name
    others = f" (+{len(one.members) - 1})" if len(one.members) > 1 and not indicators else ""
    return (
        f"{one.name}{others}",
        f"more {one.column}" if indicators else f"have {one.direction}",
        "–" if indicators else _auc(one),
        number(one.auc_per_unit, 2),
        number(one.r2 if one.eta2 is None else one.eta2, 2),
        ratio(one.importance, one.importance_low, one.importance_high),
        percent(one.stability, 2),
        p_cell(one.p_value),
        f"{finding.evidence}{BESIDE if one.independent is False else ''}",
    )


def _auc(one: FactorAssociation) -> str:
    if one.auc_low is None or one.auc_high is None:
        return f"{one.auc:.2f}"
    return f"{one.auc:.2f} [{one.auc_low:.2f}, {one.auc_high:.2f}]"


def _tree(one: Analysis, figure: Callable[[str, str, str], doc.Figure]) -> Iterator[doc.Section]:
    """Say how good the tree is, on the runs it knows and on others."""
    # Where nothing is visible a tree only tempts: --json and --save have it.
    if one.tree is None or len(one.tree.nodes) < 2 or one.verdict != EXPLAINED:
        return
    seen = one.tree.cross_validated
    unseen = "not cross-validated" if seen is None else f"{seen:.2f} on unseen runs"
    title = f"Balanced accuracy {one.tree.in_sample:.2f} in-sample, {unseen}."
    yield doc.Section("A tree that explains", (title, figure("tree", "", one.tree.text())))
