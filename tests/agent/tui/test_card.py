"""A card shows its step as it is now, whenever it is mounted."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from textual.app import App, ComposeResult

from vgo_agent.agent.session_view.step import SessionStep
from vgo_agent.agent.tui.widgets.card import StepCard

BEGUN = SessionStep("c001", "label", {}, "you asked for it", "user", 1, "Label", "going on")


class OneCard(App[None]):
    """Mounts a card whose step has ended meanwhile."""

    def compose(self) -> ComposeResult:
        card = StepCard(BEGUN)
        card.show(replace(BEGUN, state="done", summary="55 of 112 runs are slow"))
        yield card


def test_a_step_that_ends_before_its_card_is_mounted_is_shown_as_ended() -> None:
    async def look() -> None:
        async with OneCard().run_test() as pilot:
            card = pilot.app.query_one(StepCard)
            assert str(card._title.label) == "✓ Label: 55 of 112 runs are slow"
            assert card.has_class("-done") and not card.has_class("-going-on")
            assert "55 of 112 runs are slow" in str(card._body.content)

    asyncio.run(look())
