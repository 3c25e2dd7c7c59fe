"""The report: what it says for every verdict, that it needs nothing from outside, that it is always the same."""

from __future__ import annotations

import html.parser
import re
from collections.abc import Callable

import numpy as np
import pytest

from vgo_agent.agent.record import FinishedRun
from vgo_agent.agent.report import diagnosis
from vgo_agent.agent.report.evidence import gather
from vgo_agent.agent.report.report_files import outputs
from vgo_agent.knowledge.errors import VgoError
from vgo_agent.tools.findings import Findings
from vgo_agent.tools.record import Record
from vgo_agent.tools.results import ConcludeResult, LookUpResult
from vgo_agent.tools.subject import Limits, Subject
from vgo_agent.tools.verdict import title

from .conftest import MadeDiagnosis

Finished = Callable[[str], FinishedRun]
HOSTILE = '<script>alert("x")</script>```|`'
SENTENCES = {
    "cause explained, remedy confirmed": r"The slow runs go with CPU migrations \(migrations, AUC .* remedy\); "
    r"pin_to_cpu brings the spread to 0\.\d+ \[0\.\d+, 0\.\d+\] of the baseline's, and the mean to 0\.\d+ .*, "
    r"confirmed by an independent batch of randomised pairs\. The baseline has SD",
    "cause explained, remedy refuted": r"The slow runs go with CPU migrations \(.*; pin_to_cpu does not help",
    "cause not visible, remedy not tried": r"None of \d groups of counters goes with the slow runs .* over 120 runs",
    "steady": r"nothing to reduce: the CV is 0\.4\d* %, at or below 1 %\. The baseline has SD .* \(60 runs",
    "unusable": r"The data cannot answer\. All 30 runs gave 5; print more digits",
    "cause explained, remedy undecided": r"no remedy was confirmed: pin_to_cpu \(less in "
    r"one batch\) undecided",
}


def test_the_verdict_is_told_in_one_sentence_with_its_numbers(any_run: FinishedRun) -> None:
    files = _outputs(any_run)
    verdict = title(any_run.record.calls[-1].read(ConcludeResult).verdict)
    page = _Page(files["report.html"])
    assert page.headings[0] == verdict.capitalize()
    assert re.search(SENTENCES[verdict], page.text)
    assert re.search(SENTENCES[verdict], files["report.md"].decode().replace("\\", ""))


def test_the_plain_words_come_before_any_ratio(any_run: FinishedRun) -> None:
    plain = gather(any_run).plain
    for text in (_Page(_outputs(any_run)["report.html"]).text, diagnosis.text(any_run)):
        words = " ".join(text.replace("`", "").split())
        before, found, _ = words.partition(plain.replace("`", ""))
        assert found and not re.search(r"AUC|\bratio\b|\[\d", before)
    assert not re.search(r"AUC|\bratio\b|family-wise|\[", plain)


def test_of_a_proof_the_plain_words_tell_both_arms_of_its_pairs(finished: Finished) -> None:
    run = finished("confirmed")
    batch = gather(run).confirming
    assert batch
    arms = run.record.runs(batch.call).paired(batch.applied.mitigation).compared
    without, with_it = (
        f"take {1e3 * low:.3g} to {1e3 * high:.3g} ms" for low, high in (np.quantile(arm, (0.05, 0.95)) for arm in arms)
    )
    said = gather(run).plain
    assert said == f"Nine runs in ten {without}. Slow ones go with CPU migrations. With `pin_to_cpu` they {with_it}."


def test_mean_and_sd_stand_side_by_side(any_run: FinishedRun) -> None:
    page = _Page(_outputs(any_run)["report.html"]).text
    assert page.count("SD") and page.count("mean")


def test_no_prose_shows_what_only_a_program_would_say(any_run: FinishedRun) -> None:
    files = _outputs(any_run)
    for text in (_Page(files["report.html"]).text, files["report.md"].decode()):
        assert not re.search(r"\b(nan|None(?! of)|inf|NaN|Undefined)\b", text)


@pytest.mark.cells(2)
def test_the_same_run_gives_the_same_bytes(any_run: FinishedRun) -> None:
    assert outputs(any_run) == _outputs(any_run)


def test_the_page_loads_nothing_and_runs_nothing(any_run: FinishedRun) -> None:
    page = _Page(_outputs(any_run)["report.html"])
    assert not {"script", "link", "iframe", "object", "embed", "base"} & page.tags
    assert not page.resources
    assert "@import" not in page.style and "url(" not in page.style


