"""Renderers: all that a document says stands in each of them, and no text breaks out of its block."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from vgo_agent.agent.render.html import html_page
from vgo_agent.agent.render.text import MOST_FOLDED, MOST_ROWS, markdown_page, one_line, terminal_text, written
from vgo_agent.agent.report.svg import document_files
from vgo_agent.tools.document import (
    SHARE,
    Block,
    Command,
    Document,
    Facts,
    Figure,
    Headline,
    Listing,
    Note,
    Section,
    Table,
    TableColumn,
)

SIGNS = "`|<>&\\*_[]()#-+=~.!1 \n\"'ab"
TEXT = st.text(alphabet=SIGNS, max_size=20)
SAID = TEXT.filter(lambda text: one_line(text) != "")
CELLS = st.tuples(TEXT, SAID, st.floats(-1e6, 1e6) | st.none())
BLOCKS: st.SearchStrategy[Block] = st.one_of(
    st.builds(Headline, SAID, SAID),
    SAID,
    st.builds(Note, SAID),
    st.builds(Command, SAID, st.just("In a shell")),
    st.builds(Facts, st.lists(st.tuples(SAID, SAID), min_size=1, max_size=3).map(tuple)),
    st.builds(Listing, st.lists(SAID, min_size=1, max_size=3).map(tuple)),
    st.builds(
        Table,
        st.just(("setting", TableColumn("runs"), TableColumn("mean", "s"))),
        st.lists(CELLS, min_size=1, max_size=3).map(tuple),
        SAID,
    ),
)
DOCUMENTS = st.builds(
    lambda title, blocks, heading: Document(title, "study", ("First.", Section(heading, tuple(blocks)))),
    SAID,
    st.lists(BLOCKS, min_size=1, max_size=4),
    SAID,
)
TAGS = {str: "p", Command: "pre", Facts: "dl", Listing: "ul", Table: "table", Note: "p", Headline: "h3"}


def texts(blocks: Sequence[Block]) -> Iterator[str]:
    """Give all that blocks say, piece by piece."""
    for block in blocks:
        match block:
            case Headline(title, text):
                yield from (title, text)
            case str(text) | Note(text) | Command(text):
                yield text
            case Facts(rows):
                yield from (text for row in rows for text in row)
            case Listing(items):
                yield from items
            case Table(caption=caption):
                yield from (caption, *(cell for row in written(block).rows for cell in row))
            case Section(title, inner):
                yield from (title, *texts(inner))


def bare(text: str) -> str:
    """Letters alone, without case, blanks and the marks of code spans."""
    return re.sub(r"[`\s]+", "", text).lower()


class Page(HTMLParser):
    """Tags and text of a page below its header."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.words = ""
        self.feed(page.split("</header>")[1])

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.words += data


@given(DOCUMENTS)
@settings(deadline=None)
def test_all_that_a_document_says_stands_in_html_and_nothing_else_is_an_element(document: Document) -> None:
    page = Page(html_page(document))
    for text in texts(document.blocks):
        assert bare(text) in bare(page.words)
    section = document.blocks[1]
    assert isinstance(section, Section)
    for tag in ("p", "pre", "dl", "ul", "table", "h2", "h3", "script", "b", "a"):
        labels = sum(1 for block in section.blocks if isinstance(block, Command | Table))
        headlines = sum(isinstance(block, Headline) for block in section.blocks)
        extra = {"p": 1 + labels + headlines, "h2": 1}.get(tag, 0)
        assert page.tags.count(tag) == extra + sum(TAGS[type(block)] == tag for block in section.blocks), tag


