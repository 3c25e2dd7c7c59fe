"""The documents: short where they should be, no page without a reader, no dead link, no folder of the machine."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import reference

ROOT = Path(__file__).parents[1]
ROOMS = ("agent", "benchmarks", "docs", "evals", "knowledge", "layers", "prompts", "tests", "tools")
DOCUMENTS = sorted([ROOT / "README.md", *(page for room in ROOMS for page in (ROOT / room).rglob("*.md"))])
DOCUMENTS = [page for page in DOCUMENTS if ROOT / "knowledge/papers" not in page.parents]
FILES = sorted(file for file in (ROOT / "docs").rglob("*") if file.is_file())
RESULTS = sorted((ROOT / "docs/results").glob("*.md"))
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
ESCAPE = re.compile(r"(\\u001b|\x1b)\[[0-9;?]*[A-Za-z]")
OF_A_MACHINE = re.compile(r"/(?:work|root|mnt|srv|Users)/\w*|/home/(?!me/)\w+|/tmp/(?:tmp|pytest)\w*|site-packages")
EACH_DOCUMENT = pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: str(page.relative_to(ROOT)))


def links(page: Path) -> Iterator[tuple[Path, str]]:
    """Give the file and the heading that each link of a page leads to, but for those that leave the repository."""
    for target in LINK.findall(FENCED.sub("", page.read_text())):
        if not re.match(r"[a-z]+:", target):
            file, _, heading = target.partition("#")
            yield (page.parent / file).resolve() if file else page, heading


def headings(page: Path) -> set[str]:
    """Give the names that headings have in links, as GitHub makes them."""
    found = re.findall(r"^#+ (.*)$", FENCED.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


def test_the_readme_is_read_in_a_few_minutes() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120


@EACH_DOCUMENT
def test_links_lead_somewhere(page: Path) -> None:
    for file, heading in links(page):
        assert file.exists(), file
        assert not heading or heading in headings(file), f"{file}#{heading}"


def test_every_dependency_has_its_reason() -> None:
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*asked["dependencies"], *(one for extra in asked["optional-dependencies"].values() for one in extra)]
    table = (ROOT / "docs/reference/dependencies.md").read_text()
    cells = [cell for line in table.splitlines() if line.startswith("|") for cell in line.split("|")[1:3]]
    named = {name.strip() for cell in cells for name in cell.split(",")}
    assert {re.split(r"[^\w-]", one)[0] for one in wanted} <= named


def test_every_page_and_picture_is_found_from_the_readme() -> None:
    found, waiting = set[Path](), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        found.add(page)
        if page.suffix == ".md":
            waiting += [file for file, _ in links(page) if file not in found and file.is_file()]
    assert [str(file.relative_to(ROOT)) for file in FILES if file not in found] == []


@pytest.mark.parametrize(
    "file",
    [file for file in {*DOCUMENTS, *FILES} if file.suffix != ".png"],
    ids=lambda file: str(file.relative_to(ROOT)),
)
def test_no_folder_of_the_machine_is_shown(file: Path) -> None:
    assert OF_A_MACHINE.findall(ESCAPE.sub("", file.read_text())) == []


def test_folders_of_machines_are_recognised() -> None:
    for shown in ("/work/last/.venv", "~ /root/.cache", "/home/ann/x", "/tmp/tmpab1/vgo-runs", "\x1b[1m/wor\x1b[0mk/a"):
        assert OF_A_MACHINE.search(ESCAPE.sub("", shown))
    assert not OF_A_MACHINE.search("/home/me/.ssh /tmp/perf-PID.map ~/.cache https://a.org/work ./work")


@pytest.mark.parametrize("page", RESULTS, ids=lambda page: page.name)
def test_a_result_says_when_and_by_what_it_was_made(page: Path) -> None:
    text = page.read_text()
    assert re.search(r"20\d\d-\d\d-\d\d", text) and re.search(r"`(python[\w.]* |vgo-agent |benchmarks/|\.ci/)", text)


def test_the_reference_says_what_the_program_declares() -> None:
    assert reference.old() == [], "python -m benchmarks.reference --write"
