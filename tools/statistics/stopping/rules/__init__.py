"""The stopping rules by name: one file a rule, one list that names them all."""

from __future__ import annotations

from ..rule import StoppingRule
from .bayesian_bootstrap import BAYESIAN_BOOTSTRAP
from .ci import CI
from .count import COUNT
from .duration import DURATION
from .hdi import HDI
from .ks import KS
from .mixture import MIXTURE
from .se import SE
from .spread import SPREAD

RULES: dict[str, StoppingRule] = {
    rule.name: rule for rule in (SPREAD, COUNT, SE, CI, HDI, KS, BAYESIAN_BOOTSTRAP, MIXTURE, DURATION)
}
