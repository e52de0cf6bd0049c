"""How notices, reasons and methods are read where they stand in a document."""

from typing import Annotated, Any

from pydantic import BeforeValidator

from nodulebench.model.notice import Notice, read_notice


def _read_if_told(told: Any) -> Notice | None:
    return read_notice(told) if told else None


Told = Annotated[Notice, BeforeValidator(read_notice)]
"""What a document tells."""
Reason = Annotated[Notice | None, BeforeValidator(_read_if_told)]
"""Why something is undefined; None: it is defined, and nothing is to be said."""
Method = Annotated[Notice | None, BeforeValidator(_read_if_told)]
"""How an interval was made; None: there is none."""
