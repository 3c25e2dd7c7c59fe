"""Passages of a report whose numbers come from results, each with the results that it tells of.

Looked at: the verdict in plain words; the sentence with its numbers; the facts of "The baseline" and the table
"Baseline and mitigated"; the facts of the factor; the cut, the accuracy and the ranking under "How slow and fast were
told apart"; of each mitigation tried its line of ratios and how far the counters fell. A number must be one that the
results of *that* passage hold (of a row: of that statistic, that factor, that counter), in the unit that is written.

Not looked at: warnings, next steps and what was set aside; the tree itself, checks other than counters, what a layer
costs, absent layers, machine and limits; words of the knowledge base; pictures. What a sentence quotes from a tool word
for word (why data are unusable, why a mitigation was refused) counts as said by that tool.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from ...agent.report.evidence import Evidence, unit
from ...agent.report.mitigations import name_of
from ...tools.claim import Claim
from ...tools.comparison import Comparison, claimed
from ...tools.findings import Batch
from ...tools.ranking import RankedFactor
from ...tools.trial_results import LEAST
from ...tools.verdict import Diagnosis, Refuted, Undecided, helpful
from ...tools.verdict_words import headline

UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
SIZES = {"bytes": 1.0, "kB": 2.0**10, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30}
NUMBER = re.compile(
    r"(?P<less><\s*)?(?<![\w.,-])(?P<number>[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?)(?![\w-]|\.\d)"
    rf"(?:\s(?P<unit>%|(?:{'|'.join((*UNITS, *SIZES))})\b))?"
)
"""A number that stands by itself, not part of a name, a version or a file; with its unit, and a `<` before it."""
RANGE = re.compile(r"(\S+) to (\S+) (\w+)")
"""Whose unit stands after its end, and is that of its beginning."""
FEWEST_DIGITS = 2
"""Significant digits that are meant where fewer are written: a rounded 0.30 reads 0.3."""
LEAST_P = 0.001
"""Below it a report only says that a p-value is less."""


class Passage(NamedTuple):
    """A text, and the only numbers that it may say."""

    where: str
    """Its name, for who reads what is wrong."""
    text: str
    values: tuple[float, ...]
    """Shares are given as shares."""
    unit: str = ""
    """Of those values that have one."""
    p_values: tuple[float, ...] = ()
    """Those that may be said to be less than `LEAST_P`."""


def unfounded(passage: Passage) -> Iterator[str]:
    """Name the numbers of a passage that none of its values is rounded to."""
    for found in NUMBER.finditer(passage.text):
        word = found["number"].replace(",", "")
        if found["less"]:
            founded = float(word) == LEAST_P and any(value < LEAST_P for value in passage.p_values)
        else:
            reach, scales = 0.5000001 * _last_place(word), _scales(found["unit"], passage.unit)
            values = (value * scale for value in passage.values + passage.p_values for scale in scales)
            founded = any(abs(value - float(word)) <= reach for value in values)
        if not founded:
            yield f"{passage.where} says {found[0].strip()}, which no tool gave"


def _scales(written: str | None, unit: str) -> tuple[float, ...]:
    """Multiply a value by one of these to have it in the unit that is written; where % is the unit, either."""
    if written == "%":
        return (1.0, 100.0) if unit == "%" else (100.0,)
    for family in (UNITS, SIZES):
        if written in family and unit in family:
            return (family[unit] / family[written],)
    return (1.0,)


def _last_place(word: str) -> float:
    """What one more in the last digit would be; nothing for a plain 0."""
    mantissa, _, exponent = word.lstrip("+-").partition("e")
    whole, _, decimals = mantissa.partition(".")
    significant = len((whole + decimals).lstrip("0"))
    if not significant and not decimals:
        return 0.0
    missing = 0 if len(decimals) >= FEWEST_DIGITS else max(0, FEWEST_DIGITS - significant)
    return float(10.0 ** (int(exponent or 0) - len(decimals) - missing))


LEVEL = 0.95
"""Of every interval; it stands in the report."""
COIN = 0.5
"""Balanced accuracy of one, which the report holds that of the tree against."""
SHORTEST = 12
"""Letters of a sentence that can be quoted."""


def passages(evidence: Evidence, report: str) -> Iterator[Passage]:
    """Cut a report into what is looked at."""
    plain = re.sub(r"\\(.)", r"\1", report)
    yield _plain_words(evidence, plain.split("\n\n")[2])
    yield _verdict(evidence, _section(plain, "In numbers").strip().split("\n\n")[0], "the verdict")
    yield _verdict(evidence, headline(evidence.verdict), "the headline")
    yield from _baseline(evidence, _section(plain, "The baseline"))
    yield from _mitigated(evidence, _section(plain, "Baseline and mitigated"))
    yield from _factor(evidence, _section(plain, "The factor"))
    told, _, ranked = _section(plain, "How slow and fast were told apart").partition("\nRanking of the groups")
    yield from _ranking(evidence, ranked)
    yield _classes(evidence, told)
    yield from _batches(evidence, _section(plain, "Mitigations tried"))


def _section(report: str, title: str) -> str:
    """What stands below a heading, without what is code."""
    found = re.search(rf"^## {title}.*?$(.*?)(?=^## |\Z)", report, re.M | re.S)
    return re.sub(r"^```.*?^```", "", found[1], flags=re.M | re.S) if found else ""


def _plain_words(evidence: Evidence, text: str) -> Passage:
    """Between which outcomes nine runs in ten lie, of both arms of a proof, and what slow runs spend more."""
    measured, batch, run = evidence.measured, evidence.confirming, evidence.run
    values = [measured.outcome.p5, measured.outcome.p95] if measured else []
    if batch and batch.compared:
        arms = evidence.record.runs(batch.call).paired(batch.applied.mitigation, block=batch.applied.block).compared
        values += [float(np.quantile(arm, share)) for arm in arms for share in (0.05, 0.95)]
    values.append(len({one.applied.mitigation for one in evidence.batches if one.compared}))
    with_units = RANGE.sub(r"\1 \3 to \2 \3", _unquoted(text, evidence))
    return Passage("the plain words", with_units, tuple(values), run.subject.unit)


def _verdict(evidence: Evidence, text: str, where: str) -> Passage:
    run, measured = evidence.run, evidence.measured
    first = [ranking.factors[0] for ranking in evidence.rankings if ranking.factors]
    suspects = [one for ranking in evidence.rankings for one in ranking.suspects]
    factors = [*first, *suspects, *filter(None, (evidence.slight,))]
    values = [LEVEL, run.limits.steady_cv, *(factor.auc for factor in factors)]
    values += [sum(ranking.clusters for ranking in evidence.rankings), sum(one.runs for one in evidence.profiles)]
    values.append(len({batch.applied.mitigation for batch in evidence.batches if batch.compared}))
    if measured:
        values += _given(measured.outcome.n, measured.outcome.mean, measured.outcome.sd, measured.outcome.cv)
    for batch in _headline_batches(evidence):
        values += [*_pairs(batch), *_of_claims(batch)]
    p_values = [*(factor.p_value for factor in factors), *(ranking.p_value for ranking in evidence.rankings)]
    p_values += [proof.claim.p_value] if (proof := helpful(evidence.verdict)) else []
    return Passage(where, _unquoted(text, evidence), tuple(values), run.subject.unit, tuple(p_values))


def _headline_batches(evidence: Evidence) -> list[Batch]:
    """Batches whose numbers a headline gives: the one that confirms, else the last of a mitigation that is alone."""
    if evidence.confirming and evidence.confirming.compared:
        return [evidence.confirming]
    remedy = evidence.verdict.remedy if isinstance(evidence.verdict, Diagnosis) else None
    left = remedy.undecided if isinstance(remedy, Undecided) else remedy.trials if isinstance(remedy, Refuted) else ()
    keys = {one.mitigation for one in left}
    of_it = [batch for batch in evidence.batches if batch.compared and batch.applied.mitigation in keys]
    return of_it[-1:] if len(keys) == 1 else []


def _of_claims(batch: Batch) -> list[float]:
    """Numbers of all claims of a batch: alone, and of the spread in its family."""
    made = [*(batch.compared.comparison.claims.values() if batch.compared else ()), batch.claim]
    claims = [claim for claim in made if isinstance(claim, Claim)]
    numbers = ((one.ratio, one.low, one.high, one.level, one.margin, 1 / one.margin) for one in claims)
    return [value for each in numbers for value in _given(*each)]


def _unquoted(text: str, evidence: Evidence) -> str:
    """Take out names, and sentences that a tool has said."""
    knowledge, said = evidence.run.knowledge, set[str]()
    for call in evidence.run.record.calls:
        if call.tool != "conclude":
            said.update(_sentences(call.result or call.error))
    names = [name_of(batch.applied.mitigation, evidence) for batch in evidence.batches]
    names += [factor.name for factor in knowledge.factors.values()]
    names += [name for ranking in evidence.rankings for factor in ranking.factors for name in factor.members]
    for quoted in sorted({*said, *names}, key=len, reverse=True):
        text = text.replace(quoted, "")
    return text


def _sentences(value: Any) -> Iterator[str]:
    if isinstance(value, str) and len(value) >= SHORTEST and re.search(r"\d", value):
        yield value.rstrip(".")
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _sentences(each)
    elif isinstance(value, (list, tuple)) and not (value and isinstance(value[0], (int, float))):
        for each in value:
            yield from _sentences(each)


def _baseline(evidence: Evidence, text: str) -> Iterator[Passage]:
    if measured := evidence.measured:
        outcome = measured.outcome
        plain = ("mean", "median", "MAD", "IQR", "p95", "p99", "CV")
        known: dict[str, tuple[float | None, ...]] = {name: (getattr(outcome, name.lower()),) for name in plain}
        bounds = (measured.sd_interval.low, measured.sd_interval.high) if measured.sd_interval else ()
        known |= {"SD": (outcome.sd, LEVEL, *bounds), "runs": (outcome.n,)}
        known |= {"range": (outcome.minimum, outcome.maximum)}
        for name, line in re.findall(r"^- (\w+): (.*\d.*)", text, re.M):
            yield Passage(f"the baseline's {name}", line, _given(*known.get(name, ())), evidence.run.subject.unit)


def _mitigated(evidence: Evidence, text: str) -> Iterator[Passage]:
    if (batch := evidence.telling) is None or batch.compared is None:
        return
    comparison = batch.compared.comparison
    described, p_values = comparison.described, _p_values(comparison)
    text = re.sub("`[^`]*`", "", text)
    counts = (LEVEL, batch.applied.batch, *_pairs(batch), described.baseline_modes, described.other_modes)
    above, *rows = text.split("\n| --- ")
    _, _, below = "".join(rows).partition("\n\n")
    yield Passage("the comparison", f"{above}\n{below}", (*counts, *_of_claims(batch)), "", p_values)
    cells = [line for line in text.splitlines() if line.startswith("| ")][2:]
    for ratio, line in zip(described.ratios, cells, strict=False):
        shown = claimed(ratio, comparison) or ratio
        level = shown.level if isinstance(shown, Claim) else None
        known = _given(ratio.baseline, ratio.other, ratio.value, shown.low, shown.high, level)
        yield Passage(f"the comparison's {ratio.statistic}", line, known, evidence.run.subject.unit)


def _factor(evidence: Evidence, text: str) -> Iterator[Passage]:
    if (factor := evidence.factor) is not None:
        known = _given(factor.slow_median, factor.fast_median, factor.auc_per_second, factor.r2, *_strength(factor))
        facts = re.findall(r"^- (?:Medians|AUC|AUC per second|R²|Importance|Stability|Family-wise p): .*", text, re.M)
        of = unit(factor.column, evidence.columns)
        yield Passage("the factor", "\n".join(facts), known, of, (factor.p_value,))


def _ranking(evidence: Evidence, text: str) -> Iterator[Passage]:
    rows = {row.split("`")[1]: row.split("|") for row in re.findall(r"^\| `.*", text, re.M)}
    for factor in evidence.factors:
        if factor.column in rows:
            said = " | ".join(rows[factor.column][3:])
            known = (len(factor.members), factor.runs, *_strength(factor))
            yield Passage(f"the ranking of {factor.column}", said, known, "", (factor.p_value,))


def _classes(evidence: Evidence, text: str) -> Passage:
    known = [COIN]
    if evidence.labelled:
        found = evidence.labelled.classes
        text = text.replace(found.how, "")
        known += [found.n_slow, found.n_slow + found.n_fast, found.cut]
    if evidence.tree:
        tree = evidence.tree
        known += _given(tree.tree.in_sample, tree.tree.cross_validated, tree.columns, tree.runs)
    return Passage("slow and fast", text, tuple(known), evidence.run.subject.unit)


def _batches(evidence: Evidence, text: str) -> Iterator[Passage]:
    for batch, told in zip(evidence.batches, re.split(r"^### ", text, flags=re.M)[1:], strict=False):
        if batch.compared is None:
            continue
        where = f"batch {batch.applied.batch} of {batch.applied.mitigation}"
        comparison = batch.compared.comparison
        known = (batch.applied.batch, batch.applied.pairs, batch.applied.failed, *_of_claims(batch))
        heading = told.partition("\n")[0].rpartition(", batch")[2]
        line = "\n".join(re.findall(r"^Spread ratio .*", told, re.M))
        yield Passage(where, f"batch {heading}\n{line}", known, "", _p_values(comparison))
        rows = re.findall(r"^\| the factor moved \|[^|]*\|[^|]*\|(.*)", told, re.M)
        for moved, row in zip(batch.compared.moved, rows, strict=False):
            claim = moved.claim if isinstance(moved.claim, Claim) else None
            ratios = _given(claim.ratio, claim.low, claim.high) if claim else ()
            # The share that the counter fell by with its interval, and the least that counts, as in its words.
            fallen = (1 - ratio for ratio in (*ratios, LEAST))
            yield Passage(f"{where}, {moved.column}", row, (moved.baseline, moved.mitigated, *fallen), moved.unit)


def _strength(factor: RankedFactor) -> tuple[float, ...]:
    return factor.auc, factor.importance, factor.stability


def _p_values(comparison: Comparison) -> tuple[float, ...]:
    return tuple(claim.p_value for claim in comparison.claims.values() if isinstance(claim, Claim))


def _pairs(batch: Batch) -> tuple[float, ...]:
    """How many pairs were compared, and in how many blocks."""
    pairs = batch.compared.comparison.described.baseline_runs if batch.compared else 0
    return pairs, pairs // batch.applied.block


def _given(*values: float | None) -> tuple[float, ...]:
    return tuple(value for value in values if value is not None)