def test_the_page_is_well_formed_and_its_pictures_have_words(any_run: FinishedRun) -> None:
    page = _Page(_outputs(any_run)["report.html"])
    assert page.open == []
    assert page.pictures == page.described
    assert page.pictures or any_run.record.calls[-1].read(ConcludeResult).verdict.kind == "unusable"
    assert len(page.ids) == len(set(page.ids))


def test_the_winner_can_be_copied_and_kept(finished: Finished) -> None:
    files = _outputs(finished("confirmed"))
    page = _Page(files["report.html"])
    assert "taskset -c 0 ./bench.sh --size 12" in page.commands
    assert "CPUAffinity=" in page.text
    assert "```sh\ntaskset -c 0 ./bench.sh --size 12\n```" in files["report.md"].decode()


def test_the_sections_of_a_whole_diagnosis_come_in_their_order(finished: Finished) -> None:
    assert _Page(_outputs(finished("confirmed"))["report.html"]).headings == [
        "Cause explained, remedy confirmed",
        "What to do next",
        "In numbers",
        "What helps: Pin to one CPU ()",
        "Baseline and mitigated",
        "The baseline",
        "The factor: CPU migrations",
        "How slow and fast were told apart",
        "Mitigations tried",
        "Not tried",
        "Order and shape of the runs",
        "The layers",
        "Not available on this machine",
        "How it was measured",
    ]


def test_sections_without_data_vanish(finished: Finished) -> None:
    headings = _Page(_outputs(finished("steady"))["report.html"]).headings
    assert "The baseline" in headings
    assert not {"Mitigations tried", "Not tried", "Suspects without a counter", "Baseline and mitigated"} & {*headings}


def test_every_statistic_is_compared(finished: Finished) -> None:
    page = _Page(_outputs(finished("confirmed"))["report.html"]).text
    for name in ("mean", "median", "SD", "CV", "MAD", "IQR", "p95", "p99", "range"):
        assert re.search(rf"\b{name}\b", page)
    assert "Modes: 2 → 1" in page


def test_every_mitigation_is_told_of_tried_or_not(finished: Finished) -> None:
    run = finished("confirmed")
    page = _Page(_outputs(run)["report.html"]).text
    looked = Findings(run.record).last(LookUpResult).call.result
    assert looked
    for candidate in looked["candidates"]:
        assert candidate["name"] in page
    assert "not proved in force, so nothing was measured" in page
    assert "steadier, confirmed" in page
    assert "no difference that matters" in page
    assert "the tool cannot do it; a person can" in page
    fell = r"fell by 100 % \(no interval: alike in all runs\)"
    assert re.search(rf"the factor moved\s+migrations\s+falls by 5 %\s+12 → 0 \(means\): {fell}\s+yes", page)


def test_what_was_denied_is_named_with_the_reason(finished: Finished) -> None:
    page = _Page(_outputs(finished("refuted"))["report.html"]).text
    assert "not approved: no terminal to ask on" in page


def test_without_a_visible_factor_suspects_are_given_commands(finished: Finished) -> None:
    page = _Page(_outputs(finished("not visible"))["report.html"])
    assert "Memory layout" in page.text
    assert "setarch -R ./bench.sh --size 12" in page.commands
    assert len(page.commands) == len(set(page.commands))


def test_the_tree_is_shown_as_what_explains_and_does_not_decide(finished: Finished) -> None:
    page = _Page(_outputs(finished("confirmed"))["report.html"]).text
    assert "The tree explains; it does not decide." in page
    assert "columns set aside before ranking" in page
    assert "the same in every run" in page


def test_a_reader_learns_how_to_verify_and_what_the_run_cost(any_run: FinishedRun) -> None:
    page = _Page(_outputs(any_run)["report.html"])
    assert f"vgo-agent verify {any_run.run_dir}\nvgo-agent verify {any_run.run_dir} --recompute" in page.commands
    assert any_run.tip in page.text
    assert "63 s, of which 2.5 s (4 %) were not the program" in page.text


def test_text_from_outside_is_never_markup(make: Callable[..., FinishedRun]) -> None:
    subject = Subject(
        command=("./bench.sh", HOSTILE), argv=("/w/bench.sh", HOSTILE), directory="/w", metric=HOSTILE, unit="<b>"
    )
    files = outputs(make("confirmed", subject))
    page = _Page(files["report.html"])
    assert "script" not in page.tags and "b" not in page.tags
    assert HOSTILE in page.text
    for name in ("report.md", "runs.md"):
        assert "<script" not in _outside_code(files[name].decode())