@given(DOCUMENTS)
@settings(deadline=None)
def test_all_that_a_document_says_stands_in_markdown_and_nothing_else_is_markup(document: Document) -> None:
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(markdown_page(document))
    inner = [child for token in tokens for child in token.children or ()]
    assert {child.type for child in inner} <= {"text", "code_inline", "text_special"}
    words = bare(" ".join(token.content for token in [*inner, *tokens] if token.type != "inline"))
    for text in texts(document.blocks):
        assert bare(text) in words
    opened = [token.type for token in tokens]
    section = document.blocks[1]
    assert isinstance(section, Section)
    assert opened.count("table_open") == sum(isinstance(block, Table) for block in section.blocks)
    lists = sum(isinstance(block, Facts | Listing) for block in section.blocks)
    assert opened.count("bullet_list_open") <= lists  # two that follow each other are read as one
    fenced = [token.content for token in tokens if token.type == "fence"]
    assert fenced == [
        "\n".join([*block.text.splitlines(), ""]) for block in section.blocks if isinstance(block, Command)
    ]
    assert opened.count("heading_open") == 2 + sum(isinstance(block, Headline) for block in section.blocks)
    assert not {"hr", "html_block", "code_block", "ordered_list_open", "blockquote_open"} & set(opened)


@given(DOCUMENTS)
@settings(deadline=None)
def test_all_that_a_document_says_stands_in_the_terminal(document: Document) -> None:
    words = bare(terminal_text(document))
    for text in texts(document.blocks):
        assert bare(text) in words


@given(st.text(), st.text())
@settings(deadline=None)
def test_no_text_steers_the_terminal(title: str, text: str) -> None:
    shown = terminal_text(Document("t", "k", (Section(title, (text, Command(text))),)))
    assert shown.replace("\n", "").isprintable()


def test_code_spans_stay_code() -> None:
    document = Document("t", "k", ("Run `a|b` now_.", Table(("x",), (("`a|b`",),))))
    assert "<p>Run <code>a|b</code> now_.</p>" in html_page(document)
    assert "Run `a|b` now\\_." in markdown_page(document)
    assert "| `a\\|b` |" in markdown_page(document)
    assert "Run `a|b` now_." in terminal_text(document)


WORDS = st.text(alphabet="a |<_ \n", min_size=1, max_size=12)


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=4))
@settings(deadline=None)
def test_only_the_ends_of_lines_are_replaced_in_a_code_span(said: list[tuple[str, str]]) -> None:
    text = "".join(f"x{words}`{code}`" for words, code in said)
    spans = [code.replace("\n", " ") for _, code in said]
    assert re.findall("`([^`]+)`", one_line(text)) == spans
    assert not re.search(r"\s\s|\n", re.sub("`[^`]+`", "`", one_line(text)))
    page = html_page(Document("t", "k", (text,)))
    assert [html.unescape(code) for code in re.findall("<code>(.*?)</code>", page)] == spans
    assert re.findall("`([^`]+)`", markdown_page(Document("t", "k", (text,)))) == spans


@given(st.integers(1, 120))
def test_no_line_ends_before_a_percent_sign(letters: int) -> None:
    document = Document("t", "k", (f"{'a' * letters} is 12 % of all.",))
    assert "12 %" in terminal_text(document) and "12\N{NO-BREAK SPACE}% of" in html_page(document)


def test_a_page_is_named_by_its_title_and_its_subject_in_brief() -> None:
    page = html_page(Document("Steady", "k", (), "run " * 40))
    assert f"<title>Steady: {'run ' * 14}run...</title>" in page and "<h1>Steady</h1>" in page
    assert "<title>Steady</title>" in html_page(Document("Steady", "k", ()))


def test_numbers_of_a_column_are_rounded_in_one_unit_and_stand_at_the_right() -> None:
    columns = (TableColumn("run"), TableColumn("mean", "s", 3), TableColumn("CV", SHARE, 2), "verdict")
    grid = written(Table(columns, ((1.0, 0.0012345, 0.0512, "steadier"), (2.0, None, 0.1, "")), ""))
    assert grid.rows == (("1", "1.23 ms", "5.1 %", "steadier"), ("2", "–", "10 %", ""))
    assert grid.right == (True, True, True, False)


def test_what_is_empty_is_left_out() -> None:
    nothing = ("", Listing(()), Figure("x"), Section("Nothing", (Table(("a",), ()),)), Command(""))
    document = Document("Title", "kind", nothing)
    assert terminal_text(document) == ""
    assert markdown_page(document) == "# Title\n\nvgo-agent kind\n"
    assert "Nothing" not in html_page(document)


