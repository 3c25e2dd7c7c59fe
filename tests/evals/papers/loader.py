"""Read what the works report; what is wrong in a file is said with its line and the cure."""

from __future__ import annotations

from pathlib import Path

from vgo_agent.knowledge import loader as knowledge
from vgo_agent.knowledge.errors import VgoError
from vgo_agent.knowledge.files import duplicate_keys, read_entry

from .schema import Publication, ReportedNumber

HERE = Path(__file__).parent / "reported"


def load_papers(folder: Path = HERE) -> dict[str, Publication]:
    """Read every work, by its key; the first broken file raises VgoError."""
    paths = sorted(folder.glob("*.yaml"))
    if not paths:
        raise VgoError(f"{folder}: no YAML file is there. Install vgo-agent again.")
    return {path.stem: read_paper(path) for path in paths}


def read_paper(path: Path) -> Publication:
    """Read one work; its note must exist."""
    paper = read_entry(path, Publication)
    if twice := duplicate_keys(path):
        raise VgoError(f"{path}: the key {twice[0]} stands twice. Keep one.")
    if paper.note not in {note.stem for note in knowledge.notes()}:
        raise VgoError(f"{path}: there is no note {paper.note}. Write its name in knowledge/papers, without .md.")
    return paper


def find_claim(name: str, folder: Path = HERE) -> ReportedNumber:
    """Find a claim by `PAPER:ID`, such as `vgo_icpe26:table3.lbm.sd_ratio`."""
    key, _, wanted = name.partition(":")
    papers = load_papers(folder)
    if key not in papers:
        raise VgoError(f"There is no paper {key!r}; choose one of {', '.join(papers)}.")
    for claim in papers[key].everything():
        if claim.id == wanted:
            return claim
    raise VgoError(f"{folder / key}.yaml reports no {wanted!r}. Its ids are in the file, TABLE.ROW.COLUMN for a cell.")
