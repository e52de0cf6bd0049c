"""Why a slice is not written, and what is left in it: codes and values, worded where read."""

from typing import Any, Self

from nodulebench.core.errors import NoduleBenchError
from nodulebench.core.notices import Notice


class RefusedError(NoduleBenchError):
    """A slice that cannot be shown to be without identities."""

    def __init__(self, code: str, **values: Any) -> None:
        super().__init__(code)
        self.notice = Notice(code, values)

    @classmethod
    def told(cls, notice: Notice) -> Self:
        """The error of what was told elsewhere."""
        return cls(notice.code, **notice.values)


def left(code: str, where: str, **values: Any) -> Notice:
    """Something that could still identify, at a place of a header."""
    return Notice(code, {"where": where, **values})
