"""What a watcher of a run sees, computed from its events and rows alone; no screen is known here."""

from .measured import RunArrays as RunArrays
from .measured import RunArraysBuilder as RunArraysBuilder
from .step import SessionStep as SessionStep
from .view import EMPTY as EMPTY
from .view import Cut as Cut
from .view import SessionView as SessionView
from .view import view_of as view_of
