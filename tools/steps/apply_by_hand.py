"""apply_by_hand: a person applies it, then it is measured again."""

from __future__ import annotations

from ..apply_by_hand import ByHandArguments, run
from ..situation import Choices, Situation, Slot
from ..tool import Tool
from ..trial_results import ByHandResult


class ApplyByHandTool(Tool[ByHandArguments, ByHandResult], run=run, title="By hand", applies="by hand"):
    """Wait until the user has applied a mitigation that the tool cannot apply, then measure again."""

    why = "a person applies it, then it is measured again"

    def legal(self, situation: Situation) -> Choices | None:
        """Once, where the user plans it so."""
        measured, plan = situation.findings.measured, situation.plan
        if not plan.by_hand or situation.findings.called("apply_by_hand") or measured is None or measured.unusable:
            return None
        # As many runs as the baseline had, so that neither arm is the weak one.
        runs = plan.pairs or max(2, measured.started)
        return Slot(("mitigation",), ((plan.mitigation,),)), Slot(("runs",), ((runs,),))
