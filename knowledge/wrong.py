"""What pydantic refuses, in the words of who writes the file or the option."""

from __future__ import annotations

from typing import NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails

_MAPPING = "is no mapping; write `key: value` lines below it"
_LIST = "is no list; write one, such as [a, b]"
_NUMBER = "is no number; write one"
_WHOLE = "is no whole number; write one"
_TRUTH = "is neither true nor false; write one of them"
_CHOICE = "is none of those that it may be; write {expected}"
PLAIN = {
    "tuple_type": _LIST,
    "list_type": _LIST,
    "model_type": _MAPPING,
    "dict_type": _MAPPING,
    "model_attributes_type": _MAPPING,
    "string_type": "is no text; put it in quotes",
    "bool_type": _TRUTH,
    "bool_parsing": _TRUTH,
    "float_type": _NUMBER,
    "float_parsing": _NUMBER,
    "int_type": _WHOLE,
    "int_parsing": _WHOLE,
    "int_parsing_size": _WHOLE,
    "int_from_float": _WHOLE,
    "finite_number": "is no finite number; write one",
    "greater_than": "has to be above {gt}; mend it",
    "greater_than_equal": "has to be at least {ge}; mend it",
    "less_than": "has to be below {lt}; mend it",
    "less_than_equal": "has to be at most {le}; mend it",
    "too_short": "has too few entries; give at least {min_length}",
    "too_long": "has too many entries; give at most {max_length}",
    "string_too_short": "is too short; give at least {min_length} letters",
    "string_too_long": "is too long; give at most {max_length} letters",
    "string_pattern_mismatch": "has not the form {pattern}; mend it",
    "literal_error": _CHOICE,
    "enum": _CHOICE,
    "union_tag_invalid": "is none of those that it may be; write one of {expected_tags}",
    "union_tag_not_found": "does not say which kind it is; add {discriminator}",
    "extra_forbidden": "is not a known key; mend its spelling or take it out",
    "missing": "is missing; add it",
    "json_invalid": "is no JSON, or a part of one ({error}); restore it",
}
"""Kind of an error to the words that follow the name of the place, with the cure."""


class Problem(NamedTuple):
    """Something to mend."""

    place: tuple[int | str, ...]
    """Keys and indices that lead to it."""
    what: str

    @property
    def where(self) -> str:
        """Name the place."""
        return ".".join(map(str, self.place)) or "the file"

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def first(error: ValidationError) -> Problem:
    """Give the one to mend first: a misspelt key is both unknown and missing."""
    one = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
    return Problem(one["loc"], words(one))


def words(one: ErrorDetails) -> str:
    """Say what is wrong and what mends it."""
    if plain := PLAIN.get(one["type"]):
        return plain.format(**one.get("ctx", {}))
    return f"{one['msg'].removeprefix('Value error, ').replace('Input should', 'it should')}; mend it"
