"""What every file of the knowledge base has in common."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Key = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]


class Known(BaseModel):
    """Frozen; an unknown key in a file is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")
