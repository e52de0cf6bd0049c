"""How notices and reasons are read where they stand in a document."""

from typing import Annotated, Any

from pydantic import BeforeValidator

from nodulebench.model.notice import Notice, read_notice


def _read_reason(told: Any) -> Notice | None:
    return read_notice(told) if told else None


Told = Annotated[Notice, BeforeValidator(read_notice)]
"""What a document tells."""
Reason = Annotated[Notice | None, BeforeValidator(_read_reason)]
"""Why something is undefined; None: it is defined, and nothing is to be said."""
