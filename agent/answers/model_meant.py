"""Which model is to formulate answers, if any: the one place that knows how models are chosen and opened."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..planners.state import quoted
from ..settings import Settings
from .speaker import Speaker


@contextmanager
def speaking(settings: Settings) -> Iterator[Speaker | None]:
    """Open the model that the settings name, for as long as it is needed; None where they name none."""
    if not getattr(settings, "model", ""):
        yield None
        return
    from ..model.chosen import chosen, open_source

    source = chosen(settings)
    with open_source(source, settings) as model:
        yield Speaker(model, quoted(source.name, 80), settings.decision_timeout_s)
