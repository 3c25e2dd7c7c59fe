"""A menu holds legal calls only, the rule policy's own among them, and nothing else can be written or read."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgo_agent.agent.planners.base import Choice, Menu, View, calls, menu
from vgo_agent.agent.planners.grammar import (
    JSON,
    PLACES,
    Notation,
    NotOnMenu,
    grammar,
    longest,
    read,
    schema,
    write,
)
from vgo_agent.tools.registry import TOOLS

from ..agent.seen_views import decided as seen


@pytest.fixture(scope="module")
def decided() -> Sequence[tuple[View, Choice, str]]:
    return seen()


def every_call(listed: Menu, notation: Notation = JSON) -> list[str]:
    return [
        write(tool, slots, places, notation)
        for tool, slots in listed.items()
        for places in itertools.product(*(range(len(slot.choices)) for slot in slots))
    ]


@pytest.mark.parametrize("notation", [JSON, PLACES], ids=["json", "places"])
def test_every_call_on_a_menu_is_legal_valid_and_read_back(
    decided: Sequence[tuple[View, Choice, str]], notation: Notation
) -> None:
    chance = random.Random(1)
    for view, _, _ in decided:
        listed = menu(view)
        texts = every_call(listed, notation)
        assert len(texts) == len(set(texts)) == calls(listed) >= 1
        assert max(len(text.encode()) for text in texts) == longest(listed, notation)
        every_choice = [read(text, listed, "drawn", notation) for text in texts]
        assert [json_of(choice, listed) for choice in every_choice] == every_call(listed)
        for choice in chance.sample(every_choice, min(len(texts), 40)):
            view.legal.check(choice.tool, choice.arguments)
            TOOLS[choice.tool].arguments.model_validate(choice.arguments)


def json_of(choice: Choice, listed: Menu) -> str:
    slots = listed[choice.tool]
    values = [tuple(choice.arguments[name] for name in slot.names) for slot in slots]
    return write(choice.tool, slots, [slot.choices.index(value) for slot, value in zip(slots, values, strict=True)])


def test_json_is_json_and_fits_the_schema_for_servers(decided: Sequence[tuple[View, Choice, str]]) -> None:
    for view, _, _ in decided:
        listed = menu(view)
        tools = {one["properties"]["tool"]["const"]: one["properties"] for one in schema(listed)["anyOf"]}
        for text in every_call(listed)[:200]:
            said = json.loads(text)
            assert json.dumps(said, separators=(",", ":"), sort_keys=False) == text
            allowed = tools[said["tool"]]["args"]
            assert sorted(said["args"]) == sorted(allowed["required"])
            assert all(value in allowed["properties"][name]["enum"] for name, value in said["args"].items())


def test_what_the_rule_policy_chooses_is_on_the_menu(decided: Sequence[tuple[View, Choice, str]]) -> None:
    tools = set()
    for view, choice, who in decided:
        if who == "rules":
            listed = menu(view)
            said = TOOLS[choice.tool].arguments.model_validate(choice.arguments).model_dump(mode="json")
            text = json_of(Choice(choice.tool, said, ""), listed)
            assert read(text, listed, "").arguments.items() >= choice.arguments.items()
            tools.add(choice.tool)
    assert tools >= {
        "measure",
        "profile",
        "label",
        "rank_factors",
        "look_up",
        "apply_mitigation",
        "compare",
        "conclude",
    }


@given(data=st.data())
def test_no_other_text_is_read(decided: Sequence[tuple[View, Choice, str]], data: st.DataObject) -> None:
    view, _, _ = data.draw(st.sampled_from(decided))
    listed = menu(view)
    text = data.draw(st.sampled_from(every_call(listed)))
    place = data.draw(st.integers(0, len(text)))
    other = text[:place] + data.draw(st.text(max_size=3)) + text[place + data.draw(st.integers(0, 3)) :]
    if other in every_call(listed):
        read(other, listed, "")
    else:
        with pytest.raises(NotOnMenu):
            read(other, listed, "")


@pytest.mark.parametrize("text", ["", "[]", "null", '"measure"', '{"tool":["measure"],"args":{}}', "9" * 5000])
def test_what_is_no_call_is_told_from_one(decided: Sequence[tuple[View, Choice, str]], text: str) -> None:
    with pytest.raises(NotOnMenu):
        read(text, menu(decided[0][0]), "")


def test_the_grammar_has_one_rule_for_each_tool_and_slot(decided: Sequence[tuple[View, Choice, str]]) -> None:
    for view, _, _ in decided:
        listed = menu(view)
        rules = dict(line.split(" ::= ") for line in grammar(listed).splitlines())
        assert len(rules) == 1 + len(listed) + sum(len(slots) for slots in listed.values())
        named = {word for body in rules.values() for word in body.split() if not word.startswith(('"', "|"))}
        assert {name for name in named if name in rules} | {"root"} == set(rules)
