"""A model as planner: every decision is legal, and what the model does wrong, the rule policy does instead."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from vgo_agent.agent.model.chosen import ModelChoice
from vgo_agent.agent.model.language_model import ModelFailed, ModelProcess
from vgo_agent.agent.planners.base import Choice, Rules, View, calls, menu
from vgo_agent.agent.planners.llama import ONLY, PROMPT_TOKENS, Llama
from vgo_agent.tools.registry import TOOLS

from ...tiny_gguf import tiny
from ..seen_views import seen_views

WISH = ModelChoice(spec="fake")
VIEWS = seen_views()
CHOOSING = [view for view in VIEWS if calls(menu(view)) > 1]


@dataclass
class Fake:
    """Answers as it is told, and keeps what it was asked."""

    answer: Callable[[dict[str, Any]], str]
    ended: str = "stop"
    requests: list[dict[str, Any]] = field(default_factory=list)

    def describe(self) -> dict[str, Any]:
        return {}

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        self.requests.append(request)
        return {
            "text": self.answer(request),
            "ended": self.ended,
            "prompt_tokens": 7,
            "tokens": 3,
            "framed": "chat template",
        }


def gone(_: dict[str, Any]) -> str:
    raise ModelFailed("its process ended by SIGSEGV")


def last_of(request: dict[str, Any]) -> str:
    """The example in the prompt: a call that is legal."""
    return str(request["messages"][0]["content"]).strip().rpartition("such as ")[2]


WRONG: Sequence[tuple[str, Fake, str]] = [
    ("dead", Fake(gone), "SIGSEGV"),
    ("prose", Fake(lambda _: "I would measure first."), "not on the menu"),
    ("blank", Fake(lambda _: ""), "not on the menu"),
    ("illegal", Fake(lambda _: '{"tool":"reboot","args":{}}'), "not on the menu"),
    ("spaced", Fake(lambda request: last_of(request).replace(":", ": ", 1)), "not on the menu"),
    ("cut", Fake(last_of, ended="length"), "cut off"),
]


@pytest.mark.parametrize(("fake", "why"), [(fake, why) for _, fake, why in WRONG], ids=[name for name, _, _ in WRONG])
def test_what_a_model_does_wrong_the_rule_policy_does_instead(fake: Fake, why: str) -> None:
    for view in CHOOSING:
        choice, usual = Llama(fake, WISH).choose(view), Rules().choose(view)
        assert (choice.tool, choice.arguments) == (usual.tool, usual.arguments)
        assert choice.said is not None and why in choice.said.passed_over


def test_what_a_model_chooses_well_is_taken_and_counted() -> None:
    for view in CHOOSING:
        choice = Llama(Fake(last_of), WISH).choose(view)
        assert choice.said is not None
        assert (choice.said.tokens, choice.said.prompt_tokens, len(choice.said.prompt)) == (3, 7, 64)
        assert choice.said.passed_over in ("", "this call was made before")
        view.legal.check(choice.tool, choice.arguments)
        if not choice.said.passed_over:
            assert json.loads(choice.said.text) == {"tool": choice.tool, "args": dict(choice.arguments)}


def test_a_call_that_was_made_is_not_made_again() -> None:
    view = next(view for view in CHOOSING if view.record.calls and "profile" not in view.legal.tools)
    example = Llama(fake := Fake(last_of), WISH).choose(view)
    made = replace(view.record.calls[-1], tool=example.tool, arguments=dict(example.arguments))
    again = replace(view, record=replace(view.record, calls=(*view.record.calls, made)))
    fake.answer = lambda _: last_of(fake.requests[0])
    choice = Llama(fake, WISH).choose(again)
    assert choice.said is not None and "made before" in choice.said.passed_over


def test_where_one_call_is_legal_nobody_is_asked() -> None:
    single = [view for view in VIEWS if calls(menu(view)) == 1]
    fake = Fake(gone)
    assert single and all(Llama(fake, WISH).choose(view).why == ONLY for view in single)
    assert not fake.requests


def test_the_same_view_gives_the_same_question() -> None:
    for view in CHOOSING:
        one, two = Fake(last_of), Fake(last_of)
        Llama(one, WISH).choose(view)
        Llama(two, WISH).choose(view)
        assert one.requests == two.requests


def test_every_decision_is_drawn_with_a_seed_of_its_own() -> None:
    request = WISH.model_copy(update={"temperature": 0.5, "seed": 7})
    for view in CHOOSING:
        fake = Fake(last_of)
        Llama(fake, request).choose(view)
        assert (fake.requests[0]["temperature"], fake.requests[0]["seed"]) == (0.5, 7 + view.decisions)


def test_it_may_think_first_and_the_thought_is_no_reason() -> None:
    thought = 'I think 99 % "<|im_end|>"\nfaults'
    view, plain = CHOOSING[0], Fake(last_of)
    Llama(plain, WISH).choose(view)
    example = last_of(plain.requests[0])
    fake = Fake(lambda request: example if request["grammar"] else thought)
    choice = Llama(fake, WISH.model_copy(update={"think": True})).choose(view)
    assert choice.said is not None and choice.said.thought == "I think 99 % '(/im_end/)' faults"
    assert "99" not in choice.why and not choice.said.passed_over
    assert [bool(request["grammar"]) for request in fake.requests] == [False, True]
    assert choice.said.thought in fake.requests[1]["messages"][0]["content"]


@pytest.mark.parametrize("context", [400, 1000, 4096])
def test_a_prompt_is_cut_to_the_context_and_says_so(context: int) -> None:
    longest = {}
    for view in CHOOSING:
        fake = Fake(last_of)
        Llama(fake, WISH, context=context).choose(view)
        longest[view.decisions] = len(fake.requests[0]["messages"][0]["content"])
    assert max(longest.values()) <= 3.5 * PROMPT_TOKENS
    if context == 400:
        assert any("left out" in told for told in prompts(context))


def prompts(context: int) -> Iterator[str]:
    for view in CHOOSING:
        fake = Fake(last_of)
        Llama(fake, WISH, context=context).choose(view)
        yield fake.requests[0]["messages"][0]["content"]


@pytest.fixture(scope="module")
def random_weights(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelProcess]:
    path = tiny(tmp_path_factory.mktemp("model") / "tiny.gguf", context=16384)
    with ModelProcess(path, 16384, 1) as process:
        yield process


def test_random_weights_choose_legal_calls_only(random_weights: ModelProcess) -> None:
    chosen: list[Choice] = []
    for view in CHOOSING[:12]:
        choice = Llama(random_weights, WISH, context=16384).choose(view)
        view.legal.check(choice.tool, choice.arguments)
        TOOLS[choice.tool].arguments.model_validate(choice.arguments)
        assert choice.said is not None and choice.said.ended == "stop"
        chosen.append(choice)
    assert all(
        Llama(random_weights, WISH, context=16384).choose(view) == old
        for view, old in zip(CHOOSING, chosen, strict=False)
    )


def crowded() -> View:
    """Forty factors of long names on the table, and as many to look up."""
    view = max((view for view in CHOOSING if "look_up" in view.legal.tools), key=lambda view: len(view.record.calls))
    place = max(nth for nth, call in enumerate(view.record.calls) if call.tool == "rank_factors" and call.result)
    call = view.record.calls[place]
    names = [f"uncore_imc_{nth:02}_cas_count_write_of_all_ranks_0x{nth:04x}" for nth in range(40)]
    assert call.result is not None
    first = call.result["factors"][0]
    many = [first | {"factor": name, "column": f"perf:{name}", "members": [f"perf:{name}"]} for name in names]
    ranked = replace(call, result=dict(call.result) | {"factors": many})
    calls_made = (*view.record.calls[:place], ranked, *view.record.calls[place + 1 :])
    return replace(view, record=replace(view.record, calls=calls_made))


@pytest.mark.parametrize("words", [(), ("AUC", "▁not▁visible", "cas_count_write", "uncore_imc", "_of_all_ranks")])
def test_with_forty_factors_of_long_names_a_prompt_fits_by_the_models_own_tokenizer(
    tmp_path: Path, words: Sequence[str]
) -> None:
    path = tiny(tmp_path / "tiny.gguf", context=16384, words=words)
    with ModelProcess(path, 16384, 1) as process:
        characters = process.describe()["characters_a_token"]
        choice = Llama(process, WISH, context=16384, characters_a_token=characters).choose(crowded())
    assert characters <= 1.0 or words
    assert choice.said is not None and not choice.said.passed_over.startswith("the prompt")
    assert 0 < choice.said.prompt_tokens <= PROMPT_TOKENS


def test_what_is_cut_of_forty_factors_is_said() -> None:
    view = crowded()
    for characters, cut in ((6.0, ""), (2.3, "weaker ones left out"), (1.0, "weaker ones left out")):
        fake = Fake(last_of)
        Llama(fake, WISH, context=16384, characters_a_token=characters).choose(view)
        prompt = fake.requests[0]["messages"][0]["content"]
        assert len(prompt) <= PROMPT_TOKENS * characters
        assert cut in prompt and bool(cut) == ("weaker ones" in prompt)


def test_a_tiny_context_falls_back_in_words(tmp_path: Path) -> None:
    with ModelProcess(tiny(tmp_path / "tiny.gguf", context=64), 64, 1) as process:
        choice = Llama(process, WISH, context=64).choose(CHOOSING[-1])
    assert choice.said is not None and "more than the context" in choice.said.passed_over


def test_views_are_of_every_kind() -> None:
    tools = {tool for view in VIEWS for tool in view.legal.tools}
    assert tools >= {
        "measure",
        "profile",
        "label",
        "fit_tree",
        "rank_factors",
        "look_up",
        "apply_mitigation",
        "compare",
    }
