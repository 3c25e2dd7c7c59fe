"""What a watcher of a run sees, computed from its events and rows alone; no screen is known here."""

from .measured import Measured as Measured
from .measured import Rows as Rows
from .step import Step as Step
from .view import EMPTY as EMPTY
from .view import Cut as Cut
from .view import SessionView as SessionView
from .view import view_of as view_of
