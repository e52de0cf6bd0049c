"""How notices, reasons and methods are read from a document."""

from typing import Annotated, Any

from pydantic import BeforeValidator

from nodulebench.core.notices import Notice, read_notice


def _read_optional_notice(value: Any) -> Notice | None:
    return None if value is None else read_notice(value)


NoticeField = Annotated[Notice, BeforeValidator(read_notice)]
"""What a document tells."""
Reason = Annotated[Notice | None, BeforeValidator(_read_optional_notice)]
"""Why something is undefined; None: it is defined, and needs no reason."""
Method = Annotated[Notice | None, BeforeValidator(_read_optional_notice)]
"""How an interval was made; None: there is none."""
