"""An element as it was read -> whether it is plainly a number, so that nobody need look into it.

Half of a header are numbers, and pydicom takes longer to convert them than to read the file.
"""

import re
from typing import Any

_BINARY = frozenset({"AT", "FD", "FL", "SL", "SS", "SV", "UL", "US", "UV"})
_WRITTEN = frozenset({"DS", "IS"})
_DIGITS = re.compile(rb"[0-9eE+\-. \\\0]*")


def is_plain_number(element: Any) -> bool:
    """Whether an element that nothing has converted yet holds numbers and nothing else.

    Args:
        element: what ``dataset.get_item`` gives.
    """
    if not element.is_raw:
        return False
    if element.VR in _WRITTEN:
        return element.value is None or _DIGITS.fullmatch(element.value) is not None
    return element.VR in _BINARY
