"""What the works report: whole, consistent in itself, quoted rightly elsewhere, and offered by the knowledge."""

from __future__ import annotations

import hashlib
import math
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from vgo_agent.evals.scores.evaluate import LIVE_SD_RATIO
from vgo_agent.knowledge.errors import VgoError
from vgo_agent.knowledge.loader import load, notes

from .papers import cases as cases_module
from .papers.cases import Cure, PaperCase, load_cases
from .papers.knowledge_cases import RowScore, score, score_rows, summarise
from .papers.loader import HERE, find_claim, load_papers
from .papers.schema import Publication, ReportedNumber, SourceLocation, bare, stands
from .papers.verbatim import unfound

ROOT = Path(__file__).parents[2]
PAPERS = load_papers()
VGO = PAPERS["vgo_icpe26"]
CASES = load_cases()
SCORES = score_rows()
KNOWN = load()
NOTES = {path.stem: path.read_text(encoding="utf-8") for path in notes()}
DOCUMENTS = sorted(
    path
    for path in (
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/*/*.md"),
        *ROOT.glob("*/README.md"),
        *ROOT.glob("tests/evals/*/README.md"),
    )
    if not path.parts[-2].startswith(".")
)
LISTED_LATER = {"table3.lavamd_cache"}
"""Not among the first three that are listed, though among the first three of its program; the README says why."""
EACH_PAPER = pytest.mark.parametrize("paper", PAPERS.values(), ids=PAPERS)


# What is reported


def test_the_five_works_are_there_and_each_goes_with_its_note() -> None:
    assert {paper.note for paper in PAPERS.values()} == {
        "cross-platform-varsys16",
        "moana-io-variability",
        "openmp-variability-cf25",
        "vgo-icpe26",
        "vgo-icpe26-slides",
    }


@EACH_PAPER
def test_every_claim_says_where_it_stands(paper: Publication) -> None:
    assert paper.read and paper.work and paper.claims
    for claim in paper.everything():
        assert claim.quantity and claim.place.section and math.isfinite(claim.value)
        assert claim.quote or claim.place.table


@EACH_PAPER
def test_the_text_that_was_read_says_so(paper: Publication) -> None:
    folder = os.environ.get("VGO_SEEDS")
    if folder is None:
        pytest.skip("the texts are not part of the repository; set VGO_SEEDS to the folder that holds them")
    texts = {hashlib.sha256(path.read_bytes()).hexdigest(): path for path in Path(folder).glob("*.txt")}
    assert unfound(paper, texts[paper.sha256].read_text(encoding="utf-8")) == ()


def test_tables_1_and_3_of_the_paper_are_whole() -> None:
    table1, table3 = VGO.table("table1"), VGO.table("table3")
    assert table1 is not None and table3 is not None
    assert len(table1.rows) == 16
    assert len(table3.rows) == 14 + 1
    assert all(set(row.numbers) == set(table3.columns) for row in table3.rows[:-1])
    assert set(table3.rows[-1].numbers) == {"mean_ratio", "sd_ratio", "cv_ratio"}


def test_the_ratios_of_table_3_follow_from_its_other_columns() -> None:
    """A wrong digit would show: each number may be off by half of its last digit, and no more."""
    for row in _measured():
        for what in ("mean", "sd", "cv"):
            before, after = _bounds(row[f"{what}_before"]), _bounds(row[f"{what}_after"])
            ratio = _bounds(row[f"{what}_ratio"])
            assert after[0] / before[1] <= ratio[1] and ratio[0] <= after[1] / before[0], (row, what)
        for when in ("before", "after"):
            mean, sd, cv = (_bounds(row[f"{what}_{when}"]) for what in ("mean", "sd", "cv"))
            assert sd[0] / mean[1] <= cv[1] and cv[0] <= sd[1] / mean[0], (row, when)


@pytest.mark.parametrize("column", ["mean_ratio", "sd_ratio", "cv_ratio"])
def test_the_last_row_of_table_3_is_the_geometric_mean_of_the_others(column: str) -> None:
    mean = math.exp(math.fsum(math.log(float(row[column])) for row in _measured()) / 14)
    written = find_claim(f"vgo_icpe26:table3.geometric_mean.{column}").written
    assert round(mean, 3) == float(written)
    assert find_claim(f"vgo_icpe26:{column}_geomean").written == written
    assert find_claim(f"vgo_icpe26_slides:{column}_geomean").written == written


