"""An analysis in words for a terminal, and as one object for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...prompts.render import render
from ...tools.analysis.analyse import Analyses, GroupAnalysis
from ...tools.analysis.analysis import Analysis, Finding
from ...tools.recorded.recorded import RecordedRuns
from ...tools.statistics.association.clusters import FactorAssociation
from ..terminal import folded, table
from .numbers import number, p_cell, p_value, percent, quantity, ratio
from .remarks import of_form

BESIDE = ", gone beside those above"
"""Of a factor that is no longer linked once the stronger ones are accounted for."""
MOST_FACTORS = 8
MOST_ASIDE = 12
MOST_PAIRS = 3
MOST_GROUPS = 5
"""Groups told of in full; the others stand in the table of groups."""
FACTORS = ("FACTOR", "SLOW RUNS", "AUC [95 %]", "PER UNIT", "R2", "LOSS WITHOUT [95 %]", "STABLE", "P", "EVIDENCE")
GROUPS = ("GROUP", "RUNS", "CV", "VERDICT", "FACTOR", "P")


def summary(found: Analyses, recorded: RecordedRuns) -> dict[str, Any]:
    """Give the object that `--json` prints: the analysis itself, or a list of them with the values of their groups."""
    source = {"file": recorded.source, "format": recorded.format, "notes": list(recorded.notes)}
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


def text(found: Analyses, recorded: RecordedRuns) -> str:
    """Give the words of a terminal: each group in full, or a table of many and the telling ones in full."""
    groups = found.groups
    if len(groups) == 1:
        return _told(groups[0], recorded)
    telling = [group for group in groups if group.analysis.verdict == "cause explained"][:MOST_GROUPS]
    parts = [table(GROUPS, [row(group) for group in groups]), *(_told(group, recorded) for group in telling)]
    return "\n\n".join(parts)


def row(group: GroupAnalysis) -> tuple[str, ...]:
    """Give one line of the table of groups."""
    one = group.analysis
    first = next((finding.factor.name for finding in one.findings if finding.factor.visible), "")
    cv = percent(one.spread.cv, 2) if one.spread else ""
    shown = one.verdict == "cause explained"
    p = "" if one.p_adjusted is None else number(one.p_adjusted, 2)
    return named(group.values), str(one.runs), cv, one.verdict, first if shown else "", p


def named(values: Mapping[str, Any]) -> str:
    """Write which runs a group holds."""
    return ", ".join(f"{column}={value}" for column, value in values.items())


def sentences(one: Analysis) -> dict[str, Any]:
    """What the terminal and the page say alike."""
    return {
        "verdict": one.verdict,
        "reason": one.reason,
        "runs": _runs(one),
        "form": list(of_form(one.shape, one.unit)) if one.shape else [],
        "classes": _classes(one),
        "interactions": list(_interactions(one)),
        "steps": list(_steps(one)),
    }


def _told(group: GroupAnalysis, recorded: RecordedRuns) -> str:
    one = group.analysis
    aside = [f"{name}: {reason}" for name, reason in one.set_aside.items()]
    more = [f"... and {len(aside) - MOST_ASIDE} more (--json names all)"] if len(aside) > MOST_ASIDE else []
    words = render(
        "analysis.txt.j2",
        where=f" ({named(group.values)})" if group.values else "",
        factors=_factor_table(one),
        tree=_tree(one),
        set_aside=[*aside[:MOST_ASIDE], *more],
        notes=[*recorded.notes, *one.warnings],
        **sentences(one),
    )
    return folded(words)


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
    """Say what would be stronger evidence, or would find more."""
    strongest = next((finding.evidence for finding in one.findings if finding.factor.visible), "association")
    if one.verdict == "cause explained" and strongest != "intervention":
        yield "an association is no proof: switch the cause off and on in mixed order, then `vgo-agent compare`."
    if one.verdict == "cause not visible" and one.detectable_auc is not None and one.detectable_auc < 0.99:
        weakest = number(one.detectable_auc, 2)
        yield f"record more columns, or more runs to see links weaker than an AUC of about {weakest}."
    follow = [name for name, reason in one.set_aside.items() if reason.startswith("follows ")]
    if one.verdict == "cause not visible" and follow:
        named = ", ".join(follow[:3]) + (", ..." if len(follow) > 3 else "")
        yield (
            f"{named}: set aside as counting no more than {one.outcome} does; if one is a level "
            "(a temperature, a speed) or was set, say so with --levels or --settings."
        )


def factors(one: Analysis) -> tuple[str, list[tuple[str, ...]]]:
    """Give what is visible, or the strongest of what is not, with a title that says which."""
    visible = [finding for finding in one.findings if finding.factor.visible]
    if one.verdict == "cause explained" and visible:
        return "Factors", [_factor(finding) for finding in visible]
    return "Nearest to a link, none of them by more than luck", [_factor(finding) for finding in one.findings[:3]]


def _factor_table(one: Analysis) -> str:
    title, rows = factors(one)
    more = len(rows) - MOST_FACTORS
    rest = f"\n... and {more} more (--json names all)" if more > 0 else ""
    return f"{title}:\n{table(FACTORS, rows[:MOST_FACTORS])}{rest}" if rows else ""


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


def tree_title(one: Analysis) -> str:
    """Say how good the tree is, on the runs it knows and on others; empty without one."""
    if one.tree is None or len(one.tree.nodes) < 2:
        return ""
    unseen = (
        "not cross-validated" if one.tree.cross_validated is None else f"{one.tree.cross_validated:.2f} on unseen runs"
    )
    return f"Balanced accuracy {one.tree.in_sample:.2f} in-sample, {unseen}."


def _tree(one: Analysis) -> str:
    title = tree_title(one)
    # Where nothing is visible a tree only tempts: --json and --save have it.
    if one.tree is None or not title or one.verdict != "cause explained":
        return ""
    return f"A tree that explains. {title}\n{one.tree.text().rstrip()}"
