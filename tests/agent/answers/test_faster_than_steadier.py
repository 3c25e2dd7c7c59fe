"""A run whose winner lowers SD and mean alike, with two factors that go with the slow runs."""

from __future__ import annotations

import numpy as np
import pytest

from vgo_agent.agent.answers.answer import objections
from vgo_agent.agent.answers.conversation import Conversation
from vgo_agent.knowledge.index import Index

from ..report.conftest import MadeDiagnosis, varying


def two_factors(seed: int, runs: int = 120) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Runs that are slow with migrations and, less sharply, with faults."""
    outcome, columns = varying(seed, runs)
    rng = np.random.default_rng(seed + 9)
    faults = rng.integers(200, 600, runs) + np.where(outcome > 0.25, 300, 0)
    return outcome, columns | {"minor_faults": faults.astype(float)}


@pytest.fixture(scope="module")
def twofold(index: Index) -> Conversation:
    """Begin a conversation over such a run."""
    diagnosis = MadeDiagnosis()
    diagnosis.measure(two_factors(1)[0])
    diagnosis.profile(*two_factors(2))
    for tool in ("label", "fit_tree", "rank_factors"):
        diagnosis.call(tool)
    diagnosis.call("look_up", factor="cpu_migrations")
    for batch in (1, 2):
        pairs = varying(4 + batch, 60)[0], 0.3 * varying(54 + batch, 60)[0]
        applied = diagnosis.apply("pin_to_cpu", batch, pairs, {"migrations": (12.0, 0.0)})
        diagnosis.call("compare", call=applied)
    run = diagnosis.finish()
    return Conversation(run, run.knowledge.digest, index=index)


def test_the_answer_to_why_names_the_other_visible_factors_in_one_sentence(twofold: Conversation) -> None:
    answer = twofold.ask("why is this slow?")
    first, *others = [fact for fact in answer.facts if fact.kind in ("suspect", "others")]
    assert first.key == "cpu_migrations" and len(others) == 1
    assert "Minor page faults, AUC 0." in others[0].text and "no proof" in others[0].text


@pytest.mark.parametrize(
    "question",
    [
        "why is this slow?",
        "did it help?",
        "did pinning help?",
        "what helped?",
        "how sure are you?",
        "what happened?",
        "what should I do on the cluster?",
    ],
)
def test_what_is_faster_more_than_steadier_is_said_to_be_so(twofold: Conversation, question: str) -> None:
    answer = twofold.ask(question)
    place, fact = next((place, fact) for place, fact in enumerate(answer.facts) if fact.kind == "relative")
    assert "the runs are faster more than steadier" in fact.text and "CV ratio " in fact.text
    assert place == 1 and answer.facts[0].kind in ("verdict", "tried")
    assert objections(answer.prose, answer.facts) == []


def test_what_is_steadier_beside_its_mean_too_is_not_said_to_be_only_faster(talk) -> None:
    for question in ("why is this slow?", "did it help?"):
        assert "faster more than steadier" not in talk().ask(question).prose