def test_a_budget_that_ended_early_leaves_a_report(make: Callable[..., FinishedRun]) -> None:
    page = _Page(outputs(make("only measured"))["report.html"])
    assert "The budget of 600 s ran out before any factor was looked at; raise --budget; no remedy" in page.text
    assert "The factor" not in " ".join(page.headings)


def test_limits_that_forbid_trying_are_named_with_the_flag(make: Callable[..., FinishedRun]) -> None:
    page = _Page(outputs(make("looked up only", limits=Limits(allow="none")))["report.html"]).text
    assert "--allow none forbids it" in page
    assert "repeat with --allow process" in page


def test_what_nobody_accepted_can_be_tried_as_the_program_was_judged(make: Callable[..., FinishedRun]) -> None:
    subject = Subject(command=("a | b",), argv=("sh", "-c", "a | b"), shell=True, directory="/w", metric="t (.+)")
    page = _Page(outputs(make("promise denied", subject))["report.html"]).text
    tried = "vgo-agent try tmpfs_directory --accept tmpfs_directory"
    assert f"{tried} --shell --metric 't (.+)' --unit s -- 'a | b'" in page


def test_a_run_without_a_verdict_is_refused_with_the_cure(finished: Finished) -> None:
    run = finished("confirmed")
    cut = FinishedRun(**{**vars(run), "record": Record(run.record.calls[:-1], run.record.store)})
    with pytest.raises(VgoError, match="vgo-agent resume"):
        outputs(cut)


def test_hosts_are_compared_and_the_slow_one_is_to_be_drained(diagnosis: MadeDiagnosis) -> None:
    rng = np.random.default_rng(1)
    hosts = np.repeat([f"n{number}" for number in range(4)], 30)
    outcomes = rng.normal(0.2, 0.004, hosts.size) * np.where(hosts == "n2", 1.5, 1)
    diagnosis.subject = diagnosis.subject.model_copy(update={"on": "tcp://head:8786"})
    diagnosis.machine = diagnosis.machine.model_copy(update={"hosts": ("n0", "n1", "n2", "n3")})
    diagnosis.measure(outcomes, hosts=hosts)
    files = outputs(diagnosis.finish())
    report = files["report.md"].decode().partition("## Hosts")[2].partition("\n## ")[0]
    assert "of the variance lies between nodes" in report and "Next: Drain n2: the SD" in report
    assert re.search(r"\| n2 \| 30 \| .*odd in speed", report)
    assert _Page(files["report.html"]).pictures >= 3


_MADE: dict[int, dict[str, bytes]] = {}


def _outputs(run: FinishedRun) -> dict[str, bytes]:
    """Render the session's runs once."""
    if id(run) not in _MADE:
        _MADE[id(run)] = outputs(run)
    return _MADE[id(run)]


def _outside_code(text: str) -> str:
    """Take fences and code spans out, and what a backslash makes plain."""
    text = re.sub(r"^(`{3,})[^\n]*\n.*?\n\1$", "", text, flags=re.S | re.M)
    return re.sub(r"\\.", "", re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", text))


class _Page(html.parser.HTMLParser):
    """What a reader and a browser make of a page."""

    VOID = frozenset({"meta", "br", "hr", "img", "input", "link", "base"})

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.resources: list[str] = []
        self.headings: list[str] = []
        self.commands: list[str] = []
        self.text, self.style = "", ""
        self.pictures = self.described = 0
        self.feed(data.decode())
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        given = dict(attrs)
        self.ids += [value for name, value in attrs if name == "id" and value]
        self.pictures += tag == "svg"
        self.described += tag == "svg" and bool(given.get("aria-label"))
        links = [given.get(name) for name in ("src", "srcset", "data", "poster")]
        if tag in ("use", "image"):
            links.append(given.get("href"))
        self.resources += [link for link in links if link and not link.startswith(("#", "data:"))]
        self.resources += [name for name, _ in attrs if name.startswith("on")]
        if tag not in self.VOID:
            self.open.append(tag)
        if tag in ("h1", "h2"):
            self.headings.append("")
        if tag in ("td", "th", "dt", "dd"):
            self.text += " "
        if tag == "pre":
            self.commands.append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" in self.open:
            self.style += data
            return
        self.text += data.replace("\N{NO-BREAK SPACE}", " ")
        if self.open and self.open[-1] in ("h1", "h2"):
            self.headings[-1] += data
        if "pre" in self.open:
            self.commands[-1] += data