def test_sentences_stand_line_by_line_and_tables_apart() -> None:
    blocks = (
        Headline("steadier: b against a", "b is steadier."),
        Table((TableColumn("arm A", verbatim=True), "runs"), (("A", 3), ("B", 12))),
        "One.",
        Note("two."),
        Section("More", (Facts((("a", "x"), ("long", "y"))), Command("make", "In a shell"), Figure("f", svg="<svg/>"))),
    )
    assert terminal_text(Document("t", "k", blocks)).split("\n") == [
        *("STEADIER: b against a", "b is steadier.", ""),
        *("arm A  RUNS", "A         3", "B        12", "", "One.", "Note: two.", ""),
        *("More", "  a     x", "  long  y", "", "In a shell:", "  make"),
    ]


def test_a_terminal_cuts_a_long_table_and_says_so() -> None:
    document = Document("t", "k", (Table(("run",), [(place,) for place in range(MOST_ROWS + 9)]),))
    assert terminal_text(document).endswith("... and 9 more (--json has all)")


def test_where_there_is_no_picture_its_text_stands_for_it() -> None:
    document = Document("t", "k", (Figure("runs", "Runs.", "10 ##\n20 #"),))
    assert terminal_text(document) == "10 ##\n20 #"
    assert "```\n10 ##\n20 #\n```" in markdown_page(document)
    assert "<figure><pre>10 ##\n20 #</pre>" in html_page(document)


def test_a_terminal_cuts_a_long_list_between_its_items() -> None:
    words = "a word and another one, " * 6
    shown = terminal_text(Document("t", "k", (Listing(tuple(f"{place}: {words}" for place in range(MOST_ROWS + 2))),)))
    assert [line.split(":")[0] for line in shown.split("\n") if line.startswith("- ")] == [
        f"- {place}" for place in range(MOST_ROWS)
    ]
    assert shown.endswith("\n... and 2 more (--json has all)")


def test_a_terminal_shows_the_first_lines_of_what_a_page_folds() -> None:
    inner = Listing(tuple(f"column {place}" for place in range(MOST_FOLDED + 5)))
    assert terminal_text(Document("t", "k", (Section("Set aside", (inner,), folded=True),))).endswith(
        f"- column {MOST_FOLDED - 1}\n... and 5 more (--json has all)"
    )


def test_pictures_lie_beside_the_page() -> None:
    picture = Figure("group a/runs", "Each mark is a run.", svg='<svg role="img"></svg>')
    files = document_files(Document("t", "k", (Section("Runs", (picture,)),)))
    assert list(files) == ["report.md", "report.html", "group a/runs.svg"]
    assert "![Each mark is a run.](group%20a/runs.svg)" in files["report.md"]
    assert (
        '<figure><svg role="img"></svg>\n<figcaption>Each mark is a run.</figcaption></figure>' in files["report.html"]
    )


@pytest.mark.parametrize("folded", [False, True])
def test_a_folded_section_is_open_everywhere_but_in_html(folded: bool) -> None:
    document = Document("t", "k", (Section("Set aside", ("temp: constant.",), folded),))
    assert ("<details><summary>Set aside</summary>" in html_page(document)) == folded
    assert "## Set aside" in markdown_page(document)
    assert terminal_text(document) == "Set aside\ntemp: constant."


def test_the_address_of_a_page_is_a_link_and_stays_whole() -> None:
    page = Document("T", "study", ("See https://doi.org/10.1/a_b_c?x=1&y=2, or `https_proxy`.",))
    assert '<a href="https://doi.org/10.1/a_b_c?x=1&amp;y=2">' in html_page(page)
    assert "See <https://doi.org/10.1/a_b_c?x=1&y=2>, or `https_proxy`." in markdown_page(page)
    quoted = html_page(Document("T", "study", ("See \"https://a.b/c\" and 'https://a.b/d'.",)))
    assert re.findall('<a href="(.*?)">(.*?)</a>', quoted) == [("https://a.b/c",) * 2, ("https://a.b/d",) * 2]
