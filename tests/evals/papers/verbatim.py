"""Hold what a file says against the text that it was read from."""

from __future__ import annotations

from .schema import PaperRow, Publication, sought


def unfound(paper: Publication, text: str) -> tuple[str, ...]:
    """Name the claims whose quote, and the rows whose numbers (in order, on one line) or words, the text lacks."""
    plain, lines = _plain(text), [line.replace("×", " ") for line in text.splitlines()]
    claims = (claim.id for claim in paper.claims if _plain(claim.quote) not in plain)
    rows = (
        f"{table.id}.{row.id}"
        for table in paper.tables
        for row in table.rows
        if not any(_in_order(row, line) for line in lines)
        or any(_plain(word) not in plain for word in row.labels.values())
    )
    return (*claims, *rows)


def _in_order(row: PaperRow, line: str) -> bool:
    rest = line
    for written in row.numbers.values():
        found = sought(written).search(rest)
        if found is None:
            return False
        rest = rest[found.end() :]
    return True


def _plain(text: str) -> str:
    return " ".join(text.split())
