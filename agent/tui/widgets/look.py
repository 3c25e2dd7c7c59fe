"""The tabs beside the chat: a session as it is looked at, or files that were recorded elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from textual.binding import Binding, BindingType

from ...look.messages import OpenFile
from ...look.of_session import looking_of, overlays_of, place_words
from ...look.scenes import Looking
from ...look.what_if import WhatIf
from ...session_view.view import EMPTY, SessionView
from .look_pane import LookPane
from .sorted_table import StepsTable


class SessionLookPane(LookPane):
    """Shows a view; its runs are opened for refitting when somebody moves the cut, and no program is measured."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left_square_bracket", "file(-1)", "File", key_display="[]"),
        Binding("right_square_bracket", "file(1)", "Next file", show=False),
    ]
    _profile = ("", "")
    """Folder, and the profile in it, that is offered for refitting."""
    _files: Mapping[str, Any] | None = None
    """What the desk answered about recorded files; None: a session is shown."""
    _place = 0
    """Of the file that is open."""

    def show(self, view: SessionView, measuring: bool = False, files: Mapping[str, Any] | None = None) -> None:
        """Show a moment; `measuring`: a program runs now. `files`: they are shown instead."""
        if files is not self._files:
            self._turn_to(files)
        if files is not None:
            return
        paused, self.measuring = self.measuring and not measuring, measuring
        profiles = [one.call_id for one in view.measured if one.tool == "profile" and not one.going_on]
        profile = (view.folder, profiles[-1] if profiles else "")
        if profile != self._profile:
            self._profile = profile
            if profiles:
                self.offer(OpenFile(view.folder))
        self.query_one(StepsTable).show_steps(view)
        self.look_at(looking_of(view))
        if paused:
            self.read_rows()
        if paused and self.state.moved is not None and not self.state.fitted:
            self.fit()

    def _turn_to(self, files: Mapping[str, Any] | None) -> None:
        self._files, self._profile, self._place = files, ("", ""), 0
        self._beside = overlays_of(files) if files else ()
        self._named, self.measuring = "", False
        self.query_one(StepsTable).show_steps(EMPTY)
        self.close_table()
        if files:
            self._open_place()

    def _open_place(self) -> None:
        assert self._files is not None  # only then is there a place
        paths = self._files["paths"]
        self._named = place_words(paths, self._place)
        self.state, self._alone = WhatIf(Looking()), True
        self.open_file(paths[self._place], self._files["metric"] or None)
        self._spread()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer another file where there is one."""
        if action == "file":
            return self._files is not None and len(self._files["paths"]) > 1
        return super().check_action(action, parameters)

    def action_file(self, step: int) -> None:
        if self._files is not None:
            self._place = (self._place + step) % len(self._files["paths"])
            self._open_place()
