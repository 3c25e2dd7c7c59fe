"""The page of programs that were made at random: tables, what they come to, and a paragraph on each miss."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ...agent.report.numbers import ABSENT, number
from ...tools.document import Document, Facts, Listing, Table
from .random_scores import RandomResults, RandomRow, material
from .results import made_by
from .score import BY_RULE, KINDS
from .tables import cell

NONE = "none"
SHOWN = (
    *("verdict", "cause", "state", "factor", "share", "remedy", "false_alarm", "harm", "in_budget", "hung"),
    *BY_RULE.values(),
)


def random_document(results: RandomResults) -> Document:
    """Give the tables, what they come to, and a paragraph on each miss."""
    scores = results.summary.scores
    done = [row for row in results.rows if not row.skipped]
    shown = [name for name in SHOWN if name in scores]
    return Document(
        "Programs made at random, diagnosed",
        "random evaluation",
        (
            made_by(results),
            f"The machine: {results.machine}. Seed {results.seed}, budget {results.budget_s:g} s.",
            results.stopped,
            Table(
                ("program", "mechanism", "effect ms", "verdict", *(name for name in SHOWN[1:7]), "s"),
                tuple(tuple(_cells(row)) for row in results.rows),
            ),
            Table(
                ("score", "right", "of"),
                tuple((name, cell(name, scores[name], 0), str(scores[name].n)) for name in shown),
                "With Wilson's 95 % intervals over programs.",
            ),
            Table(("state", "claimed first", "programs"), tuple(_confusion(done)), "States, of programs with one."),
            Listing(tuple(row.paragraph for row in done if row.paragraph)),
            Listing(tuple(f"{row.case}: not run: {row.why}" for row in results.rows if row.skipped)),
            Facts(tuple((name, KINDS[name].words) for name in shown)),
        ),
    )


def _cells(row: RandomRow) -> Iterator[str]:
    yield row.case
    yield " + ".join(one.key for one in row.truth.inserted) or row.truth.kind
    yield " + ".join(number(one.effect_ms, 3) for one in row.truth.inserted) or ABSENT
    yield row.answer.verdict or NONE
    for name in SHOWN[1:7]:
        value = row.value(name)
        yield ABSENT if value is None else "yes" if value else "no"
    yield f"{row.seconds:.0f}"


def _confusion(rows: Sequence[RandomRow]) -> Iterator[tuple[str, str, str]]:
    """Count, for the state that a mechanism is first said to take its time in, which one is claimed first."""
    pairs = Counter(
        (main[0].states[0], next(iter(row.said_states), NONE)) for row in rows if (main := material(row.truth))
    )
    for (true, said), times in sorted(pairs.items()):
        yield true, said, str(times)
