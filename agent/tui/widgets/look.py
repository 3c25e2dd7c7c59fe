"""The tabs beside the chat: a session as it is looked at."""

from __future__ import annotations

from ...look.asked import OpenFile
from ...look.of_session import looking_of
from ...session_view.view import SessionView
from .look_pane import LookPane
from .steps import Steps


class Look(LookPane):
    """Shows a view; its runs are opened for refitting when somebody moves the cut, and no program is measured."""

    _profile = ("", "")
    """Folder, and the profile in it, that is offered for refitting."""

    def show(self, view: SessionView, measuring: bool = False) -> None:
        """Show a moment; `measuring`: a program runs now."""
        paused, self.measuring = self.measuring and not measuring, measuring
        profiles = [one.call_id for one in view.measured if one.tool == "profile" and not one.going_on]
        profile = (view.folder, profiles[-1] if profiles else "")
        if profile != self._profile:
            self._profile = profile
            if profiles:
                self.offer(OpenFile(view.folder))
        self.query_one(Steps).show_steps(view)
        self.look_at(looking_of(view))
        if paused and self.state.moved is not None and not self.state.fitted:
            self.fit()
