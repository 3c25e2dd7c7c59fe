"""What can take the machine, changes a promise, or asks for a reboot comes after all that does not."""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import pairwise

import pytest

from vgo_agent.knowledge.loader import load
from vgo_agent.tools.case import Case
from vgo_agent.tools.record import Record
from vgo_agent.tools.results import LookUpResult
from vgo_agent.tools.steps.look_up import LookUpArguments, run
from vgo_agent.tools.subject import Limits, Subject
from vgo_agent.tools.survey import survey

KNOWN = load()
SUBJECT = Subject(command=("/bin/true",), argv=("/bin/true",), directory=os.getcwd())
MACHINE = survey(SUBJECT, ())


class Nothing:
    """No artefacts."""

    def get(self, sha256: str) -> bytes:
        raise KeyError(sha256)


@pytest.mark.parametrize("factor", sorted(KNOWN.factors))
def test_harm_comes_last_however_the_file_lists_it(factor):
    backwards = KNOWN.factors[factor].model_copy(update={"mitigations": KNOWN.factors[factor].mitigations[::-1]})
    known = replace(KNOWN, factors={**KNOWN.factors, factor: backwards})
    case = Case("c001", SUBJECT, Limits(), MACHINE, known, Record((), Nothing()))
    result = run(LookUpArguments(factor=factor), case).result
    assert isinstance(result, LookUpResult)
    listed = [KNOWN.mitigations[one.mitigation] for one in result.candidates]
    harm = [
        (one.scope == "reboot", bool(one.changes_promise), one.real_time)
        for one in listed
        if one.lifts not in MACHINE.limited
    ]
    assert all(first <= second for first, second in pairwise(harm))
    assert {one.mitigation for one in result.candidates} == set(backwards.mitigations)