def test_the_mean_squares_of_the_anova_are_sums_over_degrees_of_freedom() -> None:
    table = PAPERS["moana_io_variability"].table("table2")
    assert table is not None and len(table.rows) == 22
    for row in table.rows:
        total, df, mean = (float(row.numbers[key]) for key in ("sum_of_squares", "df", "mean_square"))
        assert mean == pytest.approx(total / df, rel=0.01), row.id


def test_statistics_of_the_prediction_errors_are_in_order() -> None:
    table = PAPERS["moana_io_variability"].table("figure10")
    assert table is not None and len(table.rows) == 6
    for row in table.rows:
        values = [float(row.numbers[key]) for key in ("min", "quantile_25", "median", "quantile_75", "max")]
        assert values == sorted(values)
        assert values[0] < float(row.numbers["mean"]) < values[-1]


def test_the_range_that_a_quota_leaves_is_as_wide_as_its_ends_say() -> None:
    claims = {claim.id: claim for claim in PAPERS["cross_platform_varsys16"].claims}
    for claim in (claims["range_free"], claims["range_limited"]):
        assert claim.interval is not None
        low, high = map(float, claim.interval)
        assert high - low == pytest.approx(claim.value)
    shrunk = claims["range_free"].value / claims["range_limited"].value
    assert round(shrunk, 1) == claims["range_reduction"].value == claims["reduction_most"].value


# What others quote


@EACH_PAPER
def test_what_a_note_tells_as_measured_is_in_the_data(paper: Publication) -> None:
    told = list(_numbers(_measured_part(NOTES[paper.note])))
    assert told
    assert [number for number in told if not _reported(number, paper)] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_a_document_says_that_the_paper_reports_is_in_the_data(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    assert [number for number in _of_the_paper(text) if not _reported(number, VGO)] == []


def test_the_quoted_numbers_of_a_text_are_found_and_a_wrong_one_is_seen() -> None:
    text = "SD x0.38 here, 0.374 (the paper's)\nand the paper reports x0.159 for 7z, 0.844 (the paper's) for the mean"
    assert list(_of_the_paper(text)) == ["0.374", "0.159", "0.844"]
    assert [number for number in _of_the_paper(text) if not _reported(number, VGO)] == ["0.844"]
    assert not _reported("0.375", VGO)
    assert list(_numbers("SD x0.159 (Section 4.3), about 21 % (Tables 2 and 3.1)")) == ["0.159", "21"]


# What the knowledge offers


def test_every_row_of_both_tables_is_scored_with_a_reason() -> None:
    named = [
        f"{table.id}.{row.id}"
        for table in VGO.tables
        for row in table.rows
        if table.id in ("table1", "table3") and "factor" in row.labels
    ]
    assert sorted(case.row for case in CASES) == sorted(named)
    assert len(named) == 30
    assert all(row.reason for row in SCORES)


@pytest.mark.parametrize("row", SCORES, ids=lambda row: row.row)
def test_a_mitigation_of_the_paper_is_among_the_first_three_that_its_program_is_offered(row: RowScore) -> None:
    assert row.value_here == 1, row.reason
    assert (row.value == 1) == (row.row not in LISTED_LATER), row.reason
    assert row.place is not None and (row.place <= 3) == (row.value == 1)


def test_the_summary_counts_the_rows_and_names_what_is_missing() -> None:
    summary = summarise(SCORES)
    assert (summary.rows, summary.among_first_here, summary.among_first) == (30, 30, 30 - len(LISTED_LATER))
    assert summary.sentence == (
        "30 of 30 rows have a mitigation of the paper among the first 3 that their program is offered; "
        "29 among the first 3 that are listed, not table3.lavamd_cache."
    )
    assert summary.not_named == ("table1.cpu_frequency: reduce interference",)


@given(st.sampled_from([key for key, factor in KNOWN.factors.items() if factor.mitigations]), st.data())
def test_a_row_is_right_exactly_when_a_key_is_among_the_first_three(factor: str, data: st.DataObject) -> None:
    offered = KNOWN.factors[factor].mitigations
    key = data.draw(st.sampled_from(offered))
    case = PaperCase(row="table1.any", factor=factor, cures=(Cure(words="do it", keys=(key,)),))
    scored = score(case, KNOWN)
    assert scored.cures[0].place == offered.index(key) + 1
    assert scored.value == (offered.index(key) < 3)
    other = next(name for name in KNOWN.mitigations if name not in offered)
    missed = score(case.model_copy(update={"cures": (Cure(words="do it", keys=(other,)),)}), KNOWN)
    assert (missed.value, missed.cures[0].place) == (0, None)
    assert missed.reason == f"{factor} names none of the paper's mitigations"


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (
            "factor: memory_refresh,",
            "factor: memory_refreshh,",
            r"the factor memory_refreshh is unknown\. .*be memory_",
        ),
        (
            "keys: [numactl_bind]",
            "keys: [numactl_bindd]",
            r"the mitigation numactl_bindd is unknown\. .*numactl_bind\.",
        ),
        ("keys: [numactl_bind]", "keys: [zzzzzzzzz]", r"zzzzzzzzz is unknown\. .*names of the files in knowledge/\."),
        ("keys: [numactl_bind]", "keys: []", r"line \d+: cases\.11\.cures\.0\.keys: "),
        (
            "words: Enforce NUMA binding",
            "words: Bind NUMA",
            r"'Bind NUMA' does not stand in the row\. Copy its words\.",
        ),
        ("{words: Prefetching, keys: [prefetch_in_code]}, ", "", r"'Prefetching.*' of the row has no keys\."),
        ("row: table3.lbm,", "row: table3.lbmm,", r"table3\.lbmm: no row has that name\. Write TABLE\.ROW\."),
        ("row: table3.yi_6b,", "row: table3.gpt_oss,", r"table3\.gpt_oss: stands twice\. Keep one\."),
        ("paper: vgo_icpe26", "paper: vgo_icpe27", r"there is no paper 'vgo_icpe27'; choose one of cross_"),
        ("threads: one", "threads: two", r"cases\.16\.threads: "),
        ("key: cases\n", "key: cases\nkey: cases\n", r"the key key stands twice\. Keep one\."),
    ],
)
def test_a_broken_case_is_refused_with_file_and_cure(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    text = cases_module.HERE.read_text(encoding="utf-8")
    assert old in text
    broken = tmp_path / "cases.yaml"
    broken.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(VgoError, match=complaint) as error:
        load_cases(broken)
    assert str(error.value).startswith(str(broken))


def test_a_row_without_a_case_is_named(tmp_path: Path) -> None:
    content = yaml.safe_load(cases_module.HERE.read_text(encoding="utf-8"))
    content["cases"] = [case for case in content["cases"] if case["row"] != "table3.sad"]
    broken = tmp_path / "cases.yaml"
    broken.write_text(yaml.safe_dump(content), encoding="utf-8")
    with pytest.raises(VgoError, match=r"table3\.sad: has no case\. Add one\."):
        load_cases(broken)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('written: "~0.65"', 'written: "~0.66"', r"claims\.1: .*0\.66 does not stand in the quote"),
        ('written: "~0.65"', 'written: "some"', r"claims\.1\.written: "),
        ("note: vgo-icpe26", "note: vgo-icpe62", r"there is no note vgo-icpe62\. Write its name in knowledge/papers"),
        ("id: matmul_runs", "id: matmul_mean", r"the claim matmul_mean stands twice"),
        ("- id: lbm\n", "- id: sad\n", r"tables\.2: .*two rows have the same id"),
        ('sd_ratio: "0.339"', 'sd_ration: "0.339"', r"row lbm has a number for sd_ration, which is no column"),
        ("key: vgo_icpe26\n", "key: vgo_icpe26\nurl: https://a.b\n", r"the key url stands twice\. Keep one\."),
        ('    unit: "runs"\n', "    unit: runs\n    page: 3\n", r"page: is not a known key"),
    ],
)
def test_a_broken_file_is_refused_with_file_and_cure(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    text = (HERE / "vgo_icpe26.yaml").read_text(encoding="utf-8")
    assert old in text
    broken = tmp_path / "vgo_icpe26.yaml"
    broken.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(VgoError, match=complaint) as error:
        load_papers(tmp_path)
    assert str(error.value).startswith(str(broken))


def test_an_empty_folder_and_unknown_claims_are_named(tmp_path: Path) -> None:
    with pytest.raises(VgoError, match=r"no YAML file is there\. Install vgo-agent again\."):
        load_papers(tmp_path)
    with pytest.raises(VgoError, match=r"There is no paper 'sharp'; choose one of cross_"):
        find_claim("sharp:runs")
    with pytest.raises(VgoError, match=r"vgo_icpe26\.yaml reports no 'sd'\."):
        find_claim("vgo_icpe26:sd")


def test_what_the_text_lacks_is_named() -> None:
    whole = "\n".join(
        [
            *(claim.quote for claim in VGO.claims),
            *(
                "\t".join([*row.labels.values(), *(bare(number) + "×" for number in row.numbers.values())])
                for table in VGO.tables
                for row in table.rows
            ),
        ]
    )
    assert unfound(VGO, whole) == ()
    assert unfound(VGO, whole.replace("0.339×", "0.393×")) == ("table3.lbm",)
    assert unfound(VGO, whole.replace("Avoid re-init", "Avoid init")) == ("table3.retinanet",)
    assert unfound(VGO, whole.replace("3.5% end", "3.4% end")) == ("sam2_throughput",)


def test_a_number_stands_by_itself_and_not_within_a_longer_one() -> None:
    assert stands("1000", "running 1,000 repetitions") and stands("1000", "1000 runs.")
    assert not stands("1000", "11,000 runs") and not stands("000", "1,000 runs")
    assert not stands("0.37", "0.374") and not stands("374", "0.374") and not stands("3", "3.5%")
    assert stands("~21", r"$\approx 21\%$") and stands(".5", "from .5 ($T_2$)")


def test_a_claim_cannot_be_changed_and_carries_its_interval_in_the_quote() -> None:
    claim = VGO.claims[0]
    with pytest.raises(ValidationError):
        claim.written = "1"  # type: ignore[misc]
    with pytest.raises(ValidationError, match=r"1\.9 does not stand in the quote"):
        ReportedNumber(
            id="a",
            quantity="time",
            written="1.5",
            unit="s",
            interval=("1.2", "1.9"),
            place=SourceLocation(section="1"),
            quote="1.5 s [1.2, 1.8]",
        )


def _measured() -> list[dict[str, str]]:
    table = VGO.table("table3")
    assert table is not None
    return [row.numbers for row in table.rows if "factor" in row.labels]


def _bounds(written: str) -> tuple[float, float]:
    """Give the least and the greatest number that rounds to it."""
    half = 0.5 * 10 ** -len(written.partition(".")[2])
    return float(written) - half, float(written) + half


def _measured_part(note: str) -> str:
    return note.partition("## What they measured\n")[2].partition("\n## ")[0]


def _numbers(text: str) -> Iterator[str]:
    """Find numbers with a decimal point or a per cent sign; places and names of things are none."""
    plain = re.sub(r"\b(?:Sections?|Tables?|Figures?)\s+\d[\d.]*(?:(?:,| and| to)\s+\d[\d.]*)*", " ", text)
    for match in re.finditer(r"(?<![\w.-])x?(\d+\.\d+|\d+(?=\s%))(?![\d.]*\d)", plain):
        yield match[1]


def _of_the_paper(text: str) -> Iterator[str]:
    """Find numbers that a text gives as the paper's: `0.374 (the paper's)`, or `the paper reports 0.374`."""
    for match in re.finditer(r"(\d+\.\d+) \(the\s+paper's\)|the\s+paper\s+reports\s+x?(\d+\.\d+)", text):
        yield match[1] or match[2]


def _reported(number: str, paper: Publication) -> bool:
    """Tell whether a claim is the number, rounded to its digits."""
    digits = len(number.partition(".")[2])
    written = [w for claim in paper.everything() for w in (claim.written, *(claim.interval or ()))]
    return any(abs(float(bare(w)) - float(number)) <= 0.5 * 10**-digits + 1e-12 for w in written)


def test_what_live_runs_must_reach_is_what_the_paper_reports() -> None:
    assert float(find_claim("vgo_icpe26:table3.geometric_mean.sd_ratio").written) == LIVE_SD_RATIO
